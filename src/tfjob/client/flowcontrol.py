"""Limits how often and how fast requests are sent: backoff, token bucket and adaptive delay."""

from collections.abc import Callable
from typing import Final

from tfjob.client.timing import REAL, Timing

_MAX_DOUBLINGS: Final = 62
_MAX_JITTER: Final = 0.5

TOLERANCE: Final = 0.01
"""Seconds of extra latency that are ignored."""
MULTIPLIER: Final = 40.0
"""Back off for this multiple of the observed extra latency."""
MAX_DELAY: Final = 1.0
"""The longest delay in seconds."""
AGING: Final = 1.01
"""The baseline grows by this factor per response, so that it adapts to a longer network path."""


def exponential_delay(attempt: int, *, initial: float, maximum: float) -> float:
    """The delay after `attempt` earlier failures: `initial`, doubled each time."""
    return min(maximum, initial * 2.0 ** min(attempt, _MAX_DOUBLINGS))


def with_jitter(seconds: float, chance: Callable[[], float]) -> float:
    """A delay of `seconds` plus up to half of it, so that clients do not retry in step.

    It is never shorter, so that a server's Retry-After is respected.
    """
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


class TokenBucket:
    """Allows `rate` requests per second on average, and bursts of `burst`.

    Callers are served in order. A token is spent even if its caller is cancelled while waiting, so
    that the rate is never exceeded.
    """

    def __init__(self, rate: float, burst: int, *, timing: Timing = REAL) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"rate must be above 0 and burst at least 1, got {rate} and {burst}")
        self._rate = rate
        self._burst = float(burst)
        self._timing = timing
        self._tokens = self._burst
        self._counted_at = timing.clock()

    async def take(self) -> None:
        """Wait for a token."""
        wait = self._reserve()
        if wait > 0:
            await self._timing.sleep(wait)

    def _reserve(self) -> float:
        now = self._timing.clock()
        earned = (now - self._counted_at) * self._rate
        self._tokens = min(self._burst, self._tokens + earned) - 1.0
        self._counted_at = now
        return max(0.0, -self._tokens / self._rate)


class AdaptiveDelay:
    """Delays low-priority requests while the API server is slow.

    The fastest recent response is the baseline latency. Latency beyond it means that the server is
    busy.
    """

    def __init__(self) -> None:
        self._quickest = float("inf")

    def after(self, took: float) -> float:
        """Seconds to wait after a response that took this long."""
        self._quickest = min(self._quickest * AGING, took)
        late = took - self._quickest - TOLERANCE
        return min(max(late, 0.0) * MULTIPLIER, MAX_DELAY)
