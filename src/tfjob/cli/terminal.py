"""The live screen on a terminal: log lines above, the replicas and the job's state below."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tfjob.cli.screen import ReplicaLine, colour_of, phase_colour


@contextmanager
def terminal_screen() -> Iterator["TerminalScreen"]:
    console = Console()
    with Live(console=console, refresh_per_second=8, transient=False) as live:
        yield TerminalScreen(console, live)


class TerminalScreen:
    def __init__(self, console: Console, live: Live) -> None:
        self._console = console
        self._live = live
        self._colours: dict[str, str] = {}

    def tell(self, sentence: str) -> None:
        self._console.print(f"[bold]●[/bold] {escape(sentence)}", highlight=False)

    def log(self, replica: str, line: str) -> None:
        colour = colour_of(replica, self._colours)
        text = Text.assemble((f"{replica:<12} ", colour), line)
        self._console.print(text, highlight=False, soft_wrap=True)

    def show(self, lines: Sequence[ReplicaLine], *, state: str) -> None:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for title in ("REPLICA", "PHASE", "RESTARTS", ""):
            table.add_column(title)
        for line in lines:
            table.add_row(
                Text(line.replica, style=colour_of(line.replica, self._colours)),
                Text(line.phase, style=phase_colour(line.phase)),
                str(line.restarts),
                line.why,
            )
        self._live.update(Group(Text(f"\n{state or 'Starting'}", style="bold"), table))

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self._console.print(
            f"[bold red]{escape(replica)} failed first[/] ({escape(why)}); its last lines:"
        )
        for line in lines:
            self._console.print(f"    {escape(line)}", highlight=False)

    def verdict(self, sentence: str, *, is_good: bool) -> None:
        mark = "[bold green]✔[/]" if is_good else "[bold red]✘[/]"
        self._console.print(f"{mark} {escape(sentence)}", highlight=False)
