"""An event loop whose clock jumps to the next timer: hours pass in no time.

Nothing really waits. A loop without timers that nothing can wake has hung, and raises an error.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from tfjob.client.timing import Timing

T = TypeVar("T")
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class HungError(Exception):
    """Every task waits for something that will never happen."""


class _Selector(selectors.DefaultSelector):
    """Waits for nothing: the time it should have waited is added to the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.elapsed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise HungError("no task can go on and nothing is due")
        if not ready and timeout:
            self.elapsed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Selector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.elapsed


def now() -> datetime:
    """The wall clock of the running loop."""
    return START + timedelta(seconds=asyncio.get_running_loop().time())


def timing(chance: Callable[[], float]) -> Timing:
    loop = asyncio.get_running_loop()
    return Timing(clock=loop.time, sleep=asyncio.sleep, chance=chance)


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work, in a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
