"""Which children should exist: one service and one pod (or batch Job) per replica, and companions.

Children have fixed names, so a replica is only made when nothing stands under its name, and a
replica that has succeeded is never made again.
"""

from collections.abc import Mapping
from datetime import datetime

from tfjob.core import restart_policy
from tfjob.core.job import Job, Workload
from tfjob.core.observe import Children, Slot, View
from tfjob.core.plan import ChildKind, Create, Rule, Update
from tfjob.core.status import Cause, JobStatus, ReplicaStatus
from tfjob.k8s.companion import CompanionObject


def missing_services(job: Job, view: View) -> list[Create]:
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
        if (name := replica.name(index)) not in view.services
    ]


def missing_workloads(
    job: Job, view: View, *, status: JobStatus, now: datetime
) -> tuple[list[Create], datetime | None]:
    """Pods or batch Jobs to make now, and when the next held-back one is due."""
    kind = ChildKind.JOB if job.workload is Workload.JOB else ChildKind.POD
    creates: list[Create] = []
    held: list[datetime] = []
    for replica in job.replicas:
        stored = status.of(replica.type)
        for slot in view.slots[replica.type]:
            if not _is_missing(job, slot):
                continue
            longest = job.rules.longest_restart_delay
            moment = restart_policy.due(stored, slot.index, now=now, longest=longest)
            if moment is not None:
                held.append(moment)
                continue
            creates.append(
                Create(
                    kind=kind,
                    name=slot.name,
                    type=replica.type,
                    index=slot.index,
                    rule=_rule(stored, slot.index),
                )
            )
    return creates, min(held, default=None)


def missing_companions(job: Job, children: Children) -> list[Create]:
    if not job.companions:
        return []
    services = {each.metadata.name for each in children.services}
    there = {*children.companions, *((ChildKind.SERVICE, name) for name in services)}
    return [
        Create(
            kind=each.kind,
            name=each.name,
            body=_owned(job, each.manifest),
            rule=Rule.MISSING_COMPANION,
        )
        for each in job.companions
        if (each.kind, each.name) not in there
    ]


def changed_companions(job: Job, children: Children) -> list[Update]:
    """Companions that no longer say what the job keeps in them."""
    updates: list[Update] = []
    for each in job.companions:
        found = children.companions.get((each.kind, each.name))
        if found is None or found.metadata.is_terminating or _says(found, each.kept):
            continue
        body = {"spec": dict(each.kept)}
        updates.append(Update(kind=each.kind, name=each.name, uid=found.metadata.uid, body=body))
    return updates


def _rule(stored: ReplicaStatus, index: int) -> Rule:
    """Why a replica has no pod: the pod before it was replaced, or there was none."""
    last = stored.recent_of(index) if stored.recent else None
    if last is None or not last.is_restart:
        return Rule.MISSING_REPLICA
    return Rule.RESTART_POLICY if last.cause is Cause.FAILED else Rule.DISRUPTION


def _is_missing(job: Job, slot: Slot) -> bool:
    if slot.is_completed:
        return False
    return slot.job is None if job.workload is Workload.JOB else slot.pod is None


def _says(found: CompanionObject, kept: Mapping[str, object]) -> bool:
    """Nothing said is the same as no."""
    stored = {name: getattr(found.spec, name) for name in kept}
    return all(
        stored[name] == value or (stored[name] is None and value is False)
        for name, value in kept.items()
    )


def _owned(job: Job, manifest: Mapping[str, object]) -> dict[str, object]:
    metadata = manifest.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    return {**manifest, "metadata": {**given, "ownerReferences": [job.owner.reference()]}}
