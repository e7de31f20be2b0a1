"""Pods stuck in termination: warns about them, and force-deletes them where that is safe.

A pod is force-deleted only if its node no longer exists, or after the time that the operator is
configured with.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Delete, EventType, JobEvent, Rule
from tfjob.k8s import time
from tfjob.k8s.pod import Pod

WARN_AFTER = timedelta(minutes=5)


class StuckStep(msgspec.Struct, frozen=True):
    deletes: Sequence[Delete] = ()
    events: Sequence[JobEvent] = ()
    requeue_at: datetime | None = None


_NOTHING = StuckStep()


def step(job: Job, pods: Sequence[Pod], *, lost_nodes: frozenset[str], now: datetime) -> StuckStep:
    terminating = [(pod, due) for pod in pods if (due := _deletion_deadline(pod)) is not None]
    if not terminating:
        return _NOTHING
    limit = job.semantics.force_delete_after
    forced = [
        Delete(
            kind=ChildKind.POD,
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            rule=Rule.STUCK_TERMINATING,
            is_forced=True,
        )
        for pod, due in terminating
        if not _waits_for_finalizers(pod)
        and (
            pod.spec.node_name in lost_nodes or (limit is not None and now >= time.add(due, limit))
        )
    ]
    waits = [WARN_AFTER] if limit is None else [WARN_AFTER, limit]
    moments = [time.add(due, wait) for _, due in terminating for wait in waits]
    return StuckStep(
        deletes=forced,
        events=[
            _stuck_event(job, pod) for pod, due in terminating if now >= time.add(due, WARN_AFTER)
        ],
        requeue_at=min((each for each in moments if each > now), default=None),
    )


def is_stuck(pod: Pod, *, now: datetime) -> bool:
    """Whether the grace period of a terminating pod is over, so that its node may be lost."""
    due = _deletion_deadline(pod)
    return due is not None and now >= due


def _waits_for_finalizers(pod: Pod) -> bool:
    """Whether only finalizers keep the pod, so that another delete would change nothing."""
    return pod.metadata.deletion_grace_period_seconds == 0 and bool(pod.metadata.finalizers)


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
