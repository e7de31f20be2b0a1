"""Why a whole gang waits: what its scheduler reports about the PodGroup, if anything.

A running gang waits for nothing, unless its pods are not in the PodGroup at all.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tfjob.core import pod_group
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.waiting import GROUP_SILENCE, Wait, due_after, silent_until
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.pod_state import has_ended
from tfjob.core.scheduling_spec import GangSpec
from tfjob.k8s import time
from tfjob.k8s.child_types import PodGroup
from tfjob.k8s.pod import Pod

GRACE: Final = timedelta(seconds=5)
"""How long a gang that its scheduler refuses may wait before that is reported."""


def of_job(job: Job, children: Children, *, now: datetime) -> list[Wait]:
    gang = job.gang
    if gang is None:
        return []
    found = [*_not_enforced(gang, children)]
    if children.pod_group is not None and gang.waits_for_admission:
        found.extend(_not_admitted(gang, children.pod_group, now=now))
    if children.pod_group is not None and gang.pod_fields:
        found.extend(_lacks_members(gang, children, children.pod_group, now=now))
    return found


def _not_admitted(gang: GangSpec, group: PodGroup, *, now: datetime) -> Iterator[Wait]:
    """A wait for a group that its scheduler refuses, or that it has reported nothing about."""
    if group.status.phase not in {"", "Pending"}:
        return
    since = time.parse(group.metadata.creation_timestamp)
    name = f"PodGroup {group.metadata.name}"
    refusal = _refusal(group)
    if refusal:
        yield Wait(
            cause=Cause.GANG_INCOMPLETE,
            since=since,
            detail=f"{name}: {group.status.phase or 'no phase yet'}: {refusal}",
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
    """The scheduler's message about a group that it does not admit; empty if there is none."""
    active = [each for each in group.status.conditions if each.status == "True"]
    chosen = [each for each in active if each.type == "Unschedulable"] or active
    return next((each.message or each.reason for each in chosen if each.message or each.reason), "")


def _lacks_members(
    gang: GangSpec, children: Children, group: PodGroup, *, now: datetime
) -> Iterator[Wait]:
    """kube-scheduler holds the pods of an incomplete PodGroup back without reporting it."""
    members = [pod for pod in children.pods if _is_member(pod, group.metadata.name)]
    wanted = pod_group.stored_size(gang, group)
    held = [pod for pod in members if not (pod.spec.node_name or _is_known(pod))]
    if wanted is None or len(members) >= wanted or not held:
        return
    since = max(time.parse(pod.metadata.creation_timestamp) or now for pod in held)
    yield Wait(
        cause=Cause.GANG_INCOMPLETE,
        since=since,
        detail=f"PodGroup {group.metadata.name} asks for {wanted} pods and has {len(members)}",
        due=due_after(since, GRACE, now=now),
    )


def _is_member(pod: Pod, group: str) -> bool:
    named = pod.spec.scheduling_group
    if named is None or named.pod_group_name != group:
        return False
    return not (pod.metadata.is_terminating or has_ended(pod))


def _is_known(pod: Pod) -> bool:
    """Whether a scheduler has reported anything about the pod."""
    return any(each.type == "PodScheduled" for each in pod.status.conditions)


def _not_enforced(gang: GangSpec, children: Children) -> Iterator[Wait]:
    """An API server without the feature gate drops the field that puts a pod into the group."""
    if not gang.pod_fields:
        return
    for pod in children.pods:
        is_marked = gang.pod_annotations.items() <= pod.metadata.annotations.items()
        if is_marked and pod.spec.scheduling_group is None:
            yield Wait(cause=Cause.GANG_NOT_ENFORCED, detail=f"pod {pod.metadata.name}")
            return
