"""A queue of keys: work that is asked for many times is done once, by one worker at a time.

A key that is added while it is worked on runs exactly once more afterwards. Keys of high priority
overtake the others, but never all the time. Within a priority the groups of keys take turns, and
keys of one group are served in the order they came. The queue does not know why a key was added.
"""

import asyncio
import enum
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from tfjob.client.backoff import exponential, lengthened
from tfjob.client.timing import Handle, Timers

K = TypeVar("K", bound=Hashable)

FIRST_RETRY: Final = 0.005
LONGEST_RETRY: Final = 300.0
OVERTAKERS: Final = 8
"""Keys of high priority that are served in a row while others wait."""
MOST_NORMAL: Final = 4
"""Keys of normal priority that are worked on at a time while those of high priority wait."""


class Priority(enum.IntEnum):
    NORMAL = 0
    HIGH = 1


_HIGHEST_FIRST: Final = (Priority.HIGH, Priority.NORMAL)


class QueueClosed(Exception):  # noqa: N818 - says what happened
    """The queue was closed: there is no more work."""


class _Delay(NamedTuple):
    when: float
    handle: Handle
    priority: Priority


class _Lane(Generic[K]):
    """Keys of one priority: groups take turns, and a key is here at most once."""

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
    """`get` a key, work on it, say `done`; in between `retry` or `forget` it.

    `group` says which keys take turns with each other, such as those of one namespace.
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
        self._overtakers = 0
        # Keys to be run, with those that are worked on and shall run once more.
        self._wanted: dict[K, Priority] = {}
        self._working: dict[K, Priority] = {}
        self._normal_working = 0
        self._delays: dict[K, _Delay] = {}
        self._failures: dict[K, int] = {}
        self._getters = {each: deque[asyncio.Future[None]]() for each in Priority}
        self.is_closed = False

    def __len__(self) -> int:
        """Keys that wait for a worker now."""
        return sum(map(len, self._lanes.values()))

    @property
    def delayed(self) -> int:
        """Keys that wait for their time."""
        return len(self._delays)

    def add(self, key: K, priority: Priority = Priority.NORMAL) -> None:
        """Ask for a run; asking again before it starts can only raise its priority."""
        if self.is_closed:
            return
        if key in self._delays:
            # What is to run later with a high priority does not lose it by running now.
            priority = max(priority, self._delays[key].priority)
        if self._wanted.get(key, -1) >= priority:
            return
        self._lanes[Priority.NORMAL].discard(key)
        self._wanted[key] = priority
        self._line_up(key)

    def add_after(self, key: K, seconds: float, priority: Priority = Priority.NORMAL) -> None:
        """Ask for a run after a while; of several times the earliest holds, of several priorities
        the highest."""
        if self.is_closed:
            return
        if seconds <= 0:
            self.add(key, priority)
            return
        timers = self._timers or asyncio.get_running_loop()
        when = timers.time() + seconds
        pending = self._delays.get(key)
        if pending is not None:
            priority = max(priority, pending.priority)
            if pending.when <= when:
                self._delays[key] = pending._replace(priority=priority)
                return
            pending.handle.cancel()
        handle = timers.call_at(when, lambda: self._come_due(key))
        self._delays[key] = _Delay(when, handle, priority)

    def demote(self, key: K) -> None:
        """Ask for a run at normal priority, whatever priority the key was to have later."""
        pending = self._delays.get(key)
        if pending is not None:
            self._delays[key] = pending._replace(priority=Priority.NORMAL)
        self.add(key)

    def retry(self, key: K) -> float:
        """Ask for a run after a delay that grows with each failure; the delay is returned."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delay = exponential(failures, first=FIRST_RETRY, longest=LONGEST_RETRY)
        if self._chance is not None:
            delay = min(LONGEST_RETRY, lengthened(delay, self._chance))
        self.add_after(key, delay, self.priority_of(key))
        return delay

    def forget(self, key: K) -> None:
        """The key is well again: its next failure is its first."""
        self._failures.pop(key, None)

    def is_working(self, key: K) -> bool:
        """Whether a worker has the key at this moment."""
        return key in self._working

    def priority_of(self, key: K) -> Priority:
        """With which priority a worker took the key."""
        return self._working.get(key, Priority.NORMAL)

    def failures(self, key: K) -> int:
        """How often the key has failed in a row."""
        return self._failures.get(key, 0)

    async def get(self, least: Priority = Priority.NORMAL) -> K:
        """The next key of at least this priority; it is this worker's alone until `done`."""
        while not self._has(least):
            if self.is_closed:
                raise QueueClosed
            await self._wait(least)
        key = self._next_lane(least).pop()
        self._working[key] = self._wanted.pop(key)
        self._normal_working += self._working[key] is Priority.NORMAL
        # Another worker may have been woken for the key that this one took.
        self._wake_idle()
        return key

    def done(self, key: K) -> None:
        """The work on a key has ended, well or not."""
        self._normal_working -= self._working.pop(key, None) is Priority.NORMAL
        if key in self._wanted:
            self._line_up(key)

    def close(self) -> None:
        """Drop what waits and send every worker home."""
        self.is_closed = True
        for delay in self._delays.values():
            delay.handle.cancel()
        self._delays.clear()
        self._wanted.clear()
        for priority, lane in self._lanes.items():
            lane.clear()
            while _wake_one(self._getters[priority]):
                pass

    def _has(self, least: Priority) -> bool:
        return any(lane for priority, lane in self._lanes.items() if priority >= least)

    def _line_up(self, key: K) -> None:
        if key in self._working:
            return
        priority = self._wanted[key]
        self._lanes[priority].add(key)
        self._wake(priority)

    def _next_lane(self, least: Priority) -> _Lane[K]:
        normal, high = self._lanes[Priority.NORMAL], self._lanes[Priority.HIGH]
        if least is Priority.HIGH:
            return high
        is_full = self._normal_working >= MOST_NORMAL
        overtakes = bool(high) and (not normal or is_full or self._overtakers < OVERTAKERS)
        self._overtakers = self._overtakers + 1 if overtakes and normal else 0
        return high if overtakes else normal

    def _come_due(self, key: K) -> None:
        priority = self._delays.pop(key).priority
        self.add(key, priority)

    async def _wait(self, least: Priority) -> None:
        getter = asyncio.get_running_loop().create_future()
        getters = self._getters[least]
        getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter in getters:
                getters.remove(getter)
            else:
                # It was woken for a key that it will not take any more.
                self._wake_idle()
            raise

    def _wake_idle(self) -> None:
        for priority, lane in self._lanes.items():
            if lane:
                self._wake(priority)

    def _wake(self, priority: Priority) -> None:
        """Wake one worker for a key, first one that serves nothing of a lower priority."""
        for least in _HIGHEST_FIRST:
            if least <= priority and _wake_one(self._getters[least]):
                return


def _wake_one(getters: deque[asyncio.Future[None]]) -> bool:
    while getters:
        getter = getters.popleft()
        if not getter.done():
            getter.set_result(None)
            return True
    return False
