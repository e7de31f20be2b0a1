"""status.tasks and status.aggregate: every replica by name, and counts by phase.

A replica whose pod is deleted is shown as last observed, which is taken from the earlier status.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfjob.core import indexes, pod_state
from tfjob.core.job import Job
from tfjob.core.observe import ObservedState, ReplicaInstance
from tfjob.core.status import ConditionType, JobStatus, ReplicaStatus
from tfjob.dialects.stored_values import render_records
from tfjob.dialects.tensorstack import api
from tfjob.k8s.pod import ContainerState, Phase, Pod

_COUNTS = ("active", "succeeded", "failed")
_ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})


def tasks_of(
    job: Job,
    status: JobStatus,
    observed_state: ObservedState,
    *,
    before: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """One entry per type, in the order of the spec; `before` are the replicas as last stored."""
    known = {name: each for each in before if isinstance(name := each.get("name"), str)}
    is_inactive = status.is_finished or status.is_true(ConditionType.SUSPENDED)
    found = []
    for replica in job.replicas:
        stored = status.of(replica.type)
        entries = [
            _entry(instance, known.get(instance.name, {}), stored=stored, is_inactive=is_inactive)
            for instance in observed_state.instances[replica.type]
        ]
        own = {} if status.is_finished else _own(stored)
        found.append(
            {
                "type": replica.type,
                "restartCount": stored.restarts,
                **own,
                "replicas": entries,
            }
        )
    return found


def aggregate_of(replicas: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The number of replicas in each phase, including phases with none."""
    phases = Counter(phase for each in replicas if isinstance(phase := each.get("phase"), str))
    return {phase.lower(): phases[phase] for phase in api.AGGREGATE}


def is_up(observed_state: ObservedState, status: JobStatus) -> bool:
    """No pod is pending or missing, and at least one runs."""
    instances = observed_state.all_instances()
    if any(_is_awaited(instance, status.of(instance.replica.type)) for instance in instances):
        return False
    return any(
        instance.pod is not None and instance.pod.phase is Phase.RUNNING for instance in instances
    )


def are_all_created(observed_state: ObservedState, status: JobStatus) -> bool:
    """The pods of all replicas have been created."""
    return not any(
        _is_uncreated(instance, status.of(instance.replica.type))
        for instance in observed_state.all_instances()
    )


def is_restarting(instance: ReplicaInstance, stored: ReplicaStatus) -> bool:
    """It is being recreated after a failure and does not run yet."""
    last = stored.record_of(instance.index)
    return (
        last is not None and last.is_restart and not (instance.is_active or instance.is_succeeded)
    )


def _is_uncreated(instance: ReplicaInstance, stored: ReplicaStatus) -> bool:
    if instance.is_obsolete:
        return True
    return (
        instance.pod is None and not instance.is_completed and not is_restarting(instance, stored)
    )


def _is_awaited(instance: ReplicaInstance, stored: ReplicaStatus) -> bool:
    if _is_uncreated(instance, stored):
        return True
    return instance.pod is not None and instance.pod.phase is Phase.PENDING


def _own(stored: ReplicaStatus) -> dict[str, Any]:
    """The additional fields that the operator needs; zeros are omitted."""
    own: dict[str, Any] = {key: getattr(stored, key) for key in _COUNTS}
    own["completedIndexes"] = indexes.render(stored.completed)
    own["recentRestarts"] = render_records(stored.records)
    return {key: value for key, value in own.items() if value}


def _entry(
    instance: ReplicaInstance,
    before: Mapping[str, Any],
    *,
    stored: ReplicaStatus,
    is_inactive: bool,
) -> dict[str, Any]:
    pod = instance.pod
    if pod is None:
        return _without_pod(instance, before, stored=stored, is_inactive=is_inactive)
    last = stored.record_of(instance.index)
    is_recorded = last is not None and last.is_restart and last.uid == pod.metadata.uid
    is_replaced = is_recorded and instance.phase in _ENDED
    is_removed = is_inactive and pod.metadata.is_terminating
    is_gone = is_replaced or is_removed or instance.is_obsolete
    shown: dict[str, Any] = {
        "name": pod.metadata.name,
        "uid": pod.metadata.uid,
        "phase": api.DELETED if is_gone else str(_phase(instance, pod)),
    }
    containers = _containers(pod)
    return {**shown, "containers": containers} if containers else shown


def _phase(instance: ReplicaInstance, pod: Pod) -> Phase | None:
    """The phase of the pod, which has ended about a second after its containers."""
    has_ended = pod_state.has_ended(pod, policy=instance.replica.pod_restart_policy)
    return instance.phase if has_ended else pod.phase


def _without_pod(
    instance: ReplicaInstance,
    before: Mapping[str, Any],
    *,
    stored: ReplicaStatus,
    is_inactive: bool,
) -> dict[str, Any]:
    last = stored.record_of(instance.index)
    was_seen = isinstance(before.get("uid"), str) and bool(before["uid"])
    is_replaced = last is not None and last.is_restart and last.uid == before.get("uid")
    if was_seen and (is_inactive or is_replaced):
        return {**_last_observed(before), "name": instance.name, "phase": api.DELETED}
    if instance.is_completed:
        return {**_last_observed(before), "name": instance.name, "phase": api.SUCCEEDED}
    return {"name": instance.name, "phase": api.CREATING}


def _last_observed(before: Mapping[str, Any]) -> dict[str, Any]:
    return {key: before[key] for key in ("name", "uid", "phase", "containers") if key in before}


def _containers(pod: Pod) -> list[dict[str, Any]]:
    return [{"name": each.name, **_state(each.state)} for each in pod.status.container_statuses]


def _state(state: ContainerState) -> dict[str, Any]:
    if state.terminated is not None:
        return {"state": "Terminated", "exitCode": state.terminated.exit_code}
    return {"state": "Waiting" if state.running is None else "Running"}
