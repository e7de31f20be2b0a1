"""The live screen on a terminal: log lines above, the replicas and the job's state below.

What a program writes is shown as text: its colours are kept, its other control signs are not.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tfjob.cli.printing import plain, plain_line
from tfjob.cli.run_output import ReplicaLine, colour_of, phase_colour


@contextmanager
def terminal_screen(title: str) -> Iterator["TerminalScreen"]:
    console = Console()
    with Live(console=console, refresh_per_second=8, transient=False) as live:
        yield TerminalScreen(console, live, title=title)


class TerminalScreen:
    def __init__(
        self,
        console: Console,
        live: Live,
        *,
        title: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console
        self._live = live
        self._title = title
        self._clock = clock
        self._began = clock()
        self._colours: dict[str, str] = {}

    def tell(self, sentence: str) -> None:
        self._console.print(f"[bold]●[/bold] {escape(plain(sentence))}", highlight=False)

    def log(self, replica: str, line: str) -> None:
        colour = colour_of(replica, self._colours)
        text = Text.assemble((f"{replica:<12} ", colour), _shown(line))
        self._console.print(text, highlight=False, soft_wrap=True)

    def show(self, lines: Sequence[ReplicaLine], *, state: str) -> None:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for title in ("REPLICA", "PHASE", "RESTARTS", ""):
            table.add_column(title)
        for line in lines:
            table.add_row(
                Text(line.replica, style=colour_of(line.replica, self._colours)),
                Text(plain_line(line.phase), style=phase_colour(line.phase)),
                str(line.restarts),
                Text(plain_line(line.why)),
            )
        elapsed = f"{self._clock() - self._began:.0f}s"
        head = Text.assemble(
            "\n",
            (self._title, "bold"),
            "  ",
            (plain_line(state) or "Starting", "bold"),
            f"  {elapsed}",
        )
        self._live.update(Group(head, table))

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self._live.stop()
        what = f"[bold red]{escape(replica)} failed first[/] ({escape(plain_line(why))})"
        self._console.print(f"\n{what}; its last lines:", highlight=False)
        for line in lines:
            self._console.print(Text("    ") + _shown(line), highlight=False, soft_wrap=True)

    def verdict(self, sentence: str, *, is_good: bool) -> None:
        self._live.stop()
        mark = "[bold green]✔[/]" if is_good else "[bold red]✘[/]"
        self._console.print(f"\n{mark} {escape(plain(sentence))}", highlight=False)


def _shown(line: str) -> Text:
    """A progress bar writes one line again and again: what it wrote last counts.

    Links are shown as text: an address may hide signs that rich passes on to the terminal.
    """
    last = line.rstrip("\r").rpartition("\r")[2]
    text = Text.from_ansi(last.replace("\x1b]", plain("\x1b]")))
    text.plain = plain(text.plain)
    return text
