"""Detects a job that does nothing although all its replicas run.

The node detects idle pods: it sets a condition on those whose processes use no CPU and print
nothing. A replica that waits for others is idle too, so a job is stalled only if all its replicas
are idle.
"""

from collections.abc import Iterator
from typing import Final

from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.waiting import Wait
from tfjob.core.observe import ObservedState, ReplicaInstance
from tfjob.k8s import time
from tfjob.k8s.pod import PodCondition

IDLE: Final = "tfjob.dev/Idle"


def of_job(observed: ObservedState) -> Iterator[Wait]:
    """One wait if all replicas are idle, since the last of them became idle; else none."""
    found: list[PodCondition] = []
    for instance in _unfinished(observed):
        condition = _idle_condition(instance)
        # Most jobs return here at their first replica.
        if condition is None:
            return
        found.append(condition)
    if found:
        latest = max(found, key=lambda each: each.last_transition_time or "")
        since = time.parse(latest.last_transition_time)
        yield Wait(cause=Cause.STALLED, since=since, reason=latest.reason, detail=latest.message)


def _unfinished(observed: ObservedState) -> Iterator[ReplicaInstance]:
    for instances in observed.instances.values():
        for instance in instances:
            if not instance.is_completed and not instance.is_succeeded:
                yield instance


def _idle_condition(instance: ReplicaInstance) -> PodCondition | None:
    if instance.pod is None or not instance.is_active:
        return None
    conditions = instance.pod.status.conditions
    return next((each for each in conditions if each.type == IDLE and each.status == "True"), None)
