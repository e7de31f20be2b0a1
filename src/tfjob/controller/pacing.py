"""The only place that defers a status or an event, or batches and skips reconciles.

Guarantees: a job's first status is never deferred, and is written before queued creates. A status
is deferred only if nothing but Running or an active count changed, or a diagnosis is over, for at
most `status_delay`. The end or deletion of a child is handled at once. An event waits at most
`event_delay`. The state kept here may be dropped at any time without changing a result. With pacing
off, nothing is deferred.
"""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final, NamedTuple

import msgspec

from tfjob.client.events import Backlog
from tfjob.client.flowcontrol import AdaptiveDelay
from tfjob.client.timing import Timing
from tfjob.client.watch_codec import HasMetadata, Key
from tfjob.client.workqueue import Priority
from tfjob.controller import predicates
from tfjob.controller.job_object import JobObject
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.core.status import ConditionType, JobStatus, ReplicaStatus
from tfjob.k8s import time
from tfjob.k8s.pod import Pod

BATCH_WINDOW: Final = 0.1
"""Seconds that a routine child change waits for others, so that one reconcile handles them all."""
BATCH_WINDOW_STARTING: Final = 1.5
"""The same under load, for a pod that starts while other pods of its job are pending or being
created. With the delay of the status, Running is shown within 4.5 seconds."""
BATCH_WINDOW_CREATED: Final = 120.0
"""The same under load, for the creation of a child of a job in progress. Our own creates change
no decision; the reconcile is a safeguard in case another client created the child."""
IDLE_STATUS_DELAY: Final = 0.2
"""Seconds that a routine status waits for further changes when there is no load."""
BUSY_EVENT_BACKLOG: Final = 200
"""With this many events overdue, the API server counts as overloaded."""
MAX_EVENT_YIELD: Final = 1.0
"""Seconds that one event waits for queued creates."""
RETRIES_PER_SECOND: Final = 10
"""PodGroups that are touched to wake their scheduler, over all jobs."""
ABSENT_AFTER: Final = 1.0
"""Seconds after which a job that has not come for its turn no longer counts as waiting."""

_ROUTINE: Final = frozenset({ConditionType.CREATED, ConditionType.RUNNING})
_NO_COUNTS: Final = ReplicaStatus()


class PacingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds, in seconds."""

    is_on: bool = True
    status_delay: float = 3.0
    """The longest that a routine status is deferred under load."""
    event_delay: float = 120.0
    """The longest that an event is deferred in favour of other requests."""


class LoadSignals(msgspec.Struct, frozen=True, kw_only=True):
    """The signals that show whether the operator or the API server is under load."""

    queued_jobs: Callable[[], int] = lambda: 0
    """Jobs that wait for a worker."""
    has_queued_creates: Callable[[], bool] = lambda: False
    pending_events: Callable[[], int] = lambda: 0
    """Events that are due to be sent."""
    is_in_progress: Callable[[Key], bool] = lambda _key: False
    """Whether a job is being reconciled or has unmet expectations."""
    is_reconciling: Callable[[Key], bool] = lambda _key: False
    """Whether a job is being reconciled: its children may still be created."""

    def is_busy(self) -> bool:
        if self.queued_jobs() or self.has_queued_creates():
            return True
        return self.pending_events() >= BUSY_EVENT_BACKLOG


class Change(msgspec.Struct, frozen=True, gc=False):
    """A change of a job or of one of its children.

    `siblings` are the job's pods, the one that has not changed for longest first.
    """

    key: Key
    old: HasMetadata | None
    new: HasMetadata | None
    siblings: Callable[[], Iterable[Pod]] = tuple


class Schedule(NamedTuple):
    """The delay in seconds after which a job is reconciled, and its priority."""

    delay: float = 0.0
    priority: Priority = Priority.NORMAL


class SettledState(msgspec.Struct, frozen=True):
    """A version of a job that needs no reconcile while its children's fingerprint is the same."""

    version: str
    fingerprint: int
    since: datetime
    until: datetime | None
    """When a reconcile is due even without a change."""

    def covers(self, moment: datetime) -> bool:
        """Also false if the clock was set back."""
        return self.since <= moment and (self.until is None or moment < self.until)


class _Turns:
    """Turns at a fixed rate, in the order in which they are asked for.

    A job that asks too early learns when to ask again. A turn is taken only when it is used: a job
    that leaves the line, or does not ask again, delays nobody.
    """

    def __init__(self, per_second: float) -> None:
        self._pause = 1 / per_second
        self._next = 0.0
        """When the next turn may be used."""
        self._line: dict[Key, float] = {}
        """The waiting jobs, in order, and when each of them is to ask again."""

    def seconds_until(self, key: Key, *, now: float) -> float:
        """Seconds until the turn; 0 if it is now, which uses it up."""
        turn = self._next + self._in_front_of(key, now=now) * self._pause
        if key not in self._line:
            # Turns that nobody used are lost.
            turn = max(turn, now)
        if turn > now:
            self._line[key] = turn
            return turn - now
        self.leave(key)
        # A turn is used a moment after it has come. The next ones keep their times, except that
        # turns that have passed do not add up.
        self._next = max(turn + self._pause, now)
        return 0.0

    def _in_front_of(self, key: Key, *, now: float) -> int:
        """How many wait in front, without those that did not ask again in time."""
        ahead = takewhile(lambda each: each[0] != key, self._line.items())
        return sum(turn > now - ABSENT_AFTER for _, turn in ahead)

    def leave(self, key: Key) -> None:
        self._line.pop(key, None)

    def clear(self) -> None:
        self._line.clear()
        self._next = 0.0


class Pacer:
    """Schedules the reconciles and defers the statuses of one controller.

    With `shows_children` the status lists each child, so every change of a child matters.
    """

    def __init__(
        self,
        config: PacingConfig | None = None,
        *,
        load: LoadSignals | None = None,
        clock: Callable[[], float],
        shows_children: bool = False,
    ) -> None:
        self._config = config or PacingConfig()
        self._load = load or LoadSignals()
        self._clock = clock
        self._shows_children = shows_children
        self._deferred: dict[Key, float] = {}
        self._settled: dict[Key, SettledState] = {}
        self._retries = _Turns(RETRIES_PER_SECOND)

    def schedule_for(self, change: Change) -> Schedule | None:
        """When to reconcile the job after a change; None if no reconcile is needed."""
        if isinstance(change.old or change.new, JobObject):
            return Schedule(priority=Priority.HIGH if _is_new_job(change) else Priority.NORMAL)
        is_routine = predicates.is_routine(change.new)
        starts = predicates.started_running(change.old, change.new)
        priority = Priority.NORMAL if is_routine and not starts else Priority.HIGH
        if not is_routine or not self._config.is_on:
            return Schedule(priority=priority)
        if not self._shows_children and predicates.was_only_scheduled(change.old, change.new):
            return None
        return Schedule(self._batch_window(change, starts=starts), priority)

    def _batch_window(self, change: Change, *, starts: bool) -> float:
        if self._shows_children or not self._load.is_busy():
            return BATCH_WINDOW
        if predicates.was_created(change.old, change.new):
            return BATCH_WINDOW_CREATED if self._load.is_in_progress(change.key) else BATCH_WINDOW
        waits = starts and (self._load.is_reconciling(change.key) or _has_pending(change))
        return min(BATCH_WINDOW_STARTING, self._config.status_delay) if waits else BATCH_WINDOW

    def is_first_status(self, stored: JobObject, plan: Plan) -> bool:
        """Whether to write the status before creating children, in the next reconcile: a new job
        gets its first condition without waiting for the queued creates of other jobs."""
        return plan.status is not None and bool(plan.creates) and not stored.has_status

    def defer_status(self, stored: JobObject, job: Job | InvalidJob, plan: Plan) -> float | None:
        """Seconds until the deferred status is reconsidered; None if it is written now.

        The delay counts from the first deferral, so that steady changes cannot prolong it.
        """
        if not self._config.is_on or isinstance(job, InvalidJob) or not _is_deferrable(job, plan):
            return None
        now = self._clock()
        since = self._deferred.get(_key(stored), now)
        longest = self._config.status_delay
        left = since + (longest if self._load.is_busy() else min(IDLE_STATUS_DELAY, longest)) - now
        if left <= 0:
            return None
        self._deferred[_key(stored)] = since
        return left

    def status_written(self, stored: JobObject) -> None:
        """The stored status is up to date: nothing is deferred any more."""
        self._deferred.pop(_key(stored), None)

    def with_due_retries(self, stored: JobObject, plan: Plan, *, now: datetime) -> Plan:
        """The plan without the touch of a PodGroup whose turn has not come yet."""
        if not self._config.is_on:
            return plan
        if not any(each.is_retry for each in plan.updates):
            self._retries.leave(_key(stored))
            return plan
        delay = self._retries.seconds_until(_key(stored), now=self._clock())
        if not delay:
            return plan
        turn = time.add(now, timedelta(seconds=delay))
        return msgspec.structs.replace(
            plan,
            updates=[each for each in plan.updates if not each.is_retry],
            requeue_at=turn if plan.requeue_at is None else min(plan.requeue_at, turn),
        )

    def settled_state(
        self, stored: JobObject, *, fingerprint: Callable[[], int], now: datetime
    ) -> SettledState | None:
        """The job's settled state, if nothing has changed since: no reconcile is needed."""
        state = self._settled.get(_key(stored))
        if state is None or state.version != stored.metadata.resource_version:
            return None
        if _key(stored) in self._deferred or not state.covers(now):
            return None
        return state if state.fingerprint == fingerprint() else None

    def mark_settled(self, stored: JobObject, state: SettledState) -> None:
        """Skip reconciles of the job until something changes."""
        if self._config.is_on:
            self._settled[_key(stored)] = state

    def clear_settled(self) -> None:
        """Skip no reconcile until jobs are marked as settled again."""
        self._settled.clear()

    def forget_job(self, stored: JobObject) -> None:
        self._deferred.pop(_key(stored), None)
        self._settled.pop(_key(stored), None)
        self._retries.leave(_key(stored))

    def forget(self) -> None:
        """Drop all state: another process may have written, or the settings have changed."""
        self._deferred.clear()
        self._settled.clear()
        self._retries.clear()

    @property
    def deferred_count(self) -> int:
        """How many statuses are deferred."""
        return len(self._deferred)

    @property
    def oldest_deferred_seconds(self) -> float:
        """For how long the oldest deferred status has waited."""
        return self._clock() - min(self._deferred.values()) if self._deferred else 0.0


class EventPacer:
    """Defers events in favour of more urgent requests. Shared by all controllers.

    `wait_until_idle` returns when no create is queued, or after the given number of seconds.
    """

    def __init__(
        self,
        config: PacingConfig | None = None,
        *,
        wait_until_idle: Callable[[float], Awaitable[None]],
        timing: Timing,
    ) -> None:
        self._config = config or PacingConfig()
        self._until_calm = wait_until_idle
        self._timing = timing
        self._delay = AdaptiveDelay()

    async def wait_to_send_event(self, backlog: Backlog) -> None:
        """Wait until the next event may be sent."""
        if not self._config.is_on or backlog.is_half_full:
            return
        if backlog.age > self._config.event_delay:
            return
        delay = self._delay.after(backlog.took) if backlog.took else 0.0
        if delay:
            await self._timing.sleep(delay)
        await self._until_calm(MAX_EVENT_YIELD)


def _is_deferrable(job: Job, plan: Plan) -> bool:
    """Whether nothing changed except that the job, or more of its replicas, are running.

    The first condition is not deferred, nor a start time that a deadline counts from, nor the
    status in which all replicas run: users wait for that one.
    """
    before, after = job.status, plan.status
    if after is None or not before.conditions or plan.writes_status_first:
        return False
    if plan.events or plan.replaced or job.policy.deadline is not None:
        return False
    if _is_fully_running(job, after) and not _is_fully_running(job, before):
        return False
    return _without_routine(before) == _without_routine(after)


def _is_fully_running(job: Job, status: JobStatus) -> bool:
    """Whether the job is Running and all its replicas are active."""
    active = sum(each.active for each in status.replicas.values())
    return status.is_true(ConditionType.RUNNING) and active == job.total


def _without_routine(status: JobStatus) -> JobStatus:
    """The status without what may be stored later."""
    conditions = tuple(each for each in status.conditions if each.type not in _ROUTINE)
    replicas = {
        kind: counts
        for kind, each in status.replicas.items()
        if (counts := msgspec.structs.replace(each, active=0, selector="")) != _NO_COUNTS
    }
    return msgspec.structs.replace(status, conditions=conditions, replicas=replicas, diagnosis=None)


def _has_pending(change: Change) -> bool:
    """Whether a pod of the job is pending. Of a large job one of the first is, until all run."""
    return any(map(predicates.is_pending, change.siblings()))


def _is_new_job(change: Change) -> bool:
    return change.old is None and isinstance(change.new, JobObject) and not change.new.has_status


def _key(stored: JobObject) -> Key:
    return stored.metadata.namespace, stored.metadata.name
