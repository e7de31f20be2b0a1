"""The output of `tfjob run`: a live table below the log on a terminal, else plain lines."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final, Protocol

import msgspec

from tfjob.cli.printing import last_overwrite, plain, plain_line
from tfjob.cli.signals import Interrupts

_ROLE_COLOURS: Final = {
    "chief": "cyan",
    "master": "cyan",
    "worker": "green",
    "ps": "magenta",
    "evaluator": "yellow",
}
_PHASE_COLOURS: Final = {
    "Running": "green",
    "Succeeded": "bold green",
    "Failed": "bold red",
    "Pending": "yellow",
}
_PROGRESS_INTERVAL: Final = 5.0
"""Seconds between two plain lines about the progress of one replica."""


class ReplicaRow(msgspec.Struct, frozen=True):
    replica: str
    phase: str
    restarts: int
    why: str


class Screen(Protocol):
    def message(self, text: str) -> None:
        """Print a sentence about the job."""

    def log(self, replica: str, line: str) -> None:
        """Print a line that a replica wrote."""

    def progress(self, replica: str, text: str) -> None:
        """Show an unfinished line that a replica keeps overwriting."""

    def show(self, rows: Sequence[ReplicaRow], *, state: str) -> None:
        """Show the current state of all replicas."""

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        """Name the replica that failed first, with its last lines."""

    def verdict(self, text: str, *, is_good: bool) -> None:
        """Print the outcome; the last call."""


@contextmanager
def screen_for(
    stream: IO[str], *, title: str, is_plain: bool, interrupts: Interrupts
) -> Iterator[Screen]:
    if is_plain or not stream.isatty():
        yield PlainScreen(stream)
        return
    from tfjob.cli.live_view import terminal_screen  # noqa: PLC0415 - rich is slow to import

    with terminal_screen(title) as screen:
        interrupts.before_exit = screen.restore
        yield screen


class PlainScreen:
    """One line per fact, for logs and pipes.

    Lines of programs are unchanged in a pipe; on a terminal their control characters are replaced.
    """

    def __init__(self, stream: IO[str], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._shown: dict[str, str] = {}
        self._progress: dict[str, float] = {}

    def message(self, text: str) -> None:
        self._write(plain(text))

    def log(self, replica: str, line: str) -> None:
        self._write(f"[{replica}] {self._text(line)}")

    def progress(self, replica: str, text: str) -> None:
        now = self._clock()
        if now - self._progress.get(replica, now - _PROGRESS_INTERVAL) < _PROGRESS_INTERVAL:
            return
        self._progress[replica] = now
        self._write(f"[{replica}] {plain(last_overwrite(text))}")

    def show(self, rows: Sequence[ReplicaRow], *, state: str) -> None:  # noqa: ARG002 - protocol
        for row in rows:
            restart = f"restart {row.restarts}" if row.restarts else ""
            parts = (row.phase, row.why, restart)
            text = plain_line(", ".join(part for part in parts if part))
            if self._shown.get(row.replica) != text:
                self._shown[row.replica] = text
                self._write(f"{row.replica}: {text}")

    def failure(self, replica: str, why: str, lines: Sequence[str]) -> None:
        self._write(f"{replica} failed first ({plain_line(why)}){last_lines_title(lines)}")
        for line in lines:
            self._write(f"    {self._text(line)}")

    def verdict(self, text: str, *, is_good: bool) -> None:
        self._write(f"{'succeeded' if is_good else 'failed'}: {plain(text)}")

    def _text(self, line: str) -> str:
        return plain(last_overwrite(line)) if self._stream.isatty() else line

    def _write(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()


def last_lines_title(lines: Sequence[str]) -> str:
    return "; its last lines:" if lines else "; it wrote no output"


def role_of(replica: str) -> str:
    """`worker` of `worker-0`, and of itself."""
    role, _, index = replica.rpartition("-")
    return role if role and index.isdecimal() else replica


def role_colour(replica: str) -> str:
    return _ROLE_COLOURS.get(role_of(replica), "blue")


def phase_colour(phase: str) -> str:
    return _PHASE_COLOURS.get(phase, "white")
