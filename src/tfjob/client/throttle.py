"""A token bucket: at most so many requests a second, with a burst.

Turns are given in the order of asking. A turn that was given is spent even if its owner is
cancelled while waiting, so that the promised rate is never exceeded.
"""

from tfjob.client.timing import REAL, Timing


class TokenBucket:
    """`rate` requests a second on average, `burst` at once."""

    def __init__(self, rate: float, burst: int, *, timing: Timing = REAL) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(
                f"a rate above 0 and a burst of at least 1 are needed, got {rate} and {burst}"
            )
        self._rate = rate
        self._burst = float(burst)
        self._timing = timing
        self._tokens = self._burst
        self._counted_at = timing.clock()

    async def take(self) -> None:
        """Return when it is this caller's turn."""
        wait = self._reserve()
        if wait > 0:
            await self._timing.sleep(wait)

    def _reserve(self) -> float:
        now = self._timing.clock()
        earned = (now - self._counted_at) * self._rate
        self._tokens = min(self._burst, self._tokens + earned) - 1.0
        self._counted_at = now
        return max(0.0, -self._tokens / self._rate)
