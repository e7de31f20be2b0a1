"""Why a gang as a whole waits: what its scheduler says about the PodGroup, or that it says nothing.

A gang that runs waits for nothing, except where its pods are not in the PodGroup at all.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.waiting import GROUP_SILENCE, Wait, due_after, silent_until
from tfjob.core.gang_spec import GangSpec
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.k8s import time
from tfjob.k8s.child_types import PodGroup

GRACE: Final = timedelta(seconds=5)
"""How long a gang that its scheduler refuses may wait before that is reported."""


def of_job(job: Job, children: Children, *, now: datetime) -> list[Wait]:
    gang = job.gang
    if gang is None:
        return []
    found = [*_not_enforced(gang, children)]
    if children.pod_group is not None and gang.waits_for_admission:
        found.extend(_not_admitted(gang, children.pod_group, now=now))
    return found


def _not_admitted(gang: GangSpec, group: PodGroup, *, now: datetime) -> Iterator[Wait]:
    """The group is refused, if its scheduler says so, or else not looked at."""
    if group.status.phase not in {"", "Pending"}:
        return
    since = time.parse(group.metadata.creation_timestamp)
    name = f"PodGroup {group.metadata.name}"
    said = _refusal(group)
    if said:
        yield Wait(
            cause=Cause.GANG_INCOMPLETE,
            since=since,
            detail=f"{name}: {group.status.phase or 'no phase yet'}: {said}",
            due=due_after(since, GRACE, now=now),
        )
        return
    queue = gang.fields.get("queue")
    asked = f"scheduler {gang.scheduler_name}" + (f", queue {queue}" if queue else "")
    yield Wait(
        cause=Cause.SCHEDULER_SILENT,
        since=since,
        detail=f"{name}: {group.status.phase or 'no phase yet'}; {asked}",
        due=silent_until(since, GROUP_SILENCE, now=now),
    )


def _refusal(group: PodGroup) -> str:
    """What the scheduler says about a group that it does not admit."""
    told = [each for each in group.status.conditions if each.status == "True"]
    told = [each for each in told if each.type == "Unschedulable"] or told
    return next((each.message or each.reason for each in told if each.message or each.reason), "")


def _not_enforced(gang: GangSpec, children: Children) -> Iterator[Wait]:
    """An API server without the feature drops the field that puts a pod into the group."""
    if not gang.pod_fields:
        return
    for pod in children.pods:
        is_marked = gang.pod_annotations.items() <= pod.metadata.annotations.items()
        if is_marked and pod.spec.scheduling_group is None:
            yield Wait(cause=Cause.GANG_NOT_ENFORCED, detail=f"pod {pod.metadata.name}")
            return
