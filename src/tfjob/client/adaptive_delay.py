"""Delays low-priority requests while the API server is slow.

The fastest recent response is the baseline latency. Latency beyond it means that the server is
busy.
"""

from typing import Final

TOLERANCE: Final = 0.01
"""Seconds of extra latency that are ignored."""
MULTIPLIER: Final = 40.0
"""Back off for this multiple of the observed extra latency."""
MAX_DELAY: Final = 1.0
"""The longest delay in seconds."""
AGING: Final = 1.01
"""The baseline grows by this factor per response, so that it adapts to a longer network path."""


class AdaptiveDelay:
    def __init__(self) -> None:
        self._quickest = float("inf")

    def after(self, took: float) -> float:
        """Seconds to wait after a response that took this long."""
        self._quickest = min(self._quickest * AGING, took)
        late = took - self._quickest - TOLERANCE
        return min(max(late, 0.0) * MULTIPLIER, MAX_DELAY)
