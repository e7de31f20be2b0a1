"""How long requests that nobody waits for leave a busy server alone.

A server is as far away as its quickest answer lately; what an answer takes beyond that is time
for which the server was busy with others.
"""

from typing import Final

PROMPT: Final = 0.01
"""Seconds by which any answer may be late."""
TIMES: Final = 40.0
"""The server is left alone for so many times what an answer took beyond that."""
LONGEST: Final = 1.0
"""Seconds after which it is asked again, however busy it was."""
FADING: Final = 1.01
"""By how much an answer that is one older counts less: a server may move away."""


class AdaptiveDelay:
    def __init__(self) -> None:
        self._quickest = float("inf")

    def after(self, took: float) -> float:
        """Seconds to wait after an answer that took so long."""
        self._quickest = min(self._quickest * FADING, took)
        late = took - self._quickest - PROMPT
        return min(max(late, 0.0) * TIMES, LONGEST)
