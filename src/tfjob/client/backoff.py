"""Exponential backoff with jitter.

The delay doubles with each failure up to a maximum. Jitter only lengthens a delay, so that a
server's Retry-After is respected and clients do not retry in step.
"""

from collections.abc import Callable
from typing import Final

_MAX_DOUBLINGS: Final = 62
_MAX_JITTER: Final = 0.5


def exponential_delay(attempt: int, *, initial: float, maximum: float) -> float:
    """The delay after `attempt` earlier failures: `initial`, doubled each time."""
    return min(maximum, initial * 2.0 ** min(attempt, _MAX_DOUBLINGS))


def with_jitter(seconds: float, chance: Callable[[], float]) -> float:
    """A delay of `seconds` plus up to half of it."""
    return seconds * (1.0 + _MAX_JITTER * chance())


class Backoff:
    """The delays of an endless retry loop; reset it after progress."""

    def __init__(self, *, initial: float, maximum: float, chance: Callable[[], float]) -> None:
        self._initial = initial
        self._maximum = maximum
        self._chance = chance
        self._attempt = 0

    def next(self) -> float:
        """The next delay, at most the maximum."""
        delay = exponential_delay(self._attempt, initial=self._initial, maximum=self._maximum)
        self._attempt += 1
        return min(self._maximum, with_jitter(delay, self._chance))

    def reset(self) -> None:
        self._attempt = 0
