"""Orderly shutdown: parameter servers run until the replicas that use them have ended.

A chief may save its state when it is terminated, and its variables are on the parameter servers. So
parameter servers are deleted only when no chief or worker runs any more. The wait is bounded by the
grace periods of the pods, so that a pod on a lost node does not keep the parameter servers for
ever. Neither does a pod whose deletion the API server refuses.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Final

from tfjob.core.job import TRAINING_CONTAINER, Job
from tfjob.core.observe import Children, replica_key
from tfjob.core.plan import ChildKind, Delete
from tfjob.core.plan_builder import PlanBuilder
from tfjob.k8s import time
from tfjob.k8s.pod import Phase, Pod

MARGIN: Final = timedelta(seconds=30)
"""Added to the grace period of a pod, so that its kubelet can report the end."""
REFUSED_AFTER: Final = timedelta(hours=1)
"""How long to wait for a pod whose deletion is planned but has not begun."""
RECHECK: Final = timedelta(minutes=5)
"""The interval of checks during a longer wait. A wait that ends early does not cancel its timer, so
the timer must not be a long one."""
_SERVERS: Final = frozenset({"ps"})
_USERS: Final = frozenset({"chief", "master", "worker"})
_NOT_RUNNING: Final = frozenset({Phase.PENDING, Phase.SUCCEEDED, Phase.FAILED})


def due(
    builder: PlanBuilder,
    children: Children,
    deletes: Sequence[Delete],
    *,
    since: datetime | None,
) -> list[Delete]:
    """The part of `deletes` that is due now; the job, or its run, has been ending since `since`.

    Running parameter servers are kept for chiefs and workers that still run and are to end. So are
    all services, because a replica that saves its state may have to resolve the others.
    """
    held = _running_servers(builder.job, children)
    if not held:
        return list(deletes)
    refused = time.add(since or builder.now, REFUSED_AFTER)
    deleted = {each.uid for each in deletes}
    ends = _awaited_until(builder.job, children, deleted=deleted, refused=refused)
    until = max(ends, default=builder.now)
    if until <= builder.now:
        return list(deletes)
    builder.requeue_at(min(until, time.add(builder.now, RECHECK)))
    return [each for each in deletes if each.uid not in held and each.kind != ChildKind.SERVICE]


def _running_servers(job: Job, children: Children) -> frozenset[str]:
    """UIDs of the running parameter servers, and of the batch Jobs that run them."""
    pods = _running(job, children, tasks=_SERVERS)
    found = {uid for pod in pods for uid in (pod.metadata.uid, pod.metadata.controller_uid) if uid}
    return frozenset(found)


def _awaited_until(
    job: Job, children: Children, *, deleted: AbstractSet[str], refused: datetime
) -> Iterator[datetime]:
    """When the wait ends, for each running chief and worker that is to end.

    That is `refused` for a pod in `deleted` whose deletion has not begun.
    """
    for pod in _running(job, children, tasks=_USERS):
        meta = pod.metadata
        gone_by = time.parse(meta.deletion_timestamp)
        if gone_by is not None:
            yield time.add(gone_by, MARGIN)
        elif meta.uid in deleted:
            yield refused


def _running(job: Job, children: Children, *, tasks: AbstractSet[str]) -> list[Pod]:
    labels = {each.label for each in job.replicas if each.task.lower() in tasks}
    if not labels:
        return []
    return [
        pod
        for pod in children.pods
        if (key := replica_key(job, pod.metadata)) is not None
        and key[0] in labels
        and _is_running(pod)
    ]


def _is_running(pod: Pod) -> bool:
    """Whether the training container runs, or its state is unknown."""
    if pod.phase in _NOT_RUNNING:
        return False
    status = pod.container_status(TRAINING_CONTAINER)
    return status is None or (status.state.terminated is None and status.state.waiting is None)
