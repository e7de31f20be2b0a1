"""A clock that a test moves.

`FakeTime` is a clock with sleeps and timers. `Instant` is a timing whose sleeps end at once and are
recorded. `skip_ahead` and `time_passing` move the clock of the running event loop.
"""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

from tfjob.client.timing import Timing

_ROUNDS_UNTIL_QUIET = 25


class FakeHandle:
    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        self.callback = None


async def settle() -> None:
    """Let every task run until it waits; enough rounds for chains of in-memory calls."""
    for _ in range(_ROUNDS_UNTIL_QUIET):
        await asyncio.sleep(0)


def skip_ahead(seconds: float) -> None:
    """Move the clock of the running event loop: timeouts that would end by then end now."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]


@asynccontextmanager
async def time_passing(seconds: float, when: Callable[[], bool]) -> AsyncIterator[None]:
    """Let the time pass at once as soon as something is so."""

    async def skip() -> None:
        while True:
            if when():
                return skip_ahead(seconds)
            await asyncio.sleep(0.001)

    skipping = asyncio.create_task(skip())
    try:
        yield
    finally:
        skipping.cancel()
        await asyncio.gather(skipping, return_exceptions=True)


class FakeTime:
    """A clock at 1000.0 whose sleepers and timers wake only by `advance`."""

    def __init__(self, chance: float = 0.0) -> None:
        self._now = 1000.0
        self._due: list[tuple[float, int, FakeHandle]] = []
        self._order = count()
        self._chance = chance

    @property
    def timing(self) -> Timing:
        return Timing(clock=self.time, sleep=self.sleep, chance=lambda: self._chance)

    @property
    def pending(self) -> int:
        return sum(handle.callback is not None for _, _, handle in self._due)

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], object], /) -> FakeHandle:
        handle = FakeHandle(callback)
        heapq.heappush(self._due, (when, next(self._order), handle))
        return handle

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        handle = self.call_at(self._now + seconds, lambda: _finish(future))
        try:
            await future
        finally:
            handle.cancel()

    async def advance(self, seconds: float) -> None:
        """Move on, waking everything that becomes due on the way, in order."""
        end = self._now + seconds
        await settle()
        while self._due and self._due[0][0] <= end:
            when, _, handle = heapq.heappop(self._due)
            if handle.callback is not None:
                self._now = max(self._now, when)
                handle.callback()
                await settle()
        self._now = end
        await settle()


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Instant:
    """Sleeps that end at once; `slept` lists them and the clock has moved by them."""

    def __init__(self, chance: float = 0.0) -> None:
        self.slept: list[float] = []
        self._now = 0.0
        self.timing = Timing(clock=lambda: self._now, sleep=self._sleep, chance=lambda: chance)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += seconds
        await asyncio.sleep(0)
