"""The only place that decides to defer, batch, skip or hold back anything.

Promises. A job's first status is written before any child of any job that waits, and never
deferred. A status waits only if all that is new is Running or a count of active replicas, and at
most `status_delay` seconds. A change that ends or removes a child is acted on at once. An event is
held back at most `event_delay` seconds. Whatever is remembered here may be forgotten at any time:
the next reconcile finds it again in the objects, and no result changes. Off means: nothing waits.
"""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from tfjob.client.adaptive_delay import AdaptiveDelay
from tfjob.client.events import Backlog
from tfjob.client.timing import Timing
from tfjob.client.watch_codec import HasMetadata, Key
from tfjob.client.workqueue import Priority
from tfjob.controller import predicates
from tfjob.controller.job_object import JobObject
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.core.status import ConditionType, JobStatus, ReplicaStatus
from tfjob.k8s.pod import Pod

BATCH: Final = 0.1
"""Seconds that a routine change of a child waits for others, so that one reconcile serves all."""
BATCH_STARTING: Final = 0.5
"""The same on a busy server for a pod that runs while other pods of its job do not yet."""
BATCH_OWN: Final = 120.0
"""The same on a busy server for a child that was just created for a job that is worked on. It
changes no decision: the reconcile is made in case that somebody else had a hand in it."""
STATUS_IDLE: Final = 0.2
"""Seconds that a routine status waits for more of its kind when the server is not busy."""
MANY_EVENTS: Final = 200
"""So many events that are due mean that the server is busy."""
EVENT_YIELD: Final = 1.0
"""Seconds that one event gives way to children that wait to be created."""

_ROUTINE: Final = frozenset({ConditionType.CREATED, ConditionType.RUNNING})
_NO_COUNTS: Final = ReplicaStatus()


class PacingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds, in seconds."""

    is_on: bool = True
    status_delay: float = 2.0
    """The longest that a routine status waits on a busy server."""
    event_delay: float = 120.0
    """The longest that an event gives way to other requests."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What tells whether the operator has more to do than the server takes."""

    keys: Callable[[], int] = lambda: 0
    """Jobs that wait for a worker."""
    has_waiting_children: Callable[[], bool] = lambda: False
    events: Callable[[], int] = lambda: 0
    """Events that are due."""
    is_worked_on: Callable[[Key], bool] = lambda _key: False
    """Whether a job is worked on now, or own writes about it have not come back."""

    def is_busy(self) -> bool:
        return bool(self.keys()) or self.has_waiting_children() or self.events() >= MANY_EVENTS


class Change(msgspec.Struct, frozen=True, gc=False):
    """An object that concerns a job, before and after; `siblings` are the pods beside it."""

    key: Key
    old: HasMetadata | None
    new: HasMetadata | None
    siblings: Callable[[], Iterable[Pod]] = tuple


class Turn(NamedTuple):
    """When a job is reconciled: after so many seconds, and before whom."""

    delay: float = 0.0
    priority: Priority = Priority.NORMAL


class SettledState(msgspec.Struct, frozen=True):
    """There is nothing to do for one version of a job while its children look the same."""

    version: str
    fingerprint: int
    since: datetime
    until: datetime | None
    """When time alone makes a difference."""

    def covers(self, moment: datetime) -> bool:
        """A clock that was set back makes a difference, too."""
        return self.since <= moment and (self.until is None or moment < self.until)


class Pacer:
    """Paces the reconciles and the statuses of one controller.

    `shows_children`: the status repeats what each child does, so that every change is of interest.
    """

    def __init__(
        self,
        config: PacingConfig | None = None,
        *,
        load: Load | None = None,
        clock: Callable[[], float],
        shows_children: bool = False,
    ) -> None:
        self._config = config or PacingConfig()
        self._load = load or Load()
        self._clock = clock
        self._shows_children = shows_children
        self._deferred: dict[Key, float] = {}
        self._settled: dict[Key, SettledState] = {}

    def delay_for(self, change: Change) -> Turn | None:
        """When the job behind a change is reconciled; None where it need not be."""
        if isinstance(change.old or change.new, JobObject):
            return Turn(priority=Priority.HIGH if _is_new_job(change) else Priority.NORMAL)
        is_routine = predicates.is_routine(change.new)
        starts = predicates.starts_to_run(change.old, change.new)
        priority = Priority.NORMAL if is_routine and not starts else Priority.HIGH
        if not is_routine or not self._config.is_on:
            return Turn(priority=priority)
        if not self._shows_children and predicates.was_only_bound(change.old, change.new):
            return None
        return Turn(self._batching(change, starts=starts), priority)

    def _batching(self, change: Change, *, starts: bool) -> float:
        if self._shows_children or not self._load.is_busy():
            return BATCH
        if predicates.came_up(change.old, change.new):
            return BATCH_OWN if self._load.is_worked_on(change.key) else BATCH
        waits = starts and any(map(predicates.is_pending, change.siblings()))
        return min(BATCH_STARTING, self._config.status_delay) if waits else BATCH

    def goes_first(self, stored: JobObject, plan: Plan) -> bool:
        """Whether a status is written before any child is created, and children come later: a new
        job shows its first condition without waiting for the children of others."""
        return plan.status is not None and bool(plan.creates) and not stored.has_status

    def defer_status(self, stored: JobObject, job: Job | InvalidJob, plan: Plan) -> float | None:
        """Seconds after which a status is looked at again; None where it is written now.

        The time counts from the first status that waited, so that news without end ends a wait.
        """
        if not self._config.is_on or isinstance(job, InvalidJob) or not _may_wait(job, plan):
            return None
        now = self._clock()
        since = self._deferred.get(_key(stored), now)
        longest = self._config.status_delay
        left = since + (longest if self._load.is_busy() else min(STATUS_IDLE, longest)) - now
        if left <= 0:
            return None
        self._deferred[_key(stored)] = since
        return left

    def status_written(self, stored: JobObject) -> None:
        """The stored status says all there is to say."""
        self._deferred.pop(_key(stored), None)

    def settled(
        self, stored: JobObject, *, fingerprint: Callable[[], int], now: datetime
    ) -> SettledState | None:
        """That nothing has changed since there was nothing to do: no reconcile is needed."""
        found = self._settled.get(_key(stored))
        if found is None or found.version != stored.metadata.resource_version:
            return None
        if _key(stored) in self._deferred or not found.covers(now):
            return None
        return found if found.fingerprint == fingerprint() else None

    def settle(self, stored: JobObject, state: SettledState) -> None:
        """There is nothing to do until something changes."""
        if self._config.is_on:
            self._settled[_key(stored)] = state

    def recheck_all(self) -> None:
        """Every job is reconciled at its next turn, changed or not."""
        self._settled.clear()

    def forget_job(self, stored: JobObject) -> None:
        self._deferred.pop(_key(stored), None)
        self._settled.pop(_key(stored), None)

    def forget(self) -> None:
        """Another process may have written about any job, or other rules may hold."""
        self._deferred.clear()
        self._settled.clear()

    @property
    def deferred(self) -> int:
        """Statuses that wait now."""
        return len(self._deferred)

    @property
    def oldest(self) -> float:
        """For how many seconds the oldest of them has waited."""
        return self._clock() - min(self._deferred.values()) if self._deferred else 0.0


class EventPacer:
    """Lets events give way to requests that somebody waits for. One for all controllers.

    `until_calm` returns when no child waits to be created, or after so many seconds.
    """

    def __init__(
        self,
        config: PacingConfig | None = None,
        *,
        until_calm: Callable[[float], Awaitable[None]],
        timing: Timing,
    ) -> None:
        self._config = config or PacingConfig()
        self._until_calm = until_calm
        self._timing = timing
        self._delay = AdaptiveDelay()

    async def turn_to_send_event(self, backlog: Backlog) -> None:
        """Return when the next event may be sent."""
        if not self._config.is_on or backlog.is_half_full:
            return
        if backlog.age > self._config.event_delay:
            return
        rest = self._delay.after(backlog.took) if backlog.took else 0.0
        if rest:
            await self._timing.sleep(rest)
        await self._until_calm(EVENT_YIELD)


def _may_wait(job: Job, plan: Plan) -> bool:
    """All that is new is that the job, or some more of its replicas, run.

    A first condition never waits, nor does a start from which a deadline is counted, nor the
    moment at which all replicas run: that is what people wait for.
    """
    before, after = job.status, plan.status
    if after is None or not before.conditions or plan.writes_status_first:
        return False
    if plan.events or plan.restarts or job.policy.deadline is not None:
        return False
    if before.start_time != after.start_time or (_is_up(job, after) and not _is_up(job, before)):
        return False
    return _beyond_routine(before) == _beyond_routine(after)


def _is_up(job: Job, status: JobStatus) -> bool:
    """The job runs with all its replicas."""
    active = sum(each.active for each in status.replicas.values())
    return status.is_true(ConditionType.RUNNING) and active == job.total


def _beyond_routine(status: JobStatus) -> tuple[object, ...]:
    conditions = [each for each in status.conditions if each.type not in _ROUTINE]
    replicas = {
        kind: counts
        for kind, each in status.replicas.items()
        if (counts := msgspec.structs.replace(each, active=0, selector="")) != _NO_COUNTS
    }
    return conditions, replicas, status.completion_time, status.last_reconcile_time


def _is_new_job(change: Change) -> bool:
    return change.old is None and isinstance(change.new, JobObject) and not change.new.has_status


def _key(stored: JobObject) -> Key:
    return stored.metadata.namespace, stored.metadata.name
