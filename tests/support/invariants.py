"""What every reconcile must satisfy, in any state."""

from datetime import datetime, timedelta

from tests.support.model_cluster import Pass
from tfjob.core.job import Job, RestartPolicy
from tfjob.core.observe import ReplicaInstance, observe
from tfjob.core.plan import ChildKind
from tfjob.core.status import ConditionType, JobStatus, PodRecord, RecordCause
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod

PASSES_TO_REST = 5
"""The most reconciles until a job settles: restart, reach a limit, end, clean up, and one more."""

_BUSY = frozenset({ConditionType.RUNNING, ConditionType.RESTARTING})
_NOT_RUNNING = frozenset({Phase.PENDING, Phase.SUCCEEDED, Phase.FAILED})
_ENDS = frozenset({ConditionType.SUCCEEDED, ConditionType.FAILED})


def after(made: Pass) -> JobStatus:
    return made.job.status if made.plan.status is None else made.plan.status


def is_resuming(made: Pass) -> bool:
    before, then = made.job.status, after(made)
    return before.is_true(ConditionType.SUSPENDED) and not then.is_true(ConditionType.SUSPENDED)


def is_resting(made: Pass) -> bool:
    return made.job.policy.is_suspended and not made.job.status.is_finished


def conditions_are_legal(status: JobStatus) -> None:
    """Created is first, the current state is last, and at most one of Running and Restarting is
    listed. When a job has ended, no other condition is true."""
    types = [each.type for each in status.conditions]
    assert len(set(types)) == len(types)
    assert len(_BUSY & set(types)) <= 1
    assert len(_ENDS & set(types)) <= 1
    assert all(each.status in {"True", "False"} for each in status.conditions)
    if types:
        assert types[0] == ConditionType.CREATED
    lively = {each.type for each in status.conditions if each.is_true} - {ConditionType.CREATED}
    assert len(lively) <= 1
    assert lively <= {types[-1] if types else None}


def times_do_not_go_back(before: JobStatus, then: JobStatus) -> None:
    """Within a type, no time of a condition is earlier than it was."""
    for new in then.conditions:
        assert new.last_update is not None
        assert new.last_transition is not None
        assert new.last_transition <= new.last_update
        old = before.condition(new.type)
        if old is not None and old.last_update and old.last_transition:
            assert new.last_update >= old.last_update
            assert new.last_transition >= old.last_transition


def finish_is_final(made: Pass) -> None:
    """A verdict is never changed or joined by another, and a completion time belongs to it."""
    before, then = made.job.status, after(made)
    assert then.is_finished == (then.completion_time is not None)
    if not before.is_finished:
        return
    assert not made.plan.creates
    assert then.conditions == before.conditions
    assert before.completion_time in {None, then.completion_time}


def counts_fit(made: Pass) -> None:
    """Every replica is counted at most once."""
    before, then = made.job.status, after(made)
    if before.replicas == then.replicas or before.is_finished or is_resting(made):
        return
    for replica in made.job.replicas:
        found = then.of(replica.type)
        assert 0 <= found.active + found.succeeded + found.failed <= replica.count


def memory_only_grows(made: Pass) -> None:
    """Restarts are never forgotten, and successes only when the job is resumed."""
    before, then = made.job.status, after(made)
    assert then.restarts >= before.restarts
    if is_resuming(made):
        return
    for kind, found in before.replicas.items():
        assert found.completed <= then.of(kind).completed


def creates_are_due(made: Pass) -> None:
    """A pod is made only for a replica that should exist, has none, and has not yet succeeded."""
    instances = {(instance.replica.type, instance.index): instance for instance in _instances(made)}
    for create in made.plan.creates:
        if create.kind != ChildKind.POD:
            continue
        instance = instances[create.type, create.index]
        assert instance.pod is None
        assert is_resuming(made) or not instance.is_completed
    names = [(each.kind, each.name) for each in made.plan.creates]
    assert len(set(names)) == len(names)


def deletes_are_meant(made: Pass) -> None:
    """Only what was seen is deleted, each once, and no replica that does its work."""
    children, group = made.children, made.children.pod_group
    seen = {(ChildKind.POD, pod.metadata.uid) for pod in children.pods}
    seen |= {(ChildKind.SERVICE, service.metadata.uid) for service in children.services}
    seen |= {(ChildKind.POD_GROUP, group.metadata.uid)} if group else set()
    gone = [(each.kind, each.uid) for each in made.plan.deletes]
    assert set(gone) <= seen
    assert len(set(gone)) == len(gone)
    if after(made).is_finished or is_resting(made) or is_resuming(made):
        return
    working = {
        instance.pod.metadata.uid
        for instance in _instances(made)
        if instance.pod and _works(instance)
    }
    assert not working & {uid for kind, uid in gone if kind == ChildKind.POD}


def size_is_bounded(made: Pass) -> None:
    """A plan is no larger than the job and its children."""
    job, children, plan = made.job, made.children, made.plan
    assert len(plan.creates) <= 2 * job.total + 1
    assert len(plan.deletes) <= len(children.pods) + len(children.services) + 1
    containers = sum(
        1 + len(pod.status.container_statuses) + len(pod.status.init_container_statuses)
        for pod in children.pods
    )
    assert len(plan.events) <= 5 + 3 * containers + 2 * len(job.replicas)
    assert sum(len(each.records) for each in after(made).replicas.values()) <= 30


def rest_is_complete(made: Pass) -> None:
    """A suspended job creates nothing and deletes every pod; parameter servers stay, and count as
    active, only while a chief or a worker runs."""
    if not is_resting(made):
        return
    assert not made.plan.creates
    deleted = {each.uid for each in made.plan.deletes}
    left = [
        pod
        for pod in made.children.pods
        if not pod.metadata.is_terminating and pod.metadata.uid not in deleted
    ]
    assert {_kind_of(pod) for pod in left} <= {"ps"}
    assert sum(each.active for each in after(made).replicas.values()) <= len(left)
    if left:
        running = {_kind_of(pod) for pod in made.children.pods if pod.phase not in _NOT_RUNNING}
        assert running & {"chief", "master", "worker"}


def _kind_of(pod: Pod) -> str:
    return pod.metadata.labels.get("training.kubeflow.org/replica-type", "")


def resume_starts_anew(made: Pass) -> None:
    """The start time of a resumed job is now, or when its pods may be created."""
    start = after(made).start_time
    assert not is_resuming(made) or start is None or start == time.truncate(made.now)


def failures_are_answered(made: Pass) -> None:
    """No failure is ignored. Under Never it fails the job, unless the pod was deleted before it
    ran. Otherwise the pod is deleted as soon as the next one is due, unless a limit applies or the
    type tolerates failures."""
    if after(made).is_finished or is_resting(made) or is_resuming(made) or _is_waiting(made):
        return
    deleted = {each.uid for each in made.plan.deletes}
    for instance in _instances(made):
        if instance.pod is None or not instance.is_failed or instance.replica.tolerates_failure:
            continue
        if instance.replica.restart is RestartPolicy.NEVER:
            assert instance.is_terminating
            assert instance.is_disrupted
        is_going = instance.is_terminating or instance.pod.metadata.uid in deleted
        is_due = _is_due(made, instance)
        assert is_going or not is_due or made.job.policy.backoff_limit is not None


def wakes_in_time(made: Pass) -> None:
    """The next reconcile is never in the past, and no later than the next effect of time alone."""
    plan = made.plan
    if plan.requeue_at is not None:
        assert plan.requeue_at >= time.truncate(made.now)
    for moment in _moments(made):
        assert plan.requeue_at is not None
        assert plan.requeue_at <= moment


def check(made: Pass) -> None:
    """All invariants that need no history."""
    conditions_are_legal(after(made))
    for law in (
        finish_is_final,
        counts_fit,
        memory_only_grows,
        creates_are_due,
        deletes_are_meant,
        size_is_bounded,
        rest_is_complete,
        resume_starts_anew,
        failures_are_answered,
        wakes_in_time,
    ):
        law(made)


def _instances(made: Pass) -> list[ReplicaInstance]:
    return observe(made.job, made.children).all_instances()


def _is_due(made: Pass, instance: ReplicaInstance) -> bool:
    """A replica that has failed may be made again now."""
    last = after(made).of(instance.replica.type).record_of(instance.index)
    if last is None or last.cause is not RecordCause.FAILED or last.at > made.now:
        return True
    return last.streak < 2 or last.at + _delay(last) <= made.now


def _delay(last: PodRecord) -> timedelta:
    return timedelta(seconds=min(10 * 2 ** (last.streak - 2), 300))


def _works(instance: ReplicaInstance) -> bool:
    return not (instance.is_failed or instance.is_terminating or instance.is_obsolete)


def _is_waiting(made: Pass) -> bool:
    """The gang scheduler may delay the job."""
    return made.job.gang is not None and made.job.gang.waits_for_admission


def _moments(made: Pass) -> list[datetime]:
    """What happens by time alone: deadline, expiry, delayed pods."""
    job, then = made.job, after(made)
    if made.plan.deletes_job or is_resting(made):
        return []
    if then.is_finished:
        is_cleaned_up = job.status.is_finished and not _ends_in_order(made)
        return _expiry(job, then) if is_cleaned_up else []
    found = []
    if job.policy.deadline is not None and then.start_time is not None:
        found.append(then.start_time + job.policy.deadline + timedelta(seconds=1))
    if then.start_time is not None and not _is_waiting(made):
        found.extend(_held_back(made, then))
    return found


def _ends_in_order(made: Pass) -> bool:
    """Parameter servers are kept for a replica that runs, and the job with them."""
    running = {_kind_of(pod) for pod in made.children.pods if pod.phase not in _NOT_RUNNING}
    return "ps" in running and bool(running & {"chief", "master", "worker"})


def _expiry(job: Job, then: JobStatus) -> list[datetime]:
    if job.policy.ttl is None or then.completion_time is None:
        return []
    return [then.completion_time + job.policy.ttl]


def _held_back(made: Pass, then: JobStatus) -> list[datetime]:
    """When each replica is due that is missing now and is not made in this pass."""
    created = {(each.type, each.index) for each in made.plan.creates if each.kind == ChildKind.POD}
    moments = []
    for instance in _instances(made):
        stored = then.of(instance.replica.type)
        is_made = (instance.replica.type, instance.index) in created
        if instance.pod is not None or is_made or instance.index in stored.completed:
            continue
        last = stored.record_of(instance.index)
        assert last is not None, "a replica is missing and nothing says why"
        assert last.at <= made.now, "a restart in the future holds nothing back"
        moments.append(last.at + _delay(last))
    return moments
