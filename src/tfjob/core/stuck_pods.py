"""Pods that should long be gone: told about, and taken away by force where that is safe.

Force is used only when the pod's node is gone from the cluster, or when the operator was told to.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Delete, EventType, JobEvent
from tfjob.k8s import time
from tfjob.k8s.pod import Pod

WARN_AFTER = timedelta(minutes=5)


class StuckStep(msgspec.Struct, frozen=True):
    deletes: Sequence[Delete] = ()
    events: Sequence[JobEvent] = ()
    requeue_at: datetime | None = None


def step(job: Job, pods: Sequence[Pod], *, lost_nodes: frozenset[str], now: datetime) -> StuckStep:
    leaving = [(pod, gone_by) for pod in pods if (gone_by := _deletion_deadline(pod)) is not None]
    limit = job.rules.force_delete_after
    forced = [
        Delete(kind=ChildKind.POD, name=pod.metadata.name, uid=pod.metadata.uid, is_forced=True)
        for pod, gone_by in leaving
        if pod.spec.node_name in lost_nodes
        or (limit is not None and now >= time.add(gone_by, limit))
    ]
    waits = [WARN_AFTER] if limit is None else [WARN_AFTER, limit]
    moments = [time.add(gone_by, wait) for _, gone_by in leaving for wait in waits]
    return StuckStep(
        deletes=forced,
        events=[
            _stuck_event(job, pod)
            for pod, gone_by in leaving
            if now >= time.add(gone_by, WARN_AFTER)
        ],
        requeue_at=min((each for each in moments if each > now), default=None),
    )


def is_stuck(pod: Pod, *, now: datetime) -> bool:
    """Worth asking whether its node still exists."""
    gone_by = _deletion_deadline(pod)
    return gone_by is not None and now >= gone_by


def _deletion_deadline(pod: Pod) -> datetime | None:
    return time.parse(pod.metadata.deletion_timestamp)


def _stuck_event(job: Job, pod: Pod) -> JobEvent:
    template = job.messages.stuck_terminating
    return JobEvent(
        type=EventType.WARNING,
        reason=template.reason,
        message=template.render(pod=pod.metadata.name, node=pod.spec.node_name or "no node"),
        key=f"stuck/{pod.metadata.uid}",
    )
