"""Deadlocks: jobs of one namespace that each hold nodes while they wait for more.

Without a gang scheduler, two jobs can each get only half of the nodes that they need, so that
neither starts. This is reported after a while, because every starting job is half placed for a
moment.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.waiting import Wait, due_after, scheduling_cause
from tfjob.core.observe import Children, HalfPlaced
from tfjob.core.pod_state import has_ended
from tfjob.k8s import time
from tfjob.k8s.pod import Pod, PodCondition

GRACE: Final = timedelta(seconds=30)
"""How long a job may be half placed before other jobs are examined."""
MAX_RIVALS: Final = 3
"""How many other jobs are named."""


def lacks_node(pod: Pod) -> bool:
    """Whether a scheduler finds no free node for the pod."""
    if pod.spec.node_name or not _counts(pod):
        return False
    return any(map(_lacks_resources, pod.status.conditions))


def half_placed(name: str, pods: Sequence[Pod]) -> HalfPlaced | None:
    """The counts of a job of which some pods have nodes, while no free node is found for others.

    Pods that wait for something else, such as a volume, do not count: they wait for no other job.
    """
    # Most jobs have no such pod, and the pods of a large job must not be read twice in vain.
    unplaced = [pod for pod in pods if not pod.spec.node_name]
    if not unplaced:
        return None
    placed = sum(bool(pod.spec.node_name) and _counts(pod) for pod in pods)
    refused, since = 0, None
    for pod in filter(_counts, unplaced):
        for condition in pod.status.conditions:
            if _lacks_resources(condition):
                refused += 1
                moment = time.parse(condition.last_transition_time)
                since = moment if since is None or (moment and moment < since) else since
    if not placed or not refused:
        return None
    return HalfPlaced(name=name, placed=placed, waiting=refused, since=since)


def _counts(pod: Pod) -> bool:
    return not (pod.metadata.is_terminating or has_ended(pod))


def _lacks_resources(condition: PodCondition) -> bool:
    if (condition.type, condition.reason) != ("PodScheduled", "Unschedulable"):
        return False
    return scheduling_cause(condition) is Cause.INSUFFICIENT_RESOURCES


def is_due(found: HalfPlaced, *, now: datetime) -> bool:
    return due_after(found.since, GRACE, now=now) is None


def of_job(name: str, children: Children, *, now: datetime) -> list[Wait]:
    own = half_placed(name, children.pods)
    if own is None:
        return []
    due = due_after(own.since, GRACE, now=now)
    if due is None and not children.rivals:
        return []
    rivals = ", ".join(map(_summary, children.rivals))
    detail = f"{_summary(own)}; {rivals}"
    return [Wait(cause=Cause.DEADLOCKED, since=own.since, detail=detail, due=due)]


def _summary(found: HalfPlaced) -> str:
    pods = "pod" if found.placed == 1 else "pods"
    return f"{found.name} has nodes for {found.placed} {pods} and none for {found.waiting}"
