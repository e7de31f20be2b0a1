"""Leader election with a Lease: at most one process writes at any time.

A candidate may take over once it has observed the same record for the whole lease duration on its
own clock, so clocks need not agree. The leader stops at the shorter renew deadline, counted from
before its last renewal was sent. So it has stopped before another can start, even if the API
server is unreachable. The operator cancels its reconciles when leadership is lost.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec

from tfjob.client.errors import AlreadyExists, ApiError, Conflict, NotFound
from tfjob.client.flowcontrol import with_jitter
from tfjob.client.resource import LEASES
from tfjob.client.timing import REAL, Handle, Timers, Timing
from tfjob.k8s import time

_log: Final = logging.getLogger(__name__)

Document = dict[str, Any]


class Leases(Protocol):
    """The API calls that leader election uses."""

    async def get(self, path: str, *, decode: type[Document]) -> Document: ...

    async def create(self, path: str, body: object, *, decode: type[Document]) -> Document: ...

    async def replace(self, path: str, body: object, *, decode: type[Document]) -> Document: ...


class LeaseConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Name and identity of the lease, and the times of the election in seconds."""

    name: str
    namespace: str
    identity: str
    duration: int = 15
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry_period < self.renew_deadline < self.duration:
            raise ValueError(
                "lease: retry_period < renew_deadline < duration is required, got "
                f"{self.retry_period}, {self.renew_deadline} and {self.duration}"
            )


class LeaseRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The spec of a Lease."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


def _now() -> datetime:
    return datetime.now(UTC)


class LeaderElector:
    """One candidate. `became_leader` is set while it leads, `lost` after it has lost the lease."""

    def __init__(
        self,
        api: Leases,
        config: LeaseConfig,
        *,
        timing: Timing = REAL,
        timers: Timers | None = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self._api = api
        self._config = config
        self._timing = timing
        self._timers = timers
        self._now = now
        self._leader_until = float("-inf")
        self._deadline: Handle | None = None
        # The Lease as last written by this process; None if it must be read first.
        self._own_lease: Document | None = None
        self._observed_record: object = None
        self._observed_at = float("-inf")
        self._logged_fault = ""
        self.became_leader = asyncio.Event()
        self.lost = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        """Correct even if the process was suspended; checked before each write."""
        return self._timing.clock() < self._leader_until

    async def run(self) -> None:
        """Acquire and renew the lease forever."""
        try:
            while True:
                await self._renew_or_step_down()
                await self._timing.sleep(self._retry_delay())
        finally:
            self._step_down()

    async def release(self) -> None:
        """Release the lease, so that the next leader need not wait.

        Call it after `run` has ended and all writes are done.
        """
        held, self._own_lease = self._own_lease, None
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
            self._log_once(fault)

    async def _renew_or_step_down(self) -> None:
        asked_at = self._timing.clock()
        try:
            is_held = await self._try_acquire_or_renew()
        except (ApiError, TimeoutError) as fault:
            self._log_once(fault)
            return
        self._logged_fault = ""
        if is_held:
            self._set_leader(asked_at)
        else:
            self._step_down()

    async def _try_acquire_or_renew(self) -> bool:
        """Acquire or renew the lease if possible; whether this process holds it."""
        if self._own_lease is not None:
            try:
                return await self._take(self._own_lease)
            except (Conflict, NotFound):
                self._own_lease = None
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
            "metadata": {"name": self._config.name, "namespace": self._config.namespace},
            "spec": _spec(self._next_record(LeaseRecord())),
        }
        path = LEASES.collection(self._config.namespace)
        try:
            self._own_lease = await self._limited(self._api.create(path, body, decode=Document))
        except AlreadyExists:
            return False
        return True

    async def _take(self, found: Document) -> bool:
        self._own_lease = await self._store(found, self._next_record(_record(found)))
        return True

    async def _store(self, found: Document, record: LeaseRecord) -> Document:
        """Update the record, with the resourceVersion as precondition; other fields stay."""
        body = {**found, "spec": {**(found.get("spec") or {}), **_spec(record)}}
        return await self._limited(self._api.replace(self._path, body, decode=Document))

    async def _limited(self, request: Awaitable[Document]) -> Document:
        """Limit a request to half the renew deadline, so that a second attempt is possible."""
        async with asyncio.timeout(self._config.renew_deadline / 2):
            return await request

    def _next_record(self, old: LeaseRecord) -> LeaseRecord:
        now = time.render_micro(self._now())
        is_ours = old.holder_identity == self._config.identity
        transitions = old.lease_transitions or 0
        is_first = old.holder_identity is None
        return LeaseRecord(
            holder_identity=self._config.identity,
            lease_duration_seconds=self._config.duration,
            acquire_time=old.acquire_time if is_ours else now,
            renew_time=now,
            lease_transitions=transitions if is_ours or is_first else transitions + 1,
        )

    def _observe(self, record: LeaseRecord) -> None:
        """Note when the record last changed, on the local clock."""
        observed = (record.holder_identity, record.renew_time, record.lease_transitions)
        if observed != self._observed_record:
            self._observed_record = observed
            self._observed_at = self._timing.clock()

    def _is_free(self, record: LeaseRecord) -> bool:
        if not record.holder_identity or record.holder_identity == self._config.identity:
            return True
        duration = record.lease_duration_seconds or self._config.duration
        return self._timing.clock() >= self._observed_at + duration

    def _set_leader(self, asked_at: float) -> None:
        left = asked_at + self._config.renew_deadline - self._timing.clock()
        if left <= 0:
            self._step_down()
            return
        self._leader_until = asked_at + self._config.renew_deadline
        if self._deadline is not None:
            self._deadline.cancel()
        timers = self._timers or asyncio.get_running_loop()
        self._deadline = timers.call_at(timers.time() + left, self._step_down)
        if not self.became_leader.is_set():
            self.lost.clear()
            self.became_leader.set()
            _log.info("became leader", extra={"lease": self._path})

    def _step_down(self) -> None:
        self._leader_until = float("-inf")
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if self.became_leader.is_set():
            self.became_leader.clear()
            self.lost.set()
            _log.warning("lost leadership, writes stopped", extra={"lease": self._path})

    def _retry_delay(self) -> float:
        """Seconds until the next attempt, with jitter unless this process leads."""
        period = self._config.retry_period
        return period if self.is_leader else with_jitter(period, self._timing.chance)

    @property
    def _path(self) -> str:
        return LEASES.item(self._config.name, self._config.namespace)

    def _log_once(self, fault: Exception) -> None:
        """Log each type of error once, until a request succeeds."""
        kind = type(fault).__name__
        if kind != self._logged_fault:
            self._logged_fault = kind
            _log.warning(
                "lease request failed", extra={"lease": self._path, "fault": str(fault) or kind}
            )


def _record(document: Document) -> LeaseRecord:
    """The record of a Lease. An invalid one counts as free."""
    try:
        return msgspec.convert(document.get("spec") or {}, LeaseRecord)
    except msgspec.ValidationError:
        return LeaseRecord()


def _spec(record: LeaseRecord) -> Document:
    spec: Document = msgspec.to_builtins(record)
    return spec
