"""A deduplicating workqueue with priorities, delays and retries with backoff.

A key is processed by one worker at a time. A key that is added while it is being processed runs
once more afterwards. High-priority keys go first, but cannot starve the others. Within a priority,
groups of keys take turns, and the keys of a group are served in order.
"""

import asyncio
import enum
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from tfjob.client.flowcontrol import exponential_delay, with_jitter
from tfjob.client.timing import Handle, Timers

K = TypeVar("K", bound=Hashable)

INITIAL_RETRY: Final = 0.005
MAX_RETRY: Final = 300.0
MAX_HIGH_IN_ROW: Final = 8
"""High-priority keys that are served in a row while others wait."""
MAX_NORMAL_WORKING: Final = 4
"""Normal-priority keys that are processed at once while high-priority keys wait."""


class Priority(enum.IntEnum):
    NORMAL = 0
    HIGH = 1


_HIGHEST_FIRST: Final = (Priority.HIGH, Priority.NORMAL)


class QueueClosed(Exception):  # noqa: N818 - says what happened
    """The queue was closed."""


class _Delay(NamedTuple):
    when: float
    handle: Handle
    priority: Priority


class _Lane(Generic[K]):
    """The queued keys of one priority, in groups that take turns."""

    def __init__(self, group: Callable[[K], Hashable]) -> None:
        self._group = group
        self._groups: OrderedDict[Hashable, OrderedDict[K, None]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, key: K) -> None:
        keys = self._groups.setdefault(self._group(key), OrderedDict())
        self._size += key not in keys
        keys[key] = None

    def discard(self, key: K) -> None:
        group = self._group(key)
        keys = self._groups.get(group)
        if keys is None or key not in keys:
            return
        del keys[key]
        self._size -= 1
        if not keys:
            del self._groups[group]

    def pop(self) -> K:
        group, keys = self._groups.popitem(last=False)
        key, _ = keys.popitem(last=False)
        if keys:
            self._groups[group] = keys
        self._size -= 1
        return key

    def clear(self) -> None:
        self._groups.clear()
        self._size = 0


def _one_group(_: Hashable) -> None:
    return None


class WorkQueue(Generic[K]):
    """`get` a key, process it, call `retry` or `forget`, then `done`.

    `group` maps a key to its group, such as its namespace. Groups take turns.
    """

    def __init__(
        self,
        *,
        timers: Timers | None = None,
        chance: Callable[[], float] | None = None,
        group: Callable[[K], Hashable] = _one_group,
    ) -> None:
        self._timers = timers
        self._chance = chance
        self._lanes = {each: _Lane[K](group) for each in Priority}
        self._high_in_row = 0
        # Queued keys, and keys being processed that must run again.
        self._wanted: dict[K, Priority] = {}
        self._working: dict[K, Priority] = {}
        self._normal_working = 0
        self._delays: dict[K, _Delay] = {}
        self._failures: dict[K, int] = {}
        self._getters = {each: deque[asyncio.Future[None]]() for each in Priority}
        self.is_closed = False

    def __len__(self) -> int:
        """How many keys wait for a worker."""
        return sum(map(len, self._lanes.values()))

    @property
    def delayed(self) -> int:
        """How many keys are delayed."""
        return len(self._delays)

    def add(self, key: K, priority: Priority = Priority.NORMAL) -> None:
        """Queue a key. Adding it again before it runs can only raise its priority."""
        if self.is_closed:
            return
        if key in self._delays:
            # A delayed key keeps its higher priority when it is added now.
            priority = max(priority, self._delays[key].priority)
        if self._wanted.get(key, -1) >= priority:
            return
        self._lanes[Priority.NORMAL].discard(key)
        self._wanted[key] = priority
        self._push(key)

    def add_after(self, key: K, seconds: float, priority: Priority = Priority.NORMAL) -> None:
        """Queue a key after a delay. The earliest of several times and the highest of several
        priorities count."""
        if self.is_closed:
            return
        if seconds <= 0:
            self.add(key, priority)
            return
        timers = self._timers or self._running_loop()
        when = timers.time() + seconds
        pending = self._delays.get(key)
        if pending is not None:
            priority = max(priority, pending.priority)
            if pending.when <= when:
                self._delays[key] = pending._replace(priority=priority)
                return
            pending.handle.cancel()
        handle = timers.call_at(when, lambda: self._on_timer(key))
        self._delays[key] = _Delay(when, handle, priority)

    def cancel_delay(self, key: K) -> None:
        """Do not queue a delayed key. One that is queued already still runs."""
        pending = self._delays.pop(key, None)
        if pending is not None:
            pending.handle.cancel()

    def demote(self, key: K) -> None:
        """Queue a key at normal priority, even if it is delayed with a higher one."""
        pending = self._delays.get(key)
        if pending is not None:
            self._delays[key] = pending._replace(priority=Priority.NORMAL)
        self.add(key)

    def retry(self, key: K) -> float:
        """Queue a key with exponential backoff and return the delay."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = exponential_delay(failures, initial=INITIAL_RETRY, maximum=MAX_RETRY)
        if self._chance is not None:
            delay = min(MAX_RETRY, with_jitter(delay, self._chance))
        self.add_after(key, delay, self.priority_of(key))
        return delay

    def forget(self, key: K) -> None:
        """Reset the backoff of a key."""
        self._failures.pop(key, None)

    def discard(self, key: K) -> None:
        """Drop a key with its delay and its backoff. One that is being processed is not stopped."""
        self._failures.pop(key, None)
        self.cancel_delay(key)
        priority = self._wanted.pop(key, None)
        if priority is not None:
            self._lanes[priority].discard(key)

    def is_working(self, key: K) -> bool:
        """Whether the key is being processed."""
        return key in self._working

    def priority_of(self, key: K) -> Priority:
        """The priority with which the key is being processed."""
        return self._working.get(key, Priority.NORMAL)

    def failures(self, key: K) -> int:
        """How often the key has failed since it was last forgotten."""
        return self._failures.get(key, 0)

    async def get(self, min_priority: Priority = Priority.NORMAL) -> K:
        """Wait for the next key of at least this priority. Call `done` when it is processed."""
        while not self._has(min_priority):
            if self.is_closed:
                raise QueueClosed
            await self._wait(min_priority)
        key = self._next_lane(min_priority).pop()
        self._working[key] = self._wanted.pop(key)
        self._normal_working += self._working[key] is Priority.NORMAL
        # This worker may have taken the key that another one was woken for.
        self._wake_idle()
        return key

    def done(self, key: K) -> None:
        """Mark a key as processed; it runs again if it was added meanwhile."""
        self._normal_working -= self._working.pop(key, None) is Priority.NORMAL
        if key in self._wanted:
            self._push(key)

    def close(self) -> None:
        """Drop all queued keys and stop the workers."""
        self.is_closed = True
        for delay in self._delays.values():
            delay.handle.cancel()
        self._delays.clear()
        self._wanted.clear()
        for priority, lane in self._lanes.items():
            lane.clear()
            while _wake_one(self._getters[priority]):
                pass

    def _has(self, min_priority: Priority) -> bool:
        return any(lane for priority, lane in self._lanes.items() if priority >= min_priority)

    def _push(self, key: K) -> None:
        if key in self._working:
            return
        priority = self._wanted[key]
        self._lanes[priority].add(key)
        self._wake(priority)

    def _next_lane(self, min_priority: Priority) -> _Lane[K]:
        normal, high = self._lanes[Priority.NORMAL], self._lanes[Priority.HIGH]
        if min_priority is Priority.HIGH:
            return high
        is_full = self._normal_working >= MAX_NORMAL_WORKING
        takes_high = bool(high) and (not normal or is_full or self._high_in_row < MAX_HIGH_IN_ROW)
        self._high_in_row = self._high_in_row + 1 if takes_high and normal else 0
        return high if takes_high else normal

    def _on_timer(self, key: K) -> None:
        priority = self._delays.pop(key).priority
        self.add(key, priority)

    def _running_loop(self) -> Timers:
        """The event loop, looked up once: that costs a system call on Python 3.11."""
        self._timers = asyncio.get_running_loop()
        return self._timers

    async def _wait(self, min_priority: Priority) -> None:
        getter = asyncio.get_running_loop().create_future()
        getters = self._getters[min_priority]
        getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter in getters:
                getters.remove(getter)
            else:
                # It was woken for a key that another worker must take now.
                self._wake_idle()
            raise

    def _wake_idle(self) -> None:
        for priority, lane in self._lanes.items():
            if lane:
                self._wake(priority)

    def _wake(self, priority: Priority) -> None:
        """Wake one worker for a key, preferably one that serves high priority only."""
        for min_priority in _HIGHEST_FIRST:
            if min_priority <= priority and _wake_one(self._getters[min_priority]):
                return


def _wake_one(getters: deque[asyncio.Future[None]]) -> bool:
    while getters:
        getter = getters.popleft()
        if not getter.done():
            getter.set_result(None)
            return True
    return False
