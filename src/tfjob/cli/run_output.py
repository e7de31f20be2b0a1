"""What `tfjob run` shows: a live table under the log lines on a terminal, plain lines elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol, TextIO

import msgspec

from tfjob.cli.printing import plain, plain_line

_COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "bright_red", "bright_cyan")
_PHASE_COLOURS: Final = {
    "Running": "green",
    "Succeeded": "bold green",
    "Failed": "bold red",
    "Pending": "yellow",
}


class ReplicaLine(msgspec.Struct, frozen=True):
    replica: str
    phase: str
    restarts: int
    why: str


class Screen(Protocol):
    def tell(self, sentence: str) -> None: ...
    def log(self, replica: str, line: str) -> None: ...
    def show(self, lines: Sequence[ReplicaLine], *, state: str) -> None: ...
    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None: ...
    def verdict(self, sentence: str, *, is_good: bool) -> None: ...


@contextmanager
def screen_for(stream: TextIO, *, title: str, is_plain: bool) -> Iterator[Screen]:
    if is_plain or not stream.isatty():
        yield PlainScreen(stream)
        return
    from tfjob.cli.live_view import terminal_screen  # noqa: PLC0415 - rich is slow to import

    with terminal_screen(title) as screen:
        yield screen


class PlainScreen:
    """One line per fact, for logs and pipes.

    The lines of programs go into a pipe as they are, and onto a terminal without control signs.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._phases: dict[str, str] = {}

    def tell(self, sentence: str) -> None:
        self._write(plain(sentence))

    def log(self, replica: str, line: str) -> None:
        self._write(f"[{replica}] {self._shown(line)}")

    def show(self, lines: Sequence[ReplicaLine], *, state: str) -> None:  # noqa: ARG002 - told
        for line in lines:
            text = plain_line(f"{line.phase} {line.why}".strip())
            if self._phases.get(line.replica) != text:
                self._phases[line.replica] = text
                self._write(f"{line.replica}: {text}")

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self._write(f"{replica} failed first ({plain_line(why)}); its last lines:")
        for line in lines:
            self._write(f"    {self._shown(line)}")

    def verdict(self, sentence: str, *, is_good: bool) -> None:
        self._write(f"{'succeeded' if is_good else 'failed'}: {plain(sentence)}")

    def _shown(self, line: str) -> str:
        return plain(line) if self._stream.isatty() else line

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


def colour_of(replica: str, known: dict[str, str]) -> str:
    return known.setdefault(replica, _COLOURS[len(known) % len(_COLOURS)])


def phase_colour(phase: str) -> str:
    return _PHASE_COLOURS.get(phase, "white")
