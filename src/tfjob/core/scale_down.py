"""Pods that the operator removes itself: surplus ones and those of an earlier run.

The state of such a pod no longer counts, even if its index is scaled up again before the pod is
gone. Its UID is stored before it is deleted, and dropped once all such pods are gone.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tfjob.core import orderly_end
from tfjob.core.job import Job
from tfjob.core.observe import Children, ObservedState, replica_key
from tfjob.core.plan import ChildKind, Rule, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.status import ConditionType, JobStatus, PodRecord, RecordCause, ReplicaStatus
from tfjob.k8s.meta import ObjectMeta


def delete_surplus(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    pods = [instance.pod for instance in observed.all_instances() if instance.is_obsolete]
    obsolete = [pod.metadata for pod in pods if pod is not None]
    surplus = [pod.metadata for pod in observed.surplus_pods]
    services, rule = observed.surplus_services, Rule.SCALE_DOWN
    builder.deletes.extend(deletes_of(ChildKind.POD, surplus, rule=rule))
    delete_superseded(builder, children, obsolete)
    builder.deletes.extend(deletes_of(ChildKind.SERVICE, services, rule=rule))
    record_removed(builder, children, surplus)


def delete_superseded(
    builder: PlanBuilder, children: Children, metas: Sequence[ObjectMeta]
) -> None:
    """Delete the pods of an earlier run, which may still be ending in order."""
    deletes = deletes_of(ChildKind.POD, metas, rule=Rule.SUPERSEDED)
    resumed = builder.status.condition(ConditionType.SUSPENDED)
    since = None if resumed is None else resumed.last_transition
    builder.deletes.extend(orderly_end.due(builder, children, deletes, since=since))


def record_removed(builder: PlanBuilder, children: Children, metas: Sequence[ObjectMeta]) -> None:
    """Record the pods to remove, and drop the records of deleted ones.

    Both happen in batches, so that not every deleted pod causes a status write.
    """
    if not metas and not builder.status.has_records:
        return
    existing = {pod.metadata.uid for pod in children.pods}
    builder.status = _with_removed(builder.job, builder.status, metas, at=builder.timestamp)
    replicas = dict(builder.status.replicas)
    for kind, stored in builder.status.replicas.items():
        is_new = stored.removed != builder.job.status.of(kind).removed
        if stored.removed and (is_new or not stored.removed & existing):
            kept = (each for each in stored.records if not _is_gone(each, existing))
            replicas[kind] = msgspec.structs.replace(stored, records=tuple(kept))
    builder.set_status(replicas=replicas)


def _is_gone(entry: PodRecord, existing: set[str]) -> bool:
    return entry.cause is RecordCause.REMOVED and entry.uid not in existing


def _with_removed(
    job: Job, status: JobStatus, metas: Sequence[ObjectMeta], *, at: datetime
) -> JobStatus:
    types = {replica.label: replica.type for replica in job.replicas}
    new: dict[str, list[PodRecord]] = {}
    for meta in metas:
        place = replica_key(job, meta)
        kind = None if place is None else types.get(place[0])
        if place is None or kind is None or meta.uid in status.of(kind).removed:
            continue
        entry = PodRecord(index=place[1], uid=meta.uid, streak=0, at=at, cause=RecordCause.REMOVED)
        new.setdefault(kind, []).append(entry)
    changed = {kind: _with_entries(status.of(kind), entries) for kind, entries in new.items()}
    return msgspec.structs.replace(status, replicas={**status.replicas, **changed})


def _with_entries(stored: ReplicaStatus, entries: Sequence[PodRecord]) -> ReplicaStatus:
    ordered = sorted(entries, key=lambda each: (each.index, each.uid))
    return msgspec.structs.replace(stored, records=(*stored.records, *ordered))
