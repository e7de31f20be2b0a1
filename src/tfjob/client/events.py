"""Tells people what happened, in the background and without ever holding up its caller.

The same news has the same name, so telling it twice is harmless. News told once is sent once; news
that repeats is counted, and the count is written ever less often. What cannot be kept or sent is
dropped and counted. Memory is bounded both in what waits and in what was told.
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
from tfjob.client.queue import QueueClosed, WorkQueue
from tfjob.client.recent import Recent
from tfjob.client.resource import EVENTS
from tfjob.client.timing import Timers
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


class Thrift(msgspec.Struct, frozen=True, kw_only=True):
    """How much a recorder keeps and how often it writes; times in seconds."""

    waiting: int = 20_000
    remembered: int = 50_000
    """The latest news told once, known again for certain; up to twice as many, of 80 bytes each."""
    repeated: int = 4_096
    """News told again and again whose count is kept."""
    interval: float = 60.0
    growth: float = 3.0
    longest_interval: float = 6 * 3600.0
    tries: int = 14
    patience: float = 120.0
    """For so long news gives way to what is more important; after that it goes out."""


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


class EventRecorder:
    """`record` from anywhere, `run` in the background (more than once to send in parallel)."""

    def __init__(
        self,
        api: Sender,
        *,
        component: str,
        thrift: Thrift | None = None,
        timers: Timers | None = None,
        now: Callable[[], datetime] = _now,
        on_drop: Callable[[], None] | None = None,
    ) -> None:
        self._api = api
        self._component = component
        self._thrift = thrift or Thrift()
        self._timers = timers
        self._now = now
        self._queue = WorkQueue[_Id](timers=timers)
        self._waiting: dict[_Id, _Series] = {}
        self._told_once = Recent(self._thrift.remembered)
        self._told: OrderedDict[_Id, _Series] = OrderedDict()
        self._sending: set[_Id] = set()
        self._on_drop = on_drop
        self.calm: Callable[[float], Awaitable[None]] | None = None
        """Returns when there is nothing better to do than to send news; is told for how many
        seconds the server was at the last of them."""
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
                if self.calm is not None and not (self._is_pressed or self._is_late(identity)):
                    await self.calm(took)
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
        """News that could go out now; counts that wait for their time are not among it."""
        return len(self._queue)

    @property
    def _is_pressed(self) -> bool:
        """So much waits that it goes out although there is better to do."""
        return len(self._waiting) > self._thrift.waiting // 2

    def _is_late(self, identity: _Id) -> bool:
        series = self._waiting.get(identity)
        return series is not None and self._time() - series.not_before > self._thrift.patience

    def _left(self) -> list[_Id]:
        """What waits and is not just being sent."""
        return [identity for identity in self._waiting if identity not in self._sending]

    def _drop(self, identity: _Id, cause: object) -> None:
        """The first of many is told at once, their number when it is over."""
        self._waiting.pop(identity, None)
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
        if self._is_closed or len(self._waiting) >= self._thrift.waiting:
            self._drop(identity, f"{len(self._waiting)} events wait already")
            return
        now = self._now()
        self._waiting[identity] = _Series(
            event, first=now, last=now, is_once=is_once, not_before=self._time()
        )
        self._queue.add(identity)

    def _repeat(self, identity: _Id, series: _Series, event: Event) -> None:
        series.event = event
        series.count += 1
        series.last = self._now()
        if self._told.pop(identity, None) is not None:
            self._waiting[identity] = series
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
        pause = self._thrift.interval * self._thrift.growth**growths
        series.sent = count
        series.writes += 1
        series.not_before = self._time() + min(pause, self._thrift.longest_interval)
        if self._time() - self._dropped_at >= self._thrift.interval:
            self._sum_up()
        self._queue.forget(identity)
        if series.count > count:
            self._queue.add_after(identity, series.not_before - self._time())
            return
        self._waiting.pop(identity, None)
        self._remember(identity, series)

    def _remember(self, identity: _Id, series: _Series) -> None:
        if series.is_once:
            self._told_once.add(identity)
            return
        self._told[identity] = series
        if len(self._told) > self._thrift.repeated:
            self._told.popitem(last=False)

    def _fail(self, identity: _Id, series: _Series, fault: ApiError) -> None:
        series.is_doubtful = series.is_doubtful or isinstance(fault, ServerTimeout)
        if fault.is_retryable and self._queue.failures(identity) + 1 < self._thrift.tries:
            self._queue.retry(identity)
            return
        self._drop(identity, str(fault))

    def _time(self) -> float:
        return (self._timers or asyncio.get_running_loop()).time()
