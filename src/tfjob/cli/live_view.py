"""The live view on a terminal: log lines above, a panel with the job and its replicas below.

Lines are printed in batches, so that a program that writes much is not slowed down. Output of
programs keeps its colours and loses all other control characters.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markup import escape
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from tfjob.cli import keyboard
from tfjob.cli.guarded_screen import GuardedScreen
from tfjob.cli.log_view import LogLine, LogView
from tfjob.cli.printing import last_overwrite, plain, plain_line
from tfjob.cli.run_output import PlainScreen, ReplicaRow, last_lines_title, role_colour, role_of
from tfjob.cli.status_panel import Panel

_REFRESH_INTERVAL: Final = 0.1
_BATCH: Final = 2_000
"""Lines that are printed before the next refresh is due."""
_PANEL_SHARE: Final = 0.4
"""Of the height; the rest belongs to the log."""
_SMALLEST_PANEL: Final = 5
_QUIET_AFTER: Final = 60.0
_STDIN: Final = 0
_KEYS: Final = "↑↓ one replica   a all   space pause   / search"


@contextmanager
def terminal_screen(title: str) -> Iterator[GuardedScreen]:
    console = Console()
    with Live(console=console, auto_refresh=False, transient=False) as live:
        screen = TerminalScreen(console, live, title=title)
        guarded = GuardedScreen(screen, PlainScreen(console.file))
        refreshing = asyncio.create_task(refresh_until_failed(screen, guarded))
        try:
            with keyboard.keyboard(
                _STDIN, lambda key: guarded.attempt(lambda: screen.press(key))
            ) as restore:
                screen.restore_keyboard = restore
                yield guarded
        finally:
            refreshing.cancel()
            guarded.attempt(screen.stop)  # without a verdict, lines may still wait


async def refresh_until_failed(screen: "TerminalScreen", guarded: GuardedScreen) -> None:
    while not guarded.has_failed:
        guarded.attempt(screen.refresh)
        await asyncio.sleep(_REFRESH_INTERVAL)


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
        self._view = LogView()
        self._width = 0
        self._progress: dict[str, Text] = {}
        self._last_output: dict[str, float] = {}
        self._rows: Sequence[ReplicaRow] = ()
        self._state = ""
        self._typed: str | None = None
        """The text of a search that is being typed."""
        self.restore_keyboard: Callable[[], None] | None = None
        """Set if keys are read."""

    def restore(self) -> None:
        """Leave the terminal as it was, before the process exits at once."""
        if self.restore_keyboard is not None:
            self.restore_keyboard()
        self._live.stop()

    def unprinted(self) -> Sequence[LogLine]:
        return self._view.unprinted()

    @property
    def skipped(self) -> int:
        return self._view.skipped

    def message(self, text: str) -> None:
        self._print_lines()
        self._console.print(f"[bold]●[/bold] {escape(plain(text))}", highlight=False)

    def progress(self, replica: str, text: str) -> None:
        """Shown in the panel until the line is finished."""
        self._progress[replica] = _printable(text)
        self._last_output[replica] = self._clock()

    def log(self, replica: str, line: str) -> None:
        self._progress.pop(replica, None)
        self._last_output[replica] = self._clock()
        self._view.add(LogLine(replica, line))
        if self._view.waiting >= _BATCH:
            self._print_lines()

    def show(self, rows: Sequence[ReplicaRow], *, state: str) -> None:
        self._rows, self._state = rows, state

    def refresh(self) -> None:
        """Print the lines that have arrived, and draw the panel."""
        self._print_lines()
        size = self._console.size
        height = max(int(size.height * _PANEL_SHARE), _SMALLEST_PANEL)
        panel = self._panel().render(height=height, width=size.width)
        self._live.update(panel, refresh=True)

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self.stop()
        what = f"[bold red]{escape(replica)} failed first[/] ({escape(plain_line(why))})"
        self._console.print(f"\n{what}{last_lines_title(lines)}", highlight=False)
        for line in lines:
            self._console.print(Text("    ") + _printable(line), highlight=False, soft_wrap=True)

    def verdict(self, text: str, *, is_good: bool) -> None:
        self.stop()
        mark = "[bold green]✔[/]" if is_good else "[bold red]✘[/]"
        self._console.print(f"\n{mark} {escape(plain(text))}", highlight=False)

    def press(self, key: str) -> None:
        if self._typed is not None:
            self._type(key)
        elif key in {keyboard.UP, keyboard.DOWN}:
            self._choose(self._neighbour(-1 if key == keyboard.UP else 1))
        elif key in {"a", keyboard.ESCAPE}:
            self._view.search = ""
            self._choose("")
        elif key == " ":
            self._view.is_paused = not self._view.is_paused
        elif key == "/":
            self._typed = ""
        self.refresh()

    def _type(self, key: str) -> None:
        typed = self._typed or ""
        if key == keyboard.ENTER:
            self._typed, self._view.search = None, typed
            self._print_recent(f"lines with {typed!r}" if typed else "all lines")
        elif key == keyboard.ESCAPE:
            self._typed = None
        elif key == keyboard.BACKSPACE:
            self._typed = typed[:-1]
        elif len(key) == 1:
            self._typed = typed + key

    def _neighbour(self, step: int) -> str:
        """The replica before or after the chosen one; beyond the ends all of them, as empty."""
        names = ["", *(row.replica for row in self._rows)]
        chosen = self._view.replica
        place = names.index(chosen) if chosen in names else 0
        return names[(place + step) % len(names)]

    def _choose(self, replica: str) -> None:
        self._print_lines()
        self._view.replica = replica
        self._print_recent(f"log of {replica}" if replica else "log of all replicas")

    def _print_recent(self, title: str) -> None:
        self._console.rule(escape(plain_line(title)), style="dim")
        self._print(self._view.recent(self._console.size.height))
        if not self._view.is_paused:
            self._view.printed()

    def stop(self) -> None:
        """Print what is left and the panel in its final state, below which only text follows."""
        if not self._live.is_started:
            return
        self._view.is_paused, self._typed = False, None
        if self.restore_keyboard is not None:
            self.restore_keyboard()
            self.restore_keyboard = None
        self.refresh()
        self._live.stop()

    def _print_lines(self) -> None:
        if self._view.is_paused:
            return
        if self._view.skipped:
            skipped = self._view.skipped
            self._console.print(f"[dim]… {skipped} lines were skipped during the pause[/]")
        self._print(self._view.ready())
        self._view.printed()

    def _print(self, lines: Sequence[LogLine]) -> None:
        if lines:
            self._width = max(self._width, *(len(line.replica) for line in lines))
            block = _LogBlock(lines, width=self._width, search=self._view.search)
            self._console.print(block, highlight=False, soft_wrap=True, end="")

    def _panel(self) -> Panel:
        now = self._clock()
        return Panel(
            title=self._title,
            state=self._state,
            elapsed=now - self._began,
            rows=self._rows,
            progress=self._progress,
            quiet=_quiet(self._last_output, now),
            chosen=self._view.replica,
            footer=self._footer(),
        )

    def _footer(self) -> str:
        if self._typed is not None:
            return f"search: {self._typed}▏ (Enter shows matching lines, Esc cancels)"
        if self._view.is_paused:
            return f"paused, {self._view.waiting} new lines (space continues)"
        if self._view.search:
            return f"only lines with {self._view.search!r} (a shows all)"
        return "" if self.restore_keyboard is None else _KEYS


class _LogBlock:
    """Many log lines, rendered at once."""

    def __init__(self, lines: Sequence[LogLine], *, width: int, search: str) -> None:
        self._lines = lines
        self._width = width
        self._search = search

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        styles: dict[str, Style] = {}
        for replica, line in self._lines:
            if replica not in styles:
                styles[replica] = Style.parse(role_colour(replica))
            yield Segment(f"{replica:<{self._width}} ", styles[replica])
            if not self._search and line.isprintable():  # most lines are; rich's text is slow
                yield Segment(line)
            else:
                text = _printable(line)
                if self._search:
                    text.highlight_words([self._search], "reverse", case_sensitive=False)
                yield from text.render(console)
            yield Segment.line()


def _quiet(last_output: dict[str, float], now: float) -> dict[str, float]:
    """How long replicas have written nothing, if a replica of the same type writes."""
    newest: dict[str, float] = {}
    for replica, last in last_output.items():
        role = role_of(replica)
        newest[role] = max(last, newest.get(role, last))
    return {
        replica: now - last
        for replica, last in last_output.items()
        if newest[role_of(replica)] - last >= _QUIET_AFTER
    }


def _printable(line: str) -> Text:
    """The line with its colours and without other control characters.

    Hyperlinks become text: rich would pass control characters in their addresses on.
    """
    text = Text.from_ansi(last_overwrite(line).replace("\x1b]", plain("\x1b]")))
    text.plain = plain(text.plain)
    text.end = ""
    return text
