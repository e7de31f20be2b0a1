"""Leader election: at most one holder of a Lease writes at any time.

Another may take the lease once its record has not changed for its whole duration by that other's
own clock, so clocks need not agree. The holder counts from before it asked for its last renewal
and stops at a shorter deadline, so it has stopped before anybody else can begin, even while the
API server is away. It does not know what is led.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec

from tfjob.client.backoff import lengthened
from tfjob.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from tfjob.client.resource import LEASES
from tfjob.client.timing import REAL, Handle, Timers, Timing
from tfjob.k8s import time

_log: Final = logging.getLogger(__name__)

Document = dict[str, Any]


class Leases(Protocol):
    """What leader election needs of an API server."""

    async def get(self, path: str, *, decode: type[Document]) -> Document: ...

    async def create(self, path: str, body: object, *, decode: type[Document]) -> Document: ...

    async def replace(self, path: str, body: object, *, decode: type[Document]) -> Document: ...


class LeaseConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Whose lease it is, and the times of the election in seconds."""

    name: str
    namespace: str
    identity: str
    duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry_period < self.renew_deadline < self.duration:
            raise ValueError(
                "lease: retry period < renew deadline < duration is needed, got "
                f"{self.retry_period}, {self.renew_deadline} and {self.duration}"
            )


class LeaseRecord(msgspec.Struct, frozen=True, rename="camel"):
    """What a Lease says of its holder."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


def _now() -> datetime:
    return datetime.now(UTC)


class LeaderElector:
    """One candidate. `became_leader` is set while it leads, `lost` when it no longer does."""

    def __init__(
        self,
        api: Leases,
        terms: LeaseConfig,
        *,
        timing: Timing = REAL,
        timers: Timers | None = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._api = api
        self._terms = terms
        self._timing = timing
        self._timers = timers
        self._now = now
        self._held_until = float("-inf")
        self._deadline: Handle | None = None
        # Our own last write, or None when the lease must be read first.
        self._ours: Document | None = None
        self._seen: object = None
        self._seen_at = float("-inf")
        self._told = ""
        self.became_leader = asyncio.Event()
        self.lost = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        """Asked before each write: it is right even if this process was stopped for a while."""
        return self._timing.clock() < self._held_until

    async def run(self) -> None:
        """Stand for election for ever; a lost lease is stood for again."""
        try:
            while True:
                await self._campaign()
                await self._timing.sleep(self._until_next())
        finally:
            self._step_down()

    async def release(self) -> None:
        """Give the lease back, so that the next holder need not wait.

        To be called when `run` has ended and nothing is being written any more.
        """
        held, self._ours = self._ours, None
        self._step_down()
        if held is None:
            return
        free = LeaseRecord(
            holder_identity="",
            lease_duration_seconds=1,
            acquire_time=time.render_micro(self._now()),
            renew_time=time.render_micro(self._now()),
            lease_transitions=_record(held).lease_transitions,
        )
        try:
            await self._store(held, free)
        except (ApiError, TimeoutError) as fault:
            self._tell(fault)

    async def _campaign(self) -> None:
        asked_at = self._timing.clock()
        try:
            is_held = await self._try()
        except (ApiError, TimeoutError) as fault:
            self._tell(fault)
            return
        self._told = ""
        if is_held:
            self._lead_from(asked_at)
        else:
            self._step_down()

    async def _try(self) -> bool:
        """Write our name into the lease if we may; say whether it is there."""
        if self._ours is not None:
            try:
                return await self._take(self._ours)
            except (Conflict, NotFound):
                self._ours = None
        try:
            found = await self._limited(self._api.get(self._path, decode=Document))
        except NotFound:
            return await self._create()
        self._observe(_record(found))
        if not self._is_free(_record(found)):
            return False
        try:
            return await self._take(found)
        except Conflict:
            return False

    async def _create(self) -> bool:
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._terms.name, "namespace": self._terms.namespace},
            "spec": _spec(self._next_record(LeaseRecord())),
        }
        path = LEASES.collection(self._terms.namespace)
        try:
            self._ours = await self._limited(self._api.create(path, body, decode=Document))
        except AlreadyExists:
            return False
        return True

    async def _take(self, found: Document) -> bool:
        self._ours = await self._store(found, self._next_record(_record(found)))
        return True

    async def _store(self, found: Document, record: LeaseRecord) -> Document:
        """Whatever else the Lease holds stays; its resourceVersion is the precondition."""
        body = {**found, "spec": {**(found.get("spec") or {}), **_spec(record)}}
        return await self._limited(self._api.replace(self._path, body, decode=Document))

    async def _limited(self, request: Awaitable[Document]) -> Document:
        """No request may use up the time in which another try could still renew."""
        async with asyncio.timeout(self._terms.renew_deadline / 2):
            return await request

    def _next_record(self, old: LeaseRecord) -> LeaseRecord:
        now = time.render_micro(self._now())
        is_ours = old.holder_identity == self._terms.identity
        transitions = old.lease_transitions or 0
        is_first = old.holder_identity is None
        return LeaseRecord(
            holder_identity=self._terms.identity,
            lease_duration_seconds=self._terms.duration,
            acquire_time=old.acquire_time if is_ours else now,
            renew_time=now,
            lease_transitions=transitions if is_ours or is_first else transitions + 1,
        )

    def _observe(self, record: LeaseRecord) -> None:
        """A record is as old as it has looked the same to us, whatever time it names."""
        looks = (record.holder_identity, record.renew_time, record.lease_transitions)
        if looks != self._seen:
            self._seen = looks
            self._seen_at = self._timing.clock()

    def _is_free(self, record: LeaseRecord) -> bool:
        if not record.holder_identity or record.holder_identity == self._terms.identity:
            return True
        duration = record.lease_duration_seconds or self._terms.duration
        return self._timing.clock() >= self._seen_at + duration

    def _lead_from(self, asked_at: float) -> None:
        left = asked_at + self._terms.renew_deadline - self._timing.clock()
        if left <= 0:
            self._step_down()
            return
        self._held_until = asked_at + self._terms.renew_deadline
        if self._deadline is not None:
            self._deadline.cancel()
        timers = self._timers or asyncio.get_running_loop()
        self._deadline = timers.call_at(timers.time() + left, self._step_down)
        if not self.became_leader.is_set():
            self.lost.clear()
            self.became_leader.set()
            _log.info("became leader", extra={"lease": self._path})

    def _step_down(self) -> None:
        self._held_until = float("-inf")
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self.became_leader.is_set():
            self.became_leader.clear()
            self.lost.set()
            _log.warning("no longer leader", extra={"lease": self._path})

    def _until_next(self) -> float:
        """Candidates spread out; the holder is punctual."""
        period = self._terms.retry_period
        return period if self.is_leader else lengthened(period, self._timing.chance)

    @property
    def _path(self) -> str:
        return LEASES.item(self._terms.name, self._terms.namespace)

    def _tell(self, fault: Exception) -> None:
        """Log a kind of trouble once, until the lease can be reached again."""
        kind = type(fault).__name__
        if kind != self._told:
            self._told = kind
            _log.warning(
                "lease not reachable", extra={"lease": self._path, "fault": str(fault) or kind}
            )


def _record(document: Document) -> LeaseRecord:
    """What the Lease says; a Lease that somebody has spoilt is a free one."""
    try:
        return msgspec.convert(document.get("spec") or {}, LeaseRecord)
    except msgspec.ValidationError:
        return LeaseRecord()


def _spec(record: LeaseRecord) -> Document:
    spec: Document = msgspec.to_builtins(record)
    return spec
