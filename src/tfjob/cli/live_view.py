"""The live view on a terminal: log lines above, the job's state and its replicas below.

Output of programs keeps its colours and loses all other control characters.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tfjob.cli.printing import last_overwrite, plain, plain_line
from tfjob.cli.run_output import ReplicaRow, colour_of, last_lines_title, phase_colour


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
        self._progress: dict[str, str] = {}

    def message(self, text: str) -> None:
        self._console.print(f"[bold]●[/bold] {escape(plain(text))}", highlight=False)

    def progress(self, replica: str, text: str) -> None:
        """Shown in the table until the line is finished."""
        self._progress[replica] = text

    def log(self, replica: str, line: str) -> None:
        self._progress.pop(replica, None)
        colour = colour_of(replica, self._colours)
        text = Text.assemble((f"{replica:<12} ", colour), _printable(line))
        self._console.print(text, highlight=False, soft_wrap=True)

    def show(self, rows: Sequence[ReplicaRow], *, state: str) -> None:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for title in ("REPLICA", "PHASE", "RESTARTS", ""):
            table.add_column(title)
        for row in rows:
            table.add_row(
                Text(row.replica, style=colour_of(row.replica, self._colours)),
                Text(plain_line(row.phase), style=phase_colour(row.phase)),
                str(row.restarts),
                self._remark(row),
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

    def _remark(self, row: ReplicaRow) -> Text:
        progress = self._progress.get(row.replica, "")
        return _printable(progress) if progress and not row.why else Text(plain_line(row.why))

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self._live.stop()
        what = f"[bold red]{escape(replica)} failed first[/] ({escape(plain_line(why))})"
        self._console.print(f"\n{what}{last_lines_title(lines)}", highlight=False)
        for line in lines:
            self._console.print(Text("    ") + _printable(line), highlight=False, soft_wrap=True)

    def verdict(self, text: str, *, is_good: bool) -> None:
        self._live.stop()
        mark = "[bold green]✔[/]" if is_good else "[bold red]✘[/]"
        self._console.print(f"\n{mark} {escape(plain(text))}", highlight=False)


def _printable(line: str) -> Text:
    """The line with its colours and without other control characters.

    Hyperlinks become text: rich would pass control characters in their addresses on.
    """
    text = Text.from_ansi(last_overwrite(line).replace("\x1b]", plain("\x1b]")))
    text.plain = plain(text.plain)
    return text
