"""An event loop without IO that is driven by hand: nothing runs and no time passes by itself.

`settle` runs every callback that is ready. `advance` moves the clock to the next timer, and no
further. The order of callbacks is the order in which they were scheduled, so a run repeats exactly.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
MOST_CALLBACKS = 100_000
MOST_TIMERS = 2_000


class BusyLoopError(Exception):
    """Callbacks schedule callbacks without end, and no time passes."""


class ManualLoop(asyncio.AbstractEventLoop):
    """Only what tasks, futures and timers need."""

    def __init__(self) -> None:
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._scheduled = 0
        self._elapsed = 0.0
        self.faults: list[str] = []
        """What no task has handled."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """Tasks and futures that are created here belong to this loop."""
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    def settle(self) -> None:
        """Run until nothing more can go on without an answer or a timer."""
        for _ in range(MOST_CALLBACKS):
            if not self._ready:
                return
            handle = self._ready.popleft()
            if not handle.cancelled():
                handle._run()
        raise BusyLoopError(f"{MOST_CALLBACKS} callbacks ran and no time passed")

    def next_timer(self) -> float | None:
        """Seconds until the next timer."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return max(0.0, self._timers[0][0] - self._elapsed) if self._timers else None

    def advance(self, seconds: float) -> None:
        """Let time pass; timers that come due run in their order, each at its own time."""
        end = self._elapsed + seconds
        fired = 0
        while (left := self.next_timer()) is not None and self._elapsed + left <= end:
            when, _, handle = heapq.heappop(self._timers)
            self._elapsed = max(self._elapsed, when)
            handle._run()
            self.settle()
            fired += 1
            if fired > MOST_TIMERS:
                raise BusyLoopError(f"{MOST_TIMERS} timers fired within {seconds} seconds")
        self._elapsed = end

    def time(self) -> float:
        return self._elapsed

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._scheduled += 1
        heapq.heappush(self._timers, (when, self._scheduled, handle))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._elapsed + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]  # no caller names a task
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Any = None
    ) -> asyncio.Task[T]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.faults.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is dropped when its time comes."""
