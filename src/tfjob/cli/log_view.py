"""Which log lines the live view prints: all, those of one replica, or those that contain a text.

It keeps the newest lines, so that a new choice can show what came before. A pause holds lines back;
if more arrive than are kept, the oldest are skipped and counted.
"""

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Final, NamedTuple

_KEPT: Final = 10_000


class LogLine(NamedTuple):
    replica: str
    text: str


class LogView:
    def __init__(self, kept: int = _KEPT) -> None:
        self._kept: deque[LogLine] = deque(maxlen=kept)
        self._pending: deque[LogLine] = deque()
        self.replica = ""
        """The only replica whose lines are printed; empty for all."""
        self.search = ""
        self.is_paused = False
        self.skipped = 0
        """Lines that were dropped because a pause was too long, and are not reported yet."""

    @property
    def waiting(self) -> int:
        """How many lines arrived and are not printed yet."""
        return len(self._pending) + self.skipped

    def add(self, line: LogLine) -> None:
        self._kept.append(line)
        self._pending.append(line)
        if self.is_paused and len(self._pending) > (self._kept.maxlen or 0):
            self._pending.popleft()
            self.skipped += 1

    def ready(self) -> list[LogLine]:
        """The chosen lines that wait to be printed; none during a pause."""
        return [] if self.is_paused else list(filter(self._filter(), self._pending))

    def unprinted(self) -> list[LogLine]:
        """All lines that wait, whatever is chosen, also during a pause."""
        return list(self._pending)

    def recent(self, count: int) -> list[LogLine]:
        """The newest of the chosen lines, including those that were printed before.

        During a pause, lines that wait are left out.
        """
        held_back = len(self._pending) if self.is_paused else 0
        known = islice(self._kept, len(self._kept) - min(held_back, len(self._kept)))
        lines = list(filter(self._filter(), known))
        return lines[len(lines) - min(count, len(lines)) :]

    def printed(self) -> None:
        """No line waits any longer. Called after printing, which may fail."""
        self._pending.clear()
        self.skipped = 0

    def _filter(self) -> Callable[[LogLine], bool] | None:
        replica, wanted = self.replica, self.search.casefold()
        if not replica and not wanted:
            return lambda _: True
        return lambda line: (
            (not replica or line.replica == replica) and wanted in line.text.casefold()
        )
