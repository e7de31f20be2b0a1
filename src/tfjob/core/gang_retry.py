"""Makes a scheduler retry a gang that did not fit.

Coscheduling of scheduler-plugins reacts neither to new nodes nor to pods that end: it retries a
gang when its PodGroup changes, or after five minutes. So the operator touches the PodGroup, in
intervals that grow with the wait, and sooner after one of its own pods has freed a node.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from tfjob.core.plan import ChildKind, Update
from tfjob.k8s import time
from tfjob.k8s.child_types import PodGroup
from tfjob.k8s.pod import Pod, PodCondition

ANNOTATION: Final = "tfjob.dev/retried-at"
SHORTEST: Final = timedelta(seconds=10)
LONGEST: Final = timedelta(minutes=2)
FREED_NODE_SHARE: Final = 8
"""After a pod has freed its node, the interval is the wait so far divided by this. So it also grows
in a busy cluster, where pods end all the time and seldom free enough for a large gang."""


class Retry(msgspec.Struct, frozen=True):
    update: Update | None = None
    requeue_at: datetime | None = None


def retry(
    group: PodGroup, pods: Sequence[Pod], *, node_freed_at: datetime | None, now: datetime
) -> Retry:
    """Touch the PodGroup if that is due. `node_freed_at` is when a pod last freed its node."""
    refused = [since for pod in pods if (since := _refused_since(pod, now=now)) is not None]
    if not refused or group.metadata.is_terminating:
        return Retry()
    since = min(refused)
    touched = time.parse(group.metadata.annotations.get(ANNOTATION))
    last = since if touched is None or touched > now else max(since, touched)
    has_free_node = node_freed_at is not None and node_freed_at > last
    short = _between((last - since) / FREED_NODE_SHARE)
    due = time.add(last, short if has_free_node else _between(last - since))
    # A pod may free its node before the next touch is due; this check costs no request.
    look = time.add(now, short)
    if now < due:
        return Retry(requeue_at=min(due, look))
    meta = group.metadata
    body = {"metadata": {"uid": meta.uid, "annotations": {ANNOTATION: time.render(now)}}}
    update = Update(
        kind=ChildKind.POD_GROUP, name=meta.name, uid=meta.uid, body=body, is_retry=True
    )
    return Retry(update=update, requeue_at=look)


def _between(pause: timedelta) -> timedelta:
    return max(SHORTEST, min(pause, LONGEST))


def _refused_since(pod: Pod, *, now: datetime) -> datetime | None:
    """Since when the pod is reported as unschedulable; None if it is not."""
    if pod.spec.node_name or pod.metadata.is_terminating:
        return None
    for condition in pod.status.conditions:
        if _is_refusal(condition):
            return min(time.parse(condition.last_transition_time) or now, now)
    return None


def _is_refusal(condition: PodCondition) -> bool:
    """Whether a scheduler found no node. A gated pod has not been tried at all."""
    if condition.type != "PodScheduled" or condition.status != "False":
        return False
    return condition.reason == "Unschedulable"
