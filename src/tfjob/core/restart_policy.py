"""restartPolicy: what to do about a replica whose pod has failed or is being deleted.

A disrupted pod (eviction, drain, deletion) is replaced whatever its exit code, and does not count
towards backoffLimit. There are two exceptions: restartPolicy Never, unless the semantics exempt it,
and evictions, if the semantics count them. A pod is counted once, by UID, however often it is
observed.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from enum import Enum, auto

from tfjob.core.job import TRAINING_CONTAINER, RestartPolicy, Semantics
from tfjob.core.observe import ReplicaInstance
from tfjob.core.status import PodRecord, RecordCause, ReplicaStatus
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod, Running

STABLE_AFTER = timedelta(minutes=10)
"""A pod that ran this long resets the restart backoff of its index."""
FIRST_DELAY = timedelta(seconds=10)


class ReplicaAction(Enum):
    """What to do about one replica."""

    KEEP = auto()
    """Nothing: it runs, or it has succeeded."""
    RESTART = auto()
    """Delete the failed pod and recreate it; this counts as a restart."""
    REPLACE = auto()
    """Delete the disrupted pod and recreate it; this does not count."""
    FOLLOW = auto()
    """Delete the pod that failed as a consequence and recreate it; this does not count."""
    RESTART_GROUP = auto()
    """Delete the running pod and recreate it with its group; this does not count."""
    RESTARTING = auto()
    """Finish a restart or replacement that the status already records."""
    HOLD = auto()
    """It needs a restart that the backoffLimit does not allow."""
    AWAIT_DELETION = auto()
    """Recreate the pod once its deletion by someone else is complete."""
    IGNORE = auto()
    """The state of the pod does not count."""
    TOLERATE = auto()
    """Nothing: it has failed, which does not fail the job."""
    FAIL_JOB = auto()
    """Its failure fails the job."""
    FAIL_JOB_ON_EXIT_CODE = auto()
    """Its exit code is permanent and fails the job."""


RESTART_ACTIONS = frozenset(
    {
        ReplicaAction.RESTART,
        ReplicaAction.REPLACE,
        ReplicaAction.FOLLOW,
        ReplicaAction.RESTART_GROUP,
        ReplicaAction.RESTARTING,
        ReplicaAction.HOLD,
        ReplicaAction.AWAIT_DELETION,
    }
)
"""Actions during which the job is Restarting as long as the old pod exists."""


def action_for(
    instance: ReplicaInstance, *, semantics: Semantics, stored: ReplicaStatus
) -> ReplicaAction:
    pod = instance.pod
    if pod is None or instance.is_obsolete:
        return ReplicaAction.KEEP if pod is None else ReplicaAction.IGNORE
    if instance.job is not None:
        return (
            _fail_or_tolerate(instance, semantics, ReplicaAction.FAIL_JOB)
            if instance.phase is Phase.FAILED
            else ReplicaAction.KEEP
        )
    if instance.phase is Phase.SUCCEEDED:
        return _action_after_success(instance, pod, semantics=semantics, stored=stored)
    if instance.phase is Phase.FAILED:
        return _action_after_failure(instance, pod, semantics=semantics, stored=stored)
    if instance.incident and is_recorded(pod, stored, instance.index):
        return ReplicaAction.RESTARTING
    return _action_before_end(instance, semantics=semantics)


def apply_backoff_limit(
    actions: Sequence[tuple[ReplicaInstance, ReplicaAction]],
    *,
    left: int | None,
    semantics: Semantics,
) -> list[tuple[ReplicaInstance, ReplicaAction]]:
    """Allow at most `left` counted restarts, for the first replicas that need one."""
    if left is None:
        return list(actions)
    judged: list[tuple[ReplicaInstance, ReplicaAction]] = []
    for instance, action in actions:
        if action is not ReplicaAction.RESTART:
            judged.append((instance, action))
        elif left > 0:
            left -= 1
            judged.append((instance, action))
        else:
            judged.append((instance, _action_at_backoff_limit(instance, semantics)))
    return judged


def is_recorded(pod: Pod, stored: ReplicaStatus, index: int) -> bool:
    """Whether the status already records that this pod is replaced."""
    last = stored.record_of(index)
    return last is not None and last.is_restart and last.uid == pod.metadata.uid


def records_after_replacement(
    instances: Mapping[int, ReplicaInstance], *, stored: ReplicaStatus, now: datetime
) -> tuple[PodRecord, ...]:
    """The records after the pods of these replicas, given by index, are replaced."""
    entries = [
        _record(instance, instance.pod, stored=stored, now=now)
        for instance in instances.values()
        if instance.pod is not None
    ]
    return with_records(stored, entries)


def with_records(stored: ReplicaStatus, entries: Sequence[PodRecord]) -> tuple[PodRecord, ...]:
    """The records with `entries` in place of the earlier ones of the same indexes."""
    indexes = {each.index for each in entries}
    kept = (
        each
        for each in stored.records
        if each.cause is RecordCause.REMOVED or each.index not in indexes
    )
    return (*kept, *entries)


def in_place_record(
    instance: ReplicaInstance, pod: Pod, *, stored: ReplicaStatus, now: datetime
) -> PodRecord:
    """The record of container restarts in a pod that continues; earlier failures are kept."""
    last = stored.record_of(instance.index)
    return PodRecord(
        index=instance.index,
        uid=pod.metadata.uid,
        streak=0 if last is None else last.streak,
        at=time.truncate(now) if last is None else last.at,
        cause=RecordCause.IN_PLACE,
        in_place=pod.restart_count,
        excused=instance.excused,
    )


def unexpired_records(
    stored: ReplicaStatus,
    instances: Sequence[ReplicaInstance],
    *,
    existing: AbstractSet[str],
    now: datetime,
) -> tuple[PodRecord, ...]:
    """The records that are still needed.

    A record expires when its pod no longer exists (`existing` are the UIDs of those that do) and
    its index runs stably again or is never recreated. `instances` are all of the type, by index.
    """

    def is_over(each: PodRecord) -> bool:
        if each.cause is RecordCause.REMOVED or each.uid in existing:
            return False
        if each.index >= len(instances) or each.index in stored.completed:
            return True
        instance = instances[each.index]
        return instance.is_active and instance.pod is not None and _ran_stably(instance.pod, now)

    return tuple(each for each in stored.records if not is_over(each))


def backoff_until(
    stored: ReplicaStatus, index: int, *, now: datetime, max_delay: timedelta
) -> datetime | None:
    """When a replica may be recreated; None if it may be now.

    Repeated restarts are delayed after failures; those of a group whatever their cause.
    """
    last = stored.record_of(index)
    if last is None or last.streak < 2 or last.at > now:
        return None
    if last.cause is not RecordCause.FAILED and not last.incident:
        return None
    doublings = min(last.streak - 2, 10)
    moment = time.add(last.at, min(FIRST_DELAY * 2**doublings, max_delay))
    return moment if moment > now else None


def streak_before(
    instance: ReplicaInstance, pod: Pod, *, stored: ReplicaStatus, now: datetime
) -> int:
    """The streak of an index before its pod ended; 0 if the pod ran stably."""
    last = stored.record_of(instance.index)
    return 0 if last is None or _ran_stably(pod, now) else last.streak


def _action_at_backoff_limit(instance: ReplicaInstance, semantics: Semantics) -> ReplicaAction:
    if semantics.backoff_limit_fails_job:
        return ReplicaAction.HOLD
    return ReplicaAction.FAIL_JOB if _is_decisive(instance, semantics) else ReplicaAction.TOLERATE


def _action_after_success(
    instance: ReplicaInstance, pod: Pod, *, semantics: Semantics, stored: ReplicaStatus
) -> ReplicaAction:
    if not instance.replica.restarts_on_success or _is_decisive(instance, semantics):
        return ReplicaAction.KEEP
    return (
        ReplicaAction.RESTARTING
        if is_recorded(pod, stored, instance.index)
        else ReplicaAction.RESTART
    )


def _action_after_failure(
    instance: ReplicaInstance, pod: Pod, *, semantics: Semantics, stored: ReplicaStatus
) -> ReplicaAction:
    is_known = is_recorded(pod, stored, instance.index)
    survives = instance.is_disrupted and semantics.never_policy_survives_disruption
    if instance.replica.restart is RestartPolicy.NEVER and not survives:
        action = _fail_or_tolerate(instance, semantics, ReplicaAction.FAIL_JOB)
        # The pod had not run yet when its deletion was recorded, so it cannot fail the job.
        return ReplicaAction.IGNORE if is_known and action is ReplicaAction.FAIL_JOB else action
    if is_known:
        return ReplicaAction.RESTARTING
    if instance.is_disrupted:
        return ReplicaAction.REPLACE
    if instance.is_consequence:
        return ReplicaAction.FOLLOW
    if instance.replica.restart is RestartPolicy.EXIT_CODE and not _is_retryable(pod, semantics):
        return _fail_or_tolerate(instance, semantics, ReplicaAction.FAIL_JOB_ON_EXIT_CODE)
    return ReplicaAction.RESTART


def _action_before_end(instance: ReplicaInstance, *, semantics: Semantics) -> ReplicaAction:
    """The action for a pod that has not ended. If it is terminating, someone else deleted it."""
    if not instance.is_terminating:
        return ReplicaAction.KEEP
    if instance.replica.restart is not RestartPolicy.NEVER:
        return ReplicaAction.AWAIT_DELETION
    if instance.phase is not Phase.RUNNING:
        return ReplicaAction.IGNORE
    return (
        ReplicaAction.AWAIT_DELETION
        if semantics.never_policy_survives_disruption
        else _fail_or_tolerate(instance, semantics, ReplicaAction.FAIL_JOB)
    )


def _fail_or_tolerate(
    instance: ReplicaInstance, semantics: Semantics, action: ReplicaAction
) -> ReplicaAction:
    spared = semantics.only_decisive_replica_fails_job and not _is_decisive(instance, semantics)
    return ReplicaAction.TOLERATE if spared or instance.replica.tolerates_failure else action


def _is_decisive(instance: ReplicaInstance, semantics: Semantics) -> bool:
    return semantics.success_criterion.includes(instance.replica.type, instance.index)


def _is_retryable(pod: Pod, semantics: Semantics) -> bool:
    """Whether the exit code is retryable. A failure with exit code 0 is a counted eviction."""
    ended = pod.terminated(TRAINING_CONTAINER)
    if ended is None or ended.exit_code == 0:
        return semantics.exit_codes.is_retryable(None)
    return semantics.exit_codes.is_retryable(ended.exit_code, reason=ended.reason)


def _record(
    instance: ReplicaInstance, pod: Pod, *, stored: ReplicaStatus, now: datetime
) -> PodRecord:
    cause = _record_cause(instance)
    streak = streak_before(instance, pod, stored=stored, now=now)
    streak = streak + 1 if cause is RecordCause.FAILED else streak
    return PodRecord(
        index=instance.index,
        uid=pod.metadata.uid,
        streak=max(streak, instance.group_streak),
        at=time.truncate(now),
        cause=cause,
        incident=instance.incident,
    )


def _record_cause(instance: ReplicaInstance) -> RecordCause:
    """A pod that has not ended cannot have failed: someone else deletes it."""
    if instance.is_superseded:
        return RecordCause.GROUP
    if instance.is_disrupted:
        return RecordCause.DISRUPTED
    if instance.is_consequence:
        return RecordCause.CONSEQUENCE
    has_ended = instance.phase in {Phase.SUCCEEDED, Phase.FAILED}
    return RecordCause.FAILED if has_ended else RecordCause.DISRUPTED


def _ran_stably(pod: Pod, now: datetime) -> bool:
    ended = pod.terminated(TRAINING_CONTAINER)
    run = ended or _running(pod)
    started = time.parse(run.started_at if run and run.started_at else pod.status.start_time)
    finished = (time.parse(ended.finished_at) if ended else None) or now
    return started is not None and finished - started >= STABLE_AFTER


def _running(pod: Pod) -> Running | None:
    """The current run of the training container, which may have started long after the pod."""
    status = pod.container_status(TRAINING_CONTAINER)
    return None if status is None else status.state.running
