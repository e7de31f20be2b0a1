"""restartPolicy: what becomes of a replica whose pod has failed or is being taken away.

Law: what the cluster did to a pod (eviction, drain, a deleted pod) never counts as the job's own
failure, whatever the exit code; a pod is counted once, by its UID, however often it is seen.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from enum import Enum, auto

from tfjob.core.job import TRAINING_CONTAINER, RestartPolicy, Rules
from tfjob.core.observe import Slot
from tfjob.core.status import Cause, RecentRestart, ReplicaStatus
from tfjob.core.time_math import shifted
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod, Running

STEADY = timedelta(minutes=10)
"""A pod that ran this long ends a streak of restarts."""
FIRST_DELAY = timedelta(seconds=10)


class ReplicaAction(Enum):
    KEEP = auto()
    RESTART = auto()
    REPLACE = auto()
    RESTARTED = auto()
    HELD = auto()
    AWAIT = auto()
    IGNORE = auto()
    TOLERATE = auto()
    FAIL = auto()
    FAIL_BY_CODE = auto()


RESTART_ACTIONS = frozenset(
    {
        ReplicaAction.RESTART,
        ReplicaAction.REPLACE,
        ReplicaAction.RESTARTED,
        ReplicaAction.HELD,
        ReplicaAction.AWAIT,
    }
)
"""Fates that show the job as Restarting while the old pod is still there."""


def action_for(slot: Slot, *, rules: Rules, stored: ReplicaStatus) -> ReplicaAction:
    pod = slot.pod
    if pod is None or slot.is_leaving:
        return ReplicaAction.KEEP if pod is None else ReplicaAction.IGNORE
    if slot.job is not None:
        return (
            _failing(slot, rules, ReplicaAction.FAIL)
            if slot.phase is Phase.FAILED
            else ReplicaAction.KEEP
        )
    if slot.phase is Phase.SUCCEEDED:
        return _fate_of_success(slot, pod, rules=rules, stored=stored)
    if slot.phase is Phase.FAILED:
        return _fate_of_failure(slot, pod, rules=rules, stored=stored)
    if not slot.is_terminating:
        return ReplicaAction.KEEP
    return _fate_of_taken(slot, rules=rules)


def within_budget(
    actions: Sequence[tuple[Slot, ReplicaAction]], *, left: int | None, rules: Rules
) -> list[tuple[Slot, ReplicaAction]]:
    """Fates when only `left` more restarts may be counted; the first in order have them."""
    if left is None:
        return list(actions)
    judged: list[tuple[Slot, ReplicaAction]] = []
    for slot, fate in actions:
        if fate is not ReplicaAction.RESTART:
            judged.append((slot, fate))
        elif left > 0:
            left -= 1
            judged.append((slot, fate))
        else:
            judged.append((slot, _without_budget(slot, rules)))
    return judged


def is_recorded(pod: Pod, stored: ReplicaStatus, index: int) -> bool:
    """That this pod is replaced is already written down."""
    last = stored.recent_of(index)
    return last is not None and last.is_restart and last.uid == pod.metadata.uid


def recorded(
    slots: Mapping[int, Slot], *, stored: ReplicaStatus, now: datetime
) -> tuple[RecentRestart, ...]:
    """The record after the pods of these slots, given by index, are replaced."""
    entries = [
        _entry(slot, slot.pod, stored=stored, now=now)
        for slot in slots.values()
        if slot.pod is not None
    ]
    return with_entries(stored, entries)


def with_entries(
    stored: ReplicaStatus, entries: Sequence[RecentRestart]
) -> tuple[RecentRestart, ...]:
    """The record with one entry per index in place of what it says of these indexes."""
    indexes = {each.index for each in entries}
    kept = (
        each for each in stored.recent if each.cause is Cause.REMOVED or each.index not in indexes
    )
    return (*kept, *entries)


def in_place_entry(slot: Slot, pod: Pod, *, stored: ReplicaStatus, now: datetime) -> RecentRestart:
    """That a pod which goes on has restarted containers; earlier failures stay on record."""
    last = stored.recent_of(slot.index)
    return RecentRestart(
        index=slot.index,
        uid=pod.metadata.uid,
        streak=0 if last is None else last.streak,
        at=time.whole(now) if last is None else last.at,
        cause=Cause.IN_PLACE,
        in_place=pod.restart_count,
    )


def still_told(
    stored: ReplicaStatus, slots: Sequence[Slot], *, there: AbstractSet[str], now: datetime
) -> tuple[RecentRestart, ...]:
    """The record without restarts that nothing follows from any more.

    Such a pod is gone (`there` are the UIDs of those that are not), and its index runs steadily
    again or will never be made again. `slots` are all of the type, in the order of their index.
    """

    def is_over(each: RecentRestart) -> bool:
        if each.cause is Cause.REMOVED or each.uid in there:
            return False
        if each.index >= len(slots) or each.index in stored.completed:
            return True
        slot = slots[each.index]
        return slot.is_active and slot.pod is not None and _ran_steadily(slot.pod, now)

    return tuple(each for each in stored.recent if not is_over(each))


def due(stored: ReplicaStatus, index: int, *, now: datetime, longest: timedelta) -> datetime | None:
    """When a replica may be made again, or None if that is now. Only failures are held back."""
    last = stored.recent_of(index)
    if last is None or last.cause is not Cause.FAILED or last.streak < 2 or last.at > now:
        return None
    doublings = min(last.streak - 2, 10)
    moment = shifted(last.at, min(FIRST_DELAY * 2**doublings, longest))
    return moment if moment > now else None


def _without_budget(slot: Slot, rules: Rules) -> ReplicaAction:
    if rules.budget_ends_job:
        return ReplicaAction.HELD
    return ReplicaAction.FAIL if _decides(slot, rules) else ReplicaAction.TOLERATE


def _fate_of_success(slot: Slot, pod: Pod, *, rules: Rules, stored: ReplicaStatus) -> ReplicaAction:
    if not slot.replica.restarts_on_success or _decides(slot, rules):
        return ReplicaAction.KEEP
    return (
        ReplicaAction.RESTARTED if is_recorded(pod, stored, slot.index) else ReplicaAction.RESTART
    )


def _fate_of_failure(slot: Slot, pod: Pod, *, rules: Rules, stored: ReplicaStatus) -> ReplicaAction:
    is_known = is_recorded(pod, stored, slot.index)
    survives = slot.is_disrupted and rules.never_survives_disruption
    if slot.replica.restart is RestartPolicy.NEVER and not survives:
        fate = _failing(slot, rules, ReplicaAction.FAIL)
        # A deletion on record that did not fail the job took a pod that had not run.
        return ReplicaAction.IGNORE if is_known and fate is ReplicaAction.FAIL else fate
    if is_known:
        return ReplicaAction.RESTARTED
    if slot.is_disrupted:
        return ReplicaAction.REPLACE
    if slot.replica.restart is RestartPolicy.EXIT_CODE and not _is_retryable(pod, rules):
        return _failing(slot, rules, ReplicaAction.FAIL_BY_CODE)
    return ReplicaAction.RESTART


def _fate_of_taken(slot: Slot, *, rules: Rules) -> ReplicaAction:
    """Somebody deletes a pod that has not ended yet."""
    if slot.replica.restart is not RestartPolicy.NEVER:
        return ReplicaAction.AWAIT
    if slot.phase is not Phase.RUNNING:
        return ReplicaAction.IGNORE
    return (
        ReplicaAction.AWAIT
        if rules.never_survives_disruption
        else _failing(slot, rules, ReplicaAction.FAIL)
    )


def _failing(slot: Slot, rules: Rules, fate: ReplicaAction) -> ReplicaAction:
    spared = rules.only_decider_fails and not _decides(slot, rules)
    return ReplicaAction.TOLERATE if spared or slot.replica.tolerates_failure else fate


def _decides(slot: Slot, rules: Rules) -> bool:
    return rules.decider.includes(slot.replica.type, slot.index)


def _is_retryable(pod: Pod, rules: Rules) -> bool:
    """A failure with exit code 0 is an eviction that counts."""
    ended = pod.terminated(TRAINING_CONTAINER)
    if ended is None or ended.exit_code == 0:
        return rules.exit_codes.is_retryable(None)
    return rules.exit_codes.is_retryable(ended.exit_code, reason=ended.reason)


def _entry(slot: Slot, pod: Pod, *, stored: ReplicaStatus, now: datetime) -> RecentRestart:
    last = stored.recent_of(slot.index)
    streak = last.streak if last is not None and not _ran_steadily(pod, now) else 0
    return RecentRestart(
        index=slot.index,
        uid=pod.metadata.uid,
        streak=streak if slot.is_disrupted else streak + 1,
        at=time.whole(now),
        cause=Cause.DISRUPTED if slot.is_disrupted else Cause.FAILED,
    )


def _ran_steadily(pod: Pod, now: datetime) -> bool:
    ended = pod.terminated(TRAINING_CONTAINER)
    run = ended or _running(pod)
    started = time.parse(run.started_at if run and run.started_at else pod.status.start_time)
    finished = (time.parse(ended.finished_at) if ended else None) or now
    return started is not None and finished - started >= STEADY


def _running(pod: Pod) -> Running | None:
    """Its training container's run; a pod starts long before that if an image is slow to come."""
    for status in pod.status.container_statuses:
        if status.name == TRAINING_CONTAINER:
            return status.state.running
    return None
