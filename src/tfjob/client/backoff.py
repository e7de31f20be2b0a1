"""How long to wait before the next try.

The delay doubles with each try up to a limit. Chance only ever lengthens a wait, so that a
server's own Retry-After is never undercut and many clients do not return in step.
"""

from collections.abc import Callable
from typing import Final

_MOST_DOUBLINGS: Final = 62
_SHARE: Final = 0.5


def exponential(attempt: int, *, first: float, longest: float) -> float:
    """The delay after so many earlier failures: the first, then doubled each time."""
    return min(longest, first * 2.0 ** min(attempt, _MOST_DOUBLINGS))


def lengthened(seconds: float, chance: Callable[[], float]) -> float:
    """A wait of at least `seconds`, longer by up to a half of it."""
    return seconds * (1.0 + _SHARE * chance())


class Backoff:
    """Delays of a loop that tries for ever; progress starts it anew."""

    def __init__(self, *, first: float, longest: float, chance: Callable[[], float]) -> None:
        self._first = first
        self._longest = longest
        self._chance = chance
        self._attempt = 0

    def next(self) -> float:
        """The next delay, never above the limit."""
        delay = exponential(self._attempt, first=self._first, longest=self._longest)
        self._attempt += 1
        return min(self._longest, lengthened(delay, self._chance))

    def reset(self) -> None:
        self._attempt = 0
