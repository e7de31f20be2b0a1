"""A queue of keys: work that is asked for many times is done once, by one worker at a time.

A key that is added while it is worked on runs exactly once more afterwards. Keys are served in the
order they came; those in a hurry overtake the others, but never all the time, so no key starves
another. Nothing is remembered about why a key was added.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from tfjob.client.backoff import exponential, lengthened
from tfjob.client.timing import Handle, Timers

K = TypeVar("K", bound=Hashable)

FIRST_RETRY: Final = 0.005
LONGEST_RETRY: Final = 300.0
OVERTAKERS: Final = 3
"""Keys in a hurry that are served in a row while others wait."""


class QueueClosed(Exception):  # noqa: N818 - says what happened
    """The queue was closed: there is no more work."""


class _Delay(NamedTuple):
    when: float
    handle: Handle


class WorkQueue(Generic[K]):
    """`get` a key, work on it, say `done`; in between `retry` or `forget` it."""

    def __init__(
        self, *, timers: Timers | None = None, chance: Callable[[], float] | None = None
    ) -> None:
        self._timers = timers
        self._chance = chance
        self._ready: OrderedDict[K, None] = OrderedDict()
        self._urgent: OrderedDict[K, None] = OrderedDict()
        self._overtakers = 0
        # Whether each wanted key is in a hurry; those that are worked on wait in no lane.
        self._wanted: dict[K, bool] = {}
        # The same of keys that are worked on.
        self._working: dict[K, bool] = {}
        self._postponed: set[K] = set()
        self._delays: dict[K, _Delay] = {}
        self._failures: dict[K, int] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._is_closed = False

    def __len__(self) -> int:
        """Keys that wait for a worker now."""
        return len(self._ready) + len(self._urgent)

    @property
    def delayed(self) -> int:
        """Keys that wait for their time."""
        return len(self._delays)

    def add(self, key: K) -> None:
        """Ask for a run; asking again before it starts changes nothing."""
        if self._is_closed or key in self._wanted:
            return
        self._wanted[key] = key in self._postponed
        self._line_up(key)

    def hurry(self, key: K) -> None:
        """Ask for a run before those of keys that are in no hurry."""
        if self._is_closed or self._wanted.get(key, False):
            return
        self._ready.pop(key, None)
        self._wanted[key] = True
        self._line_up(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for a run after a while; of several times the earliest holds."""
        if self._is_closed:
            return
        if seconds <= 0:
            self.add(key)
            return
        timers = self._timers or asyncio.get_running_loop()
        when = timers.time() + seconds
        pending = self._delays.get(key)
        if pending is not None:
            if pending.when <= when:
                return
            pending.handle.cancel()
        self._delays[key] = _Delay(when, timers.call_at(when, lambda: self._come_due(key)))

    def postpone(self, key: K, seconds: float) -> None:
        """What a key is worked on for cannot be done yet: run it later, in the same hurry."""
        if self._working.get(key, False):
            self._postponed.add(key)
            if key in self._wanted:
                self._wanted[key] = True
        self.add_after(key, seconds)

    def retry(self, key: K) -> float:
        """Ask for a run after a delay that grows with each failure; the delay is returned."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = exponential(failures, first=FIRST_RETRY, longest=LONGEST_RETRY)
        if self._chance is not None:
            delay = min(LONGEST_RETRY, lengthened(delay, self._chance))
        self.add_after(key, delay)
        return delay

    def forget(self, key: K) -> None:
        """The key is well again: its next failure is its first."""
        self._failures.pop(key, None)

    def is_working(self, key: K) -> bool:
        """Whether a worker has the key at this moment."""
        return key in self._working

    def failures(self, key: K) -> int:
        """How often the key has failed in a row."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The next key, which is then this worker's alone until `done`."""
        while not len(self):
            if self._is_closed:
                raise QueueClosed
            await self._wait()
        key, _ = self._next_lane().popitem(last=False)
        self._working[key] = self._wanted.pop(key)
        self._postponed.discard(key)
        return key

    def done(self, key: K) -> None:
        """The work on a key has ended, well or not."""
        self._working.pop(key, None)
        if key in self._wanted:
            self._line_up(key)

    def close(self) -> None:
        """Drop what waits and send every worker home."""
        self._is_closed = True
        for delay in self._delays.values():
            delay.handle.cancel()
        self._delays.clear()
        self._ready.clear()
        self._urgent.clear()
        self._wanted.clear()
        self._postponed.clear()
        while self._getters:
            self._wake_one()

    def _line_up(self, key: K) -> None:
        if key in self._working:
            return
        lane = self._urgent if self._wanted[key] else self._ready
        lane[key] = None
        self._wake_one()

    def _next_lane(self) -> OrderedDict[K, None]:
        overtakes = bool(self._urgent) and (not self._ready or self._overtakers < OVERTAKERS)
        self._overtakers = self._overtakers + 1 if overtakes and self._ready else 0
        return self._urgent if overtakes else self._ready

    def _come_due(self, key: K) -> None:
        del self._delays[key]
        self.add(key)

    async def _wait(self) -> None:
        getter = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter in self._getters:
                self._getters.remove(getter)
            elif len(self):
                # It was woken for a key that it will not take any more: pass the word on.
                self._wake_one()
            raise

    def _wake_one(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
