"""Pods that should long be gone: told about, and taken away by force where that is safe.

Force is used only when the pod's node is gone from the cluster, or when the operator was told to.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Delete, EventType, JobEvent, Rule
from tfjob.core.time_math import shifted
from tfjob.k8s import time
from tfjob.k8s.pod import Pod

PATIENCE = timedelta(minutes=5)


class StuckStep(msgspec.Struct, frozen=True):
    deletes: Sequence[Delete] = ()
    events: Sequence[JobEvent] = ()
    look_again: datetime | None = None


def step(job: Job, pods: Sequence[Pod], *, lost_nodes: frozenset[str], now: datetime) -> StuckStep:
    leaving = [(pod, gone_by) for pod in pods if (gone_by := _gone_by(pod)) is not None]
    limit = job.rules.force_delete_after
    forced = [
        Delete(
            kind=ChildKind.POD,
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            rule=Rule.STUCK_TERMINATING,
            is_forced=True,
        )
        for pod, gone_by in leaving
        if pod.spec.node_name in lost_nodes
        or (limit is not None and now >= shifted(gone_by, limit))
    ]
    waits = [PATIENCE] if limit is None else [PATIENCE, limit]
    moments = [shifted(gone_by, wait) for _, gone_by in leaving for wait in waits]
    return StuckStep(
        deletes=forced,
        events=[_told(job, pod) for pod, gone_by in leaving if now >= shifted(gone_by, PATIENCE)],
        look_again=min((each for each in moments if each > now), default=None),
    )


def is_stuck(pod: Pod, *, now: datetime) -> bool:
    """Worth asking whether its node still exists."""
    gone_by = _gone_by(pod)
    return gone_by is not None and now >= gone_by


def _gone_by(pod: Pod) -> datetime | None:
    return time.parse(pod.metadata.deletion_timestamp)


def _told(job: Job, pod: Pod) -> JobEvent:
    phrase = job.messages.stuck_terminating
    return JobEvent(
        type=EventType.WARNING,
        reason=phrase.reason,
        message=phrase.say(pod=pod.metadata.name, node=pod.spec.node_name or "no node"),
        key=f"stuck/{pod.metadata.uid}",
    )
