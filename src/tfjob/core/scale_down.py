"""Pods that the operator removes itself: what is too many, and what is left of an earlier run.

Law: such a pod is not judged any more, also if its index comes back before the pod is gone. Its
UID is stored before it is deleted, and forgotten once the last of them is gone.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from tfjob.core.job import Job
from tfjob.core.observe import Children, View, place_of
from tfjob.core.plan import ChildKind, Rule, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.status import Cause, JobStatus, RecentRestart, ReplicaStatus
from tfjob.k8s.meta import ObjectMeta


def shrink(builder: PlanBuilder, children: Children, seen: View) -> None:
    leaving = [slot.pod for slot in seen.all_slots() if slot.is_leaving]
    left = [pod.metadata for pod in leaving if pod is not None]
    surplus, rule = seen.surplus_services, Rule.SCALE_DOWN
    builder.deletes.extend(deletes_of(ChildKind.POD, seen.surplus_pods, rule=rule))
    builder.deletes.extend(deletes_of(ChildKind.POD, left, rule=Rule.SUPERSEDED))
    builder.deletes.extend(deletes_of(ChildKind.SERVICE, surplus, rule=rule))
    note_removed(builder, children, seen.surplus_pods)


def note_removed(builder: PlanBuilder, children: Children, going: Sequence[ObjectMeta]) -> None:
    """Put the pods that go on record, and take off it what is gone, all at once: not each of them
    shall cost a write."""
    there = {pod.metadata.uid for pod in children.pods}
    builder.status = _with_removed(builder.job, builder.status, going, at=builder.stamp)
    replicas = dict(builder.status.replicas)
    for kind, stored in builder.status.replicas.items():
        is_new = stored.removed != builder.job.status.of(kind).removed
        if stored.removed and (is_new or not stored.removed & there):
            kept = (each for each in stored.recent if not _is_gone(each, there))
            replicas[kind] = msgspec.structs.replace(stored, recent=tuple(kept))
    builder.set_status(replicas=replicas)


def _is_gone(entry: RecentRestart, there: set[str]) -> bool:
    return entry.cause is Cause.REMOVED and entry.uid not in there


def _with_removed(
    job: Job, status: JobStatus, metas: Sequence[ObjectMeta], *, at: datetime
) -> JobStatus:
    types = {replica.label: replica.type for replica in job.replicas}
    new: dict[str, list[RecentRestart]] = {}
    for meta in metas:
        place = place_of(job, meta)
        kind = None if place is None else types.get(place[0])
        if place is None or kind is None or meta.uid in status.of(kind).removed:
            continue
        entry = RecentRestart(index=place[1], uid=meta.uid, streak=0, at=at, cause=Cause.REMOVED)
        new.setdefault(kind, []).append(entry)
    changed = {kind: _with_entries(status.of(kind), entries) for kind, entries in new.items()}
    return msgspec.structs.replace(status, replicas={**status.replicas, **changed})


def _with_entries(stored: ReplicaStatus, entries: Sequence[RecentRestart]) -> ReplicaStatus:
    ordered = sorted(entries, key=lambda each: (each.index, each.uid))
    return msgspec.structs.replace(stored, recent=(*stored.recent, *ordered))
