"""A token bucket that limits the rate of requests.

Callers are served in order. A token is spent even if its caller is cancelled while waiting, so
that the rate is never exceeded.
"""

from tfjob.client.timing import REAL, Timing


class TokenBucket:
    """Allows `rate` requests per second on average, and bursts of `burst`."""

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
