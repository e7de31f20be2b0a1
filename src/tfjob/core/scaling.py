"""Scaling down: what is too many goes, and its end is nobody's failure.

Law: a pod that was once too many is not judged any more, also if its index comes back before the
pod is gone. The stored record of restarts is where that is written down.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime

import msgspec

from tfjob.core.draft import Draft
from tfjob.core.observe import Children, View, place_of
from tfjob.core.plan import ChildKind, deletes_of
from tfjob.core.status import RecentRestart, ReplicaStatus


def shrink(draft: Draft, children: Children, seen: View) -> None:
    draft.deletes.extend(deletes_of(ChildKind.POD, seen.surplus_pods))
    draft.deletes.extend(deletes_of(ChildKind.SERVICE, seen.surplus_services))
    there = {pod.metadata.uid for pod in children.pods}
    replicas = dict(draft.status.replicas)
    for replica in draft.job.in_status_order():
        stored = draft.status.of(replica.type)
        going = _surplus(draft, seen, label=replica.label)
        recent = _written_down(stored, going=going, there=there, at=draft.stamp)
        replicas[replica.type] = msgspec.structs.replace(stored, recent=recent)
    draft.set_status(replicas=replicas)


def _surplus(draft: Draft, seen: View, *, label: str) -> dict[int, str]:
    """UIDs of one type's pods that are too many, by index and in its order."""
    places = [(place_of(draft.job, meta), meta.uid) for meta in seen.surplus_pods]
    found = [(place[1], uid) for place, uid in places if place is not None and place[0] == label]
    return dict(sorted(found))


def _written_down(
    stored: ReplicaStatus, *, going: Mapping[int, str], there: AbstractSet[str], at: datetime
) -> tuple[RecentRestart, ...]:
    """Restarts stay on record; pods that were too many until the last of them is gone, so that
    not each of them costs a write."""
    is_over = not any(each.uid in there for each in stored.recent if not each.is_restart)
    known = {each.index: each for each in stored.recent if each.is_restart or not is_over}
    for index, uid in going.items():
        if index not in known or known[index].uid != uid:
            known[index] = RecentRestart(index=index, uid=uid, streak=0, at=at)
    return tuple(known.values())
