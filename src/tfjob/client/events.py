"""Records events in the background, without ever holding up its caller.

The same fact has the same name, so sending it twice is harmless. An event that repeats is counted,
and its count is written ever less often. Namespaces take turns: what waits in one delays no event
of another. When too many wait, the namespace with most of them loses one. What is dropped is
counted. Memory is bounded both in what waits and in what was sent.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec

from tfjob.client.errors import AlreadyExists, ApiError, NotFound, ServerTimeout
from tfjob.client.http import Stored
from tfjob.client.resource import EVENTS
from tfjob.client.seen_set import SeenSet
from tfjob.client.timing import Timers
from tfjob.client.workqueue import QueueClosed, WorkQueue
from tfjob.k8s.event import Event, event_name, manifest

_log: Final = logging.getLogger(__name__)

_Id = tuple[str, str]
"""Namespace and name of the Event object."""
_MOST_GROWTHS: Final = 32
"""Writes after which a pause grows no more: a power without a bound overflows."""


class Counted(msgspec.Struct, frozen=True):
    """An Event of which only the count matters."""

    count: int | None = None


class Sender(Protocol):
    """What a recorder needs of an API server."""

    async def get(self, path: str, *, decode: type[Counted]) -> Counted: ...

    async def create(self, path: str, body: object, *, decode: type[Stored]) -> Stored: ...

    async def patch(self, path: str, body: object, *, decode: type[Stored]) -> Stored: ...


class EventRecorderConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How much a recorder keeps and how often it writes; times in seconds."""

    waiting: int = 50_000
    """Over all namespaces, of about 1 kB each; none is dropped before."""
    remembered: int = 50_000
    """The latest news told once, known again for certain; up to twice as many, in 2 MB."""
    repeated: int = 4_096
    """News told again and again whose count is kept."""
    interval: float = 60.0
    growth: float = 3.0
    longest_interval: float = 6 * 3600.0
    tries: int = 14


class Backlog(msgspec.Struct, frozen=True, gc=False):
    """What a sender knows when it is about to send an event."""

    is_half_full: bool
    """Whether more than half as many events wait as can."""
    age: float
    """For how many seconds this event has been due."""
    took: float
    """For how many seconds the server was at the last one; 0 where it did not take it."""


async def _at_once(_: Backlog) -> None:
    """Without pacing an event is sent as soon as there is a sender."""


class _Series(msgspec.Struct, gc=False):
    """One piece of news and how often it was told."""

    event: Event
    first: datetime
    last: datetime
    is_once: bool
    count: int = 1
    sent: int = 0
    earlier: int = 0
    writes: int = 0
    not_before: float = 0.0
    """When it is due."""
    is_doubtful: bool = False


def _now() -> datetime:
    return datetime.now(UTC)


def _namespace(identity: _Id) -> str:
    return identity[0]


class EventRecorder:
    """`record` from anywhere, `run` in the background (more than once to send in parallel)."""

    def __init__(
        self,
        api: Sender,
        *,
        component: str,
        config: EventRecorderConfig | None = None,
        timers: Timers | None = None,
        now: Callable[[], datetime] = _now,
        on_drop: Callable[[], None] | None = None,
    ) -> None:
        self._api = api
        self._component = component
        self._config = config or EventRecorderConfig()
        self._timers = timers
        self._now = now
        self._queue = WorkQueue[_Id](timers=timers, group=_namespace)
        self._waiting: dict[_Id, _Series] = {}
        self._waiting_in: dict[str, dict[_Id, None]] = {}
        self._told_once = SeenSet(self._config.remembered)
        self._told: OrderedDict[_Id, _Series] = OrderedDict()
        self._sending: set[_Id] = set()
        self._on_drop = on_drop
        self.turn: Callable[[Backlog], Awaitable[None]] = _at_once
        """Returns when the next event may be sent."""
        self._dropped_lately = 0
        self._dropped_at = 0.0
        self._is_closed = False
        self.dropped = 0

    def record(self, event: Event, *, key: str, is_once: bool = True) -> None:
        """Tell news; the key says which news of one object are the same."""
        identity = (event.namespace or "default", event_name(event, key))
        if self._told_once.saw(identity):
            return
        series = self._waiting.get(identity) or self._told.get(identity)
        if series is None:
            self._begin(identity, event, is_once=is_once)
        elif not series.is_once:
            self._repeat(identity, series, event)

    async def run(self) -> None:
        """Send what waits, until the recorder is closed."""
        took = 0.0
        while True:
            try:
                identity = await self._queue.get()
            except QueueClosed:
                return
            try:
                await self.turn(self._backlog(identity, took))
                if not self._is_closed:
                    took = await self._deliver(identity)
            finally:
                self._queue.done(identity)

    async def close(self, limit: float = 5.0) -> None:
        """Send what still waits, in at most `limit` seconds; the rest is dropped and counted."""
        self._is_closed = True
        self._queue.close()
        with suppress(TimeoutError):  # What is left then is told below.
            async with asyncio.timeout(limit):
                for identity in self._left():
                    await self._deliver(identity)
        for identity in self._left():
            self._drop(identity, f"not sent within the last {limit} s")
        self._sum_up()

    @property
    def due(self) -> int:
        """Events that could be sent now; counts that wait for their time are not among them."""
        return len(self._queue)

    @property
    def oldest(self) -> float:
        """For how many seconds the first of the events that wait has been due."""
        now = self._time()
        due = (each.not_before for each in self._waiting.values() if each.not_before <= now)
        return now - next(due, now)

    def _backlog(self, identity: _Id, took: float) -> Backlog:
        series = self._waiting.get(identity)
        age = 0.0 if series is None else self._time() - series.not_before
        return Backlog(len(self._waiting) > self._config.waiting // 2, age, took)

    def _keep(self, identity: _Id, series: _Series) -> None:
        self._waiting[identity] = series
        self._waiting_in.setdefault(identity[0], {})[identity] = None

    def _release(self, identity: _Id) -> None:
        if self._waiting.pop(identity, None) is None:
            return
        mates = self._waiting_in[identity[0]]
        del mates[identity]
        if not mates:
            del self._waiting_in[identity[0]]

    def _make_room(self, namespace: str) -> bool:
        """Whether one more may wait in a namespace. For one with fewer events than the largest,
        the latest event of the largest goes."""
        if len(self._waiting) < self._config.waiting:
            return True
        largest = max(self._waiting_in.values(), key=len)
        if len(largest) <= len(self._waiting_in.get(namespace, ())) + 1:
            return False
        latest = next((each for each in reversed(largest) if each not in self._sending), None)
        if latest is None:
            return False
        self._drop(latest, f"{len(self._waiting)} events wait, most of them in its namespace")
        return True

    def _left(self) -> list[_Id]:
        """What waits and is not just being sent."""
        return [identity for identity in self._waiting if identity not in self._sending]

    def _drop(self, identity: _Id, cause: object) -> None:
        """The first of many is told at once, their number when it is over."""
        self._release(identity)
        self._queue.forget(identity)
        if not self._dropped_lately:
            trace = cause if isinstance(cause, Exception) else None
            facts = {"event": identity, "fault": str(cause)}
            _log.warning("events are being dropped", extra=facts, exc_info=trace)
        self.dropped += 1
        self._dropped_lately += 1
        self._dropped_at = self._time()
        if self._on_drop is not None:
            self._on_drop()

    def _sum_up(self) -> None:
        if self._dropped_lately:
            _log.warning("events were dropped", extra={"count": self._dropped_lately})
            self._dropped_lately = 0

    def _begin(self, identity: _Id, event: Event, *, is_once: bool) -> None:
        if self._is_closed or not self._make_room(identity[0]):
            self._drop(identity, f"{len(self._waiting)} events wait already")
            return
        now = self._now()
        series = _Series(event, first=now, last=now, is_once=is_once, not_before=self._time())
        self._keep(identity, series)
        self._queue.add(identity)

    def _repeat(self, identity: _Id, series: _Series, event: Event) -> None:
        series.event = event
        series.count += 1
        series.last = self._now()
        if self._told.pop(identity, None) is not None:
            self._keep(identity, series)
            series.not_before = max(series.not_before, self._time())
        if series.sent:
            self._queue.add_after(identity, series.not_before - self._time())

    async def _deliver(self, identity: _Id) -> float:
        """The seconds that the server took for it, or nothing where it did not take it."""
        series = self._waiting.get(identity)
        if series is None:
            return 0.0
        self._sending.add(identity)
        count, began, took = series.count, self._time(), 0.0
        try:
            await self._write(identity, series, count=count)
            self._settle(identity, series, count=count)
            took = self._time() - began
        except ApiError as fault:
            self._fail(identity, series, fault)
        except Exception as fault:  # noqa: BLE001 - one piece of news must not end the telling
            self._drop(identity, fault)
        finally:
            self._sending.discard(identity)
        return took

    async def _write(self, identity: _Id, series: _Series, *, count: int) -> None:
        if series.sent:
            try:
                await self._update(identity, series, count=count)
            except NotFound:  # The server forgets events after a while.
                await self._create(identity, series, count=count)
            return
        try:
            await self._create(identity, series, count=count)
        except AlreadyExists:
            if not series.is_once and not series.is_doubtful:
                await self._continue(identity, series, count=count)

    async def _create(self, identity: _Id, series: _Series, *, count: int) -> None:
        body = self._manifest(identity, series, count=count)
        await self._api.create(EVENTS.collection(identity[0]), body, decode=Stored)

    async def _continue(self, identity: _Id, series: _Series, *, count: int) -> None:
        """The news were told before our time: count on from there."""
        namespace, name = identity
        found = await self._api.get(EVENTS.item(name, namespace), decode=Counted)
        series.earlier = found.count or 0
        await self._update(identity, series, count=count)

    async def _update(self, identity: _Id, series: _Series, *, count: int) -> None:
        namespace, name = identity
        body = self._manifest(identity, series, count=count)
        change = {field: body[field] for field in ("count", "lastTimestamp", "message")}
        await self._api.patch(EVENTS.item(name, namespace), change, decode=Stored)

    def _manifest(self, identity: _Id, series: _Series, *, count: int) -> dict[str, Any]:
        return manifest(
            series.event,
            component=self._component,
            name=identity[1],
            first=series.first,
            last=series.last,
            count=series.earlier + count,
        )

    def _settle(self, identity: _Id, series: _Series, *, count: int) -> None:
        growths = min(series.writes, _MOST_GROWTHS)
        pause = self._config.interval * self._config.growth**growths
        series.sent = count
        series.writes += 1
        series.not_before = self._time() + min(pause, self._config.longest_interval)
        if self._time() - self._dropped_at >= self._config.interval:
            self._sum_up()
        self._queue.forget(identity)
        if series.count > count:
            self._queue.add_after(identity, series.not_before - self._time())
            return
        self._release(identity)
        self._remember(identity, series)

    def _remember(self, identity: _Id, series: _Series) -> None:
        if series.is_once:
            self._told_once.add(identity)
            return
        self._told[identity] = series
        if len(self._told) > self._config.repeated:
            self._told.popitem(last=False)

    def _fail(self, identity: _Id, series: _Series, fault: ApiError) -> None:
        series.is_doubtful = series.is_doubtful or isinstance(fault, ServerTimeout)
        if fault.is_retryable and self._queue.failures(identity) + 1 < self._config.tries:
            self._queue.retry(identity)
            return
        self._drop(identity, str(fault))

    def _time(self) -> float:
        return (self._timers or asyncio.get_running_loop()).time()
