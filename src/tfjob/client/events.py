"""Event recorder: sends events in the background and never blocks its caller.

An event's name is derived from its content, so that sending it twice is harmless. Repeated events
are counted, and the count is written less and less often. Namespaces take turns, so that a backlog
in one does not delay the others. When the queue is full, the namespace with the most events loses
one. Memory is bounded.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec

from tfjob.client.errors import (
    AlreadyExists,
    ApiError,
    NamespaceTerminating,
    NotFound,
    ServerTimeout,
)
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import EVENTS
from tfjob.client.seen_set import SeenSet
from tfjob.client.timing import Timers
from tfjob.client.workqueue import QueueClosed, WorkQueue
from tfjob.k8s.event import MAX_MESSAGE_BYTES, Event, event_name, manifest, truncated

_log: Final = logging.getLogger(__name__)

_Id = tuple[str, str]
"""Namespace and name of the Event object."""
_MAX_GROWTHS: Final = 32
"""Writes after which the interval stops growing; prevents an overflow."""


class Counted(msgspec.Struct, frozen=True):
    """An Event of which only the count is read."""

    count: int | None = None


class Sender(Protocol):
    """The API calls that a recorder uses."""

    async def get(self, path: str, *, decode: type[Counted]) -> Counted: ...

    async def create(
        self, path: str, body: object, *, decode: type[PartialObjectMetadata]
    ) -> PartialObjectMetadata: ...

    async def patch(
        self, path: str, body: object, *, decode: type[PartialObjectMetadata]
    ) -> PartialObjectMetadata: ...


class EventRecorderConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of memory, and the times between writes in seconds."""

    max_queued: int = 50_000
    """Events in the queue, of about 1 kB each. Beyond that, events are dropped."""
    max_sent: int = 100_000
    """Sent events that are remembered and not sent again, in 8 bytes each."""
    max_series: int = 4_096
    """Repeated events whose count is kept."""
    interval: float = 60.0
    """The first interval between two writes of a count; it grows by `growth`."""
    growth: float = 3.0
    max_interval: float = 6 * 3600.0
    max_attempts: int = 14


class Backlog(msgspec.Struct, frozen=True, gc=False):
    """The state of the queue just before an event is sent."""

    is_half_full: bool
    """Whether the queue is more than half full."""
    age: float
    """Seconds since this event was due."""
    took: float
    """Seconds that the last write took; 0 if it failed."""


async def _at_once(_: Backlog) -> None:
    """The default: send each event as soon as a sender is free."""


class _Series(msgspec.Struct, gc=False):
    """An event and how often it occurred."""

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
    may_exist: bool = False
    """Whether a create without a response may have succeeded."""


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
        self._sent_once = SeenSet(self._config.max_sent)
        self._sent: OrderedDict[_Id, _Series] = OrderedDict()
        self._sending: set[_Id] = set()
        self._on_drop = on_drop
        self.before_send: Callable[[Backlog], Awaitable[None]] = _at_once
        """Awaited before each event is sent."""
        self._dropped_lately = 0
        self._dropped_at = 0.0
        self._is_closed = False
        self.dropped = 0

    def record(self, event: Event, *, key: str, is_once: bool = True) -> None:
        """Queue an event. Events of one object with the same key are the same event."""
        identity = (event.namespace or "default", event_name(event, key))
        if self._sent_once.saw(identity):
            return
        if len(event.message) > MAX_MESSAGE_BYTES:
            # What waits and what is remembered must not grow with the text of a tenant.
            event = msgspec.structs.replace(event, message=truncated(event.message))
        series = self._waiting.get(identity) or self._sent.get(identity)
        if series is None:
            self._start_series(identity, event, is_once=is_once)
        elif not series.is_once:
            self._repeat(identity, series, event)

    async def run(self) -> None:
        """Send queued events until the recorder is closed."""
        took = 0.0
        while True:
            try:
                identity = await self._queue.get()
            except QueueClosed:
                return
            try:
                await self.before_send(self._backlog(identity, took))
                if not self._is_closed:
                    took = await self._deliver(identity)
            finally:
                self._queue.done(identity)

    async def close(self, limit: float = 5.0) -> None:
        """Send the queued events in at most `limit` seconds, then drop the rest."""
        self._is_closed = True
        self._queue.close()
        with suppress(TimeoutError):  # The rest is dropped below.
            async with asyncio.timeout(limit):
                for identity in self._unsent():
                    await self._deliver(identity)
        for identity in self._unsent():
            self._drop(identity, f"not sent within {limit} s of shutdown")
        self._log_dropped()

    @property
    def due_count(self) -> int:
        """Events that are due now, without counts whose interval has not passed."""
        return len(self._queue)

    @property
    def oldest_seconds(self) -> float:
        """Seconds since the oldest queued event was due."""
        now = self._time()
        due = (each.not_before for each in self._waiting.values() if each.not_before <= now)
        return now - next(due, now)

    def _backlog(self, identity: _Id, took: float) -> Backlog:
        series = self._waiting.get(identity)
        age = 0.0 if series is None else self._time() - series.not_before
        return Backlog(len(self._waiting) > self._config.max_queued // 2, age, took)

    def _enqueue(self, identity: _Id, series: _Series) -> None:
        self._waiting[identity] = series
        self._waiting_in.setdefault(identity[0], {})[identity] = None

    def _release(self, identity: _Id) -> None:
        if self._waiting.pop(identity, None) is None:
            return
        siblings = self._waiting_in[identity[0]]
        del siblings[identity]
        if not siblings:
            del self._waiting_in[identity[0]]

    def _free_space(self, namespace: str) -> bool:
        """Whether the namespace may queue one more event. When the queue is full, the namespace
        with the most events loses its latest one, unless it is this one."""
        if len(self._waiting) < self._config.max_queued:
            return True
        largest = max(self._waiting_in.values(), key=len)
        if len(largest) <= len(self._waiting_in.get(namespace, ())) + 1:
            return False
        latest = next((each for each in reversed(largest) if each not in self._sending), None)
        if latest is None:
            return False
        self._drop(latest, f"{len(self._waiting)} events queued, most of them in its namespace")
        return True

    def _unsent(self) -> list[_Id]:
        """Queued events that are not being sent right now."""
        return [identity for identity in self._waiting if identity not in self._sending]

    def _drop(self, identity: _Id, cause: object) -> None:
        """Drop an event. The first of many is logged at once, their number when it is over."""
        self._release(identity)
        self._queue.discard(identity)
        if not self._dropped_lately:
            trace = cause if isinstance(cause, Exception) else None
            facts = {"event": identity, "fault": str(cause)}
            _log.warning("events are being dropped", extra=facts, exc_info=trace)
        self.dropped += 1
        self._dropped_lately += 1
        self._dropped_at = self._time()
        if self._on_drop is not None:
            self._on_drop()

    def _log_dropped(self) -> None:
        if self._dropped_lately:
            _log.warning("events were dropped", extra={"count": self._dropped_lately})
            self._dropped_lately = 0

    def _start_series(self, identity: _Id, event: Event, *, is_once: bool) -> None:
        if self._is_closed or not self._free_space(identity[0]):
            self._drop(identity, f"{len(self._waiting)} events queued already")
            return
        now = self._now()
        series = _Series(event, first=now, last=now, is_once=is_once, not_before=self._time())
        self._enqueue(identity, series)
        self._queue.add(identity)

    def _repeat(self, identity: _Id, series: _Series, event: Event) -> None:
        series.event = event
        series.count += 1
        series.last = self._now()
        if self._sent.pop(identity, None) is not None:
            self._enqueue(identity, series)
            series.not_before = max(series.not_before, self._time())
        if series.sent:
            self._queue.add_after(identity, series.not_before - self._time())

    async def _deliver(self, identity: _Id) -> float:
        """Send an event and return how many seconds that took; 0 if it failed."""
        series = self._waiting.get(identity)
        if series is None:
            return 0.0
        self._sending.add(identity)
        count, began, took = series.count, self._time(), 0.0
        try:
            await self._write(identity, series, count=count)
            self._mark_sent(identity, series, count=count)
            took = self._time() - began
        except ApiError as fault:
            self._fail(identity, series, fault)
        except Exception as fault:  # noqa: BLE001 - one bad event must not stop the recorder
            self._drop(identity, fault)
        finally:
            self._sending.discard(identity)
        return took

    async def _write(self, identity: _Id, series: _Series, *, count: int) -> None:
        if series.sent:
            try:
                await self._update(identity, series, count=count)
            except NotFound:  # Events expire on the server.
                await self._create(identity, series, count=count)
            return
        try:
            await self._create(identity, series, count=count)
        except AlreadyExists:
            if not series.is_once and not series.may_exist:
                await self._continue_count(identity, series, count=count)

    async def _create(self, identity: _Id, series: _Series, *, count: int) -> None:
        body, path = self._manifest(identity, series, count=count), EVENTS.collection(identity[0])
        try:
            await self._api.create(path, body, decode=PartialObjectMetadata)
        except NotFound as fault:  # The namespace is gone.
            raise NamespaceTerminating(fault.message, status=fault.status) from fault

    async def _continue_count(self, identity: _Id, series: _Series, *, count: int) -> None:
        """The event was recorded before this process started: continue its count."""
        namespace, name = identity
        found = await self._api.get(EVENTS.item(name, namespace), decode=Counted)
        series.earlier = found.count or 0
        await self._update(identity, series, count=count)

    async def _update(self, identity: _Id, series: _Series, *, count: int) -> None:
        namespace, name = identity
        body = self._manifest(identity, series, count=count)
        change = {field: body[field] for field in ("count", "lastTimestamp", "message")}
        await self._api.patch(EVENTS.item(name, namespace), change, decode=PartialObjectMetadata)

    def _manifest(self, identity: _Id, series: _Series, *, count: int) -> dict[str, Any]:
        return manifest(
            series.event,
            component=self._component,
            name=identity[1],
            first=series.first,
            last=series.last,
            count=series.earlier + count,
        )

    def _mark_sent(self, identity: _Id, series: _Series, *, count: int) -> None:
        growths = min(series.writes, _MAX_GROWTHS)
        pause = self._config.interval * self._config.growth**growths
        series.sent = count
        series.writes += 1
        series.not_before = self._time() + min(pause, self._config.max_interval)
        if self._time() - self._dropped_at >= self._config.interval:
            self._log_dropped()
        self._queue.forget(identity)
        if series.count > count:
            self._queue.add_after(identity, series.not_before - self._time())
            return
        self._release(identity)
        self._remember(identity, series)

    def _remember(self, identity: _Id, series: _Series) -> None:
        if series.is_once:
            self._sent_once.add(identity)
            return
        self._sent[identity] = series
        if len(self._sent) > self._config.max_series:
            self._sent.popitem(last=False)

    def _fail(self, identity: _Id, series: _Series, fault: ApiError) -> None:
        series.may_exist = series.may_exist or isinstance(fault, ServerTimeout)
        if fault.is_retryable and self._queue.failures(identity) + 1 < self._config.max_attempts:
            self._queue.retry(identity)
            return
        self._drop(identity, str(fault))
        if isinstance(fault, NamespaceTerminating):
            for other in [*self._waiting_in.get(identity[0], ())]:
                if other not in self._sending:
                    self._drop(other, str(fault))

    def _time(self) -> float:
        if self._timers is None:
            # Looked up once: that costs a system call on Python 3.11.
            self._timers = asyncio.get_running_loop()
        return self._timers.time()
