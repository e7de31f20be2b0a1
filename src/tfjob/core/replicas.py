"""Missing children: one service and one pod (or batch Job) per replica, and the companions.

Names are fixed, so a child is created only if no object has its name. A replica that has succeeded
is never recreated.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime

from tfjob.core import group_restart, restart_policy
from tfjob.core.job import Job, Workload
from tfjob.core.observe import Children, ObservedState, ReplicaInstance
from tfjob.core.plan import ChildKind, Create, Rule, Update
from tfjob.core.status import JobStatus, PodRecord, RecordCause, ReplicaStatus
from tfjob.k8s.child_types import CompanionObject


def missing_services(job: Job, observed: ObservedState) -> list[Create]:
    return [
        Create(
            kind=ChildKind.SERVICE,
            name=name,
            type=replica.type,
            index=index,
            rule=Rule.MISSING_SERVICE,
        )
        for replica in job.replicas
        for index in range(replica.count)
        if (name := replica.name(index)) not in observed.services
    ]


def missing_workloads(
    job: Job, observed: ObservedState, *, status: JobStatus, now: datetime
) -> tuple[list[Create], datetime | None]:
    """Pods or batch Jobs to create now, and when the next one leaves its backoff."""
    kind = ChildKind.JOB if job.workload is Workload.JOB else ChildKind.POD
    creates: list[Create] = []
    incidents, delayed = group_restart.waiting(job, observed, status=status, now=now)
    for replica in job.replicas:
        stored = status.of(replica.type)
        for instance in observed.instances[replica.type]:
            if not _is_missing(job, instance) or _waits(stored, instance.index, incidents):
                continue
            max_delay = job.semantics.max_restart_delay
            moment = restart_policy.backoff_until(
                stored, instance.index, now=now, max_delay=max_delay
            )
            if moment is not None:
                delayed.append(moment)
                continue
            last = stored.record_of(instance.index)
            creates.append(
                Create(
                    kind=kind,
                    name=instance.name,
                    type=replica.type,
                    index=instance.index,
                    rule=_rule(last),
                    incident="" if last is None else last.incident,
                )
            )
    return creates, min(delayed, default=None)


def missing_companions(job: Job, children: Children) -> list[Create]:
    if not job.companions:
        return []
    services = {each.metadata.name for each in children.services}
    existing = {*children.companions, *((ChildKind.SERVICE, name) for name in services)}
    return [
        Create(
            kind=each.kind,
            name=each.name,
            body=_owned(job, each.manifest),
            rule=Rule.MISSING_COMPANION,
        )
        for each in job.companions
        if (each.kind, each.name) not in existing
    ]


def changed_companions(job: Job, children: Children) -> list[Update]:
    """Updates of companions that differ from the spec that the job enforces."""
    updates: list[Update] = []
    for each in job.companions:
        found = children.companions.get((each.kind, each.name))
        if found is None or found.metadata.is_terminating or _matches(found, each.enforced_spec):
            continue
        body = {"spec": dict(each.enforced_spec)}
        updates.append(Update(kind=each.kind, name=each.name, uid=found.metadata.uid, body=body))
    return updates


def _rule(last: PodRecord | None) -> Rule:
    """Why a pod is created: to replace the replica's last pod, or because it never had one."""
    if last is None or not last.is_restart:
        return Rule.MISSING_REPLICA
    if last.cause is RecordCause.CONSEQUENCE:
        return Rule.PEER_LOST
    if last.cause is RecordCause.GROUP:
        return Rule.GROUP_RESTART
    return Rule.RESTART_POLICY if last.cause is RecordCause.FAILED else Rule.DISRUPTION


def _waits(stored: ReplicaStatus, index: int, incidents: AbstractSet[str]) -> bool:
    """Whether the replica waits to be recreated together with its group."""
    if not incidents:
        return False
    last = stored.record_of(index)
    return last is not None and last.incident in incidents


def _is_missing(job: Job, instance: ReplicaInstance) -> bool:
    if instance.is_completed:
        return False
    return instance.job is None if job.workload is Workload.JOB else instance.pod is None


def _matches(found: CompanionObject, spec: Mapping[str, object]) -> bool:
    """Whether the spec has these values; an absent field equals false."""
    stored = {name: getattr(found.spec, name) for name in spec}
    return all(
        stored[name] == value or (stored[name] is None and value is False)
        for name, value in spec.items()
    )


def _owned(job: Job, manifest: Mapping[str, object]) -> dict[str, object]:
    metadata = manifest.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    return {**manifest, "metadata": {**given, "ownerReferences": [job.owner.reference()]}}
