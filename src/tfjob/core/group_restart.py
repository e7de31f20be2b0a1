"""recovery Group: the loss of a replica restarts all replicas that depend on it.

They are not left to notice the loss and end by themselves. Which pods are replaced, and because of
which incident, is stored by UID before the first of them is deleted. Their replacements are created
together, when the last old pod is gone, so that no new replica meets an old one.
"""

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final

from tfjob.core import queue_group
from tfjob.core.diagnosis import failures
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.consequences import SURVIVES, couples, is_worker_of_server
from tfjob.core.diagnosis.failures import EndedRun
from tfjob.core.job import Job, Recovery
from tfjob.core.observe import ObservedState, ReplicaInstance, replica_key
from tfjob.core.pod_state import has_ended
from tfjob.core.restart_policy import ReplicaAction, backoff_until, is_recorded, streak_before
from tfjob.core.status import JobStatus
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod

_LOST: Final = frozenset(
    {
        ReplicaAction.RESTART,
        ReplicaAction.REPLACE,
        ReplicaAction.FOLLOW,
        ReplicaAction.AWAIT_DELETION,
    }
)
_NEVER_RAN: Final = frozenset(
    {Cause.CONTAINER_NOT_STARTED, Cause.INIT_CONTAINER_FAILED, Cause.POD_REJECTED}
)
Actions = Sequence[tuple[ReplicaInstance, ReplicaAction]]


def with_uncounted(
    job: Job, actions: Actions, *, followed: AbstractSet[str], now: datetime
) -> Actions:
    """The actions, with restarts of replicas whose container has just ended in its pod.

    Otherwise the kubelet restarts that container, and counts it. If others of its group still run,
    the pod is replaced together with theirs, and the operator counts the restart. A container
    whose end is in `followed`, the keys of consequences, is not counted.
    """
    if job.semantics.recovery is not Recovery.GROUP:
        return actions
    ended = {
        each.name: each.replica.type
        for each, action in actions
        if _has_just_ended(job, each, action, followed=followed, now=now)
    }
    if not ended:
        return actions
    pairs = _group_types(job, set(ended.values()))
    if not _survivors(actions, pairs, lost=ended.keys()):
        return actions
    missed = {kind for kind, _ in pairs}
    return [
        (each, ReplicaAction.RESTART if ended.get(each.name) in missed else action)
        for each, action in actions
    ]


def with_groups(job: Job, actions: Actions, *, status: JobStatus, now: datetime) -> Actions:
    """The actions, with those that restart the group of a replica that was lost.

    Marks the replicas that belong to the incident.
    """
    if job.semantics.recovery is not Recovery.GROUP:
        return actions
    losses = {
        instance.name: (instance, key)
        for instance, action in actions
        if (key := _loss(job, instance, action, status=status, now=now))
    }
    pairs = _group_types(job, _lost_types(losses.values(), status=status))
    survivors = _survivors(actions, pairs, lost=losses.keys())
    if not survivors:
        return actions
    missed = {kind for kind, _ in pairs}
    in_group = missed | {kind for _, kind in pairs}
    members = [found for found in losses.values() if found[0].replica.type in in_group]
    # The incident is that of the loss which the others depend on.
    members.sort(key=lambda found: found[0].replica.type not in missed)
    first = members[0][1]
    for instance, key in members:
        ended = _restart_in_place(instance)
        own = key if ended is not None and ended.is_counted else first
        instance.incident = instance.incident or own
    for instance in survivors:
        instance.incident, instance.is_superseded = first, True
    group = [*survivors, *(lost for lost, _ in members)]
    streak = _streak(group, status=status, now=now)
    for instance in group:
        instance.group_streak = streak
    restarted = {each.name for each in group}
    return [
        (each, ReplicaAction.RESTART_GROUP)
        if each.name in restarted and action is ReplicaAction.KEEP
        else (each, action)
        for each, action in actions
    ]


def waiting(
    job: Job, observed: ObservedState, *, status: JobStatus, now: datetime
) -> tuple[AbstractSet[str], list[datetime]]:
    """The incidents whose group cannot be created yet, and the ends of their delays.

    A group waits for the old pods of its members, even of those that the job no longer has, and
    for a member whose restart is delayed.
    """
    keys = _incidents_of_surplus(job, observed, status) if observed.surplus_pods else set()
    moments: list[datetime] = []
    for instance in _recorded(observed, status):
        stored = status.of(instance.replica.type)
        last = stored.record_of(instance.index)
        if last is None or not last.incident or instance.is_succeeded:
            continue
        if instance.pod is not None and not queue_group.is_kept_by_queue(instance.pod):
            if instance.pod.metadata.uid == last.uid:
                keys.add(last.incident)
            continue
        moment = backoff_until(
            stored, instance.index, now=now, max_delay=job.semantics.max_restart_delay
        )
        if moment is not None:
            keys.add(last.incident)
            moments.append(moment)
    return keys, moments


def _incidents_of_surplus(job: Job, observed: ObservedState, status: JobStatus) -> set[str]:
    """The incidents whose group had members that were scaled down, and whose pods still exist.

    The status has no records of a type that the spec no longer has. A running pod of such a type
    may have been a member of any group.
    """
    surplus = [pod for pod in observed.surplus_pods if not queue_group.is_kept_by_queue(pod)]
    uids = {pod.metadata.uid for pod in surplus}
    is_any_group = any(_is_of_removed_type(job, pod) and not has_ended(pod) for pod in surplus)
    return {
        record.incident
        for stored in status.replicas.values()
        for record in stored.records
        if record.incident
        and (is_any_group or (record.uid in uids and record.index not in stored.completed))
    }


def _is_of_removed_type(job: Job, pod: Pod) -> bool:
    key = replica_key(job, pod.metadata)
    return key is not None and all(key[0] != replica.label for replica in job.replicas)


def _recorded(observed: ObservedState, status: JobStatus) -> Iterator[ReplicaInstance]:
    """The replicas of types of which a group restart is recorded; mostly there are none."""
    for kind, instances in observed.instances.items():
        if any(each.incident for each in status.of(kind).records):
            yield from instances


def _streak(group: Sequence[ReplicaInstance], *, status: JobStatus, now: datetime) -> int:
    """How many restarts of the group in a row this one makes.

    Whichever replica is lost, the whole group is restarted, so the group has one streak: the
    largest of its members. One that joins a restart that is stored already adds none.
    """
    keys = {each.incident for each in group}
    records = [each for stored in status.replicas.values() for each in stored.records]
    known = [each.streak for each in records if each.incident in keys]
    if known:
        return max(known)
    return 1 + max(
        streak_before(each, each.pod, stored=status.of(each.replica.type), now=now)
        for each in group
        if each.pod is not None
    )


def _lost_types(
    losses: Iterable[tuple[ReplicaInstance, str]], *, status: JobStatus
) -> AbstractSet[str]:
    """The types that lost a replica, now or in an incident whose group is still being restarted:
    the pod that was lost first may be gone while others of its group are there."""
    found, keys = set(), set()
    for instance, key in losses:
        found.add(instance.replica.type)
        keys.add(key)
    return found | {
        kind
        for kind, stored in status.replicas.items()
        if any(each.incident in keys for each in stored.records)
    }


def _group_types(job: Job, lost: AbstractSet[str]) -> set[tuple[str, str]]:
    """Pairs of a type of which a replica was lost, and a type that is restarted with it.

    Workers survive the loss of a parameter server, but keep their connections to the old one, and
    a new chief can fail because of those.
    """
    return {
        (first.type, second.type)
        for first in job.replicas
        if first.type in lost
        for second in job.replicas
        if couples(job, lost=first, survivor=second)
        or is_worker_of_server(job, server=first, worker=second)
    }


def _loss(
    job: Job,
    instance: ReplicaInstance,
    action: ReplicaAction,
    *,
    status: JobStatus,
    now: datetime,
) -> str:
    """The key of the incident in which the replica is lost; empty if it is not lost.

    As long as the old pod of a recorded loss exists, its group is being restarted: a replica that
    starts meanwhile must not meet it.
    """
    pod, replica = instance.pod, instance.replica
    if pod is None or replica.restart not in SURVIVES:
        return ""
    if is_recorded(pod, status.of(replica.type), instance.index):
        return "" if queue_group.is_kept_by_queue(pod) else instance.incident
    if action in _LOST:
        return failures.last_key(pod) if _has_run(instance, now=now) else ""
    ended = _restart_in_place(instance) if action is ReplicaAction.KEEP else None
    is_lost = ended is not None and ended.is_counted and _is_new(job, pod, ended)
    return ended.key if ended is not None and is_lost else ""


def _survivors(
    actions: Actions, pairs: AbstractSet[tuple[str, str]], *, lost: AbstractSet[str]
) -> list[ReplicaInstance]:
    """The replicas that run, are not lost, and are in the group of one that is."""
    ending = {survivor for _, survivor in pairs}
    return [
        instance
        for instance, action in actions
        if instance.replica.type in ending
        and instance.name not in lost
        and _is_running(instance, action)
        and not instance.has_followed_in_place
    ]


def _is_running(instance: ReplicaInstance, action: ReplicaAction) -> bool:
    if action is not ReplicaAction.KEEP or instance.replica.restart not in SURVIVES:
        return False
    return instance.is_active and not instance.is_completed and instance.job is None


def _restart_in_place(instance: ReplicaInstance) -> EndedRun | None:
    """The failure, not one that followed another, after which the same pod goes on.

    Its container runs again, or has just ended and the kubelet restarts it.
    """
    if instance.pod is None or not instance.is_active:
        return None
    ended = failures.last_ended_run(instance.pod)
    return None if ended is None or ended.run < instance.excused else ended


def _has_just_ended(
    job: Job,
    instance: ReplicaInstance,
    action: ReplicaAction,
    *,
    followed: AbstractSet[str],
    now: datetime,
) -> bool:
    pod = instance.pod
    if pod is None or action is not ReplicaAction.KEEP or instance.replica.restart not in SURVIVES:
        return False
    ended = _restart_in_place(instance)
    if ended is None or ended.is_counted or ended.key in followed:
        return False
    return _is_new(job, pod, ended) and _has_run(instance, now=now)


def _is_new(job: Job, pod: Pod, ended: EndedRun) -> bool:
    """Whether a failure before a restart in place is not stored yet.

    The others have survived one that is, or the job did not restart groups at that time. One that
    is no longer stored precedes the incidents that are; only times of the same node tell that.
    """
    stored = job.status.diagnosis
    if stored is None or ended.finished is None:
        return ended.finished is not None
    if ended.key in {each.key for each in stored.incidents}:
        return False
    forgotten_until = stored.forgotten_until_on(pod.spec.node_name)
    return forgotten_until is None or time.truncate(ended.finished) > forgotten_until


def _has_run(instance: ReplicaInstance, *, now: datetime) -> bool:
    """A replica that never started has no peers that could miss it."""
    if instance.phase is Phase.PENDING:
        return False
    seen = [each.incident.cause for each in failures.of_instance(instance, now=now)]
    return not seen or seen[-1] not in _NEVER_RAN
