"""How many replicas of a type are active, succeeded and failed, as shown in the status.

A stored success stays counted after its pod is deleted.
"""

from collections.abc import Mapping, Sequence

import msgspec

from tfjob.core.job import ReplicaType
from tfjob.core.observe import ReplicaInstance
from tfjob.core.status import JobStatus, ReplicaStatus


def counted(
    replica: ReplicaType, instances: Sequence[ReplicaInstance], *, stored: ReplicaStatus
) -> ReplicaStatus:
    completed = {instance.index for instance in instances if instance.is_succeeded}
    keeps = not replica.restarts_on_success
    return msgspec.structs.replace(
        stored,
        active=sum(instance.is_active for instance in instances),
        succeeded=len(completed),
        failed=sum(instance.is_failed for instance in instances),
        completed=stored.completed | completed if keeps else frozenset(),
        selector=replica.status_selector,
    )


def after_success(stored: ReplicaStatus) -> ReplicaStatus:
    """Once the job has succeeded, replicas that still run count as succeeded."""
    return msgspec.structs.replace(stored, succeeded=stored.succeeded + stored.active, active=0)


def after_failure(stored: ReplicaStatus, *, remaining: int) -> ReplicaStatus:
    """Once the job has failed, only replicas that clean-up leaves running stay active."""
    return msgspec.structs.replace(stored, active=min(stored.active, remaining))


def in_place_restarts(instances: Sequence[ReplicaInstance]) -> int:
    """Container restarts by the kubelet, summed over all existing pods."""
    return sum(
        instance.pod.restart_count - instance.excused
        for instance in instances
        if instance.pod is not None and not instance.is_obsolete
    )


def failed_total(status: JobStatus) -> int:
    return sum(each.failed for each in status.replicas.values())


def while_suspended(status: JobStatus, *, active: Mapping[str, int]) -> JobStatus:
    """Counts of a suspended job: `active` still run; earlier successes and failures stay."""
    return msgspec.structs.replace(
        status,
        replicas={
            kind: msgspec.structs.replace(status.of(kind), active=count, records=())
            for kind, count in active.items()
        },
    )


def after_resume(status: JobStatus) -> JobStatus:
    """Counts of a resumed job: every replica runs again; restarts so far stay counted."""
    return msgspec.structs.replace(
        status,
        replicas={
            kind: ReplicaStatus(restarts=each.restarts, selector=each.selector)
            for kind, each in status.replicas.items()
        },
    )
