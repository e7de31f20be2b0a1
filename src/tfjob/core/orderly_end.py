"""An orderly end: parameter servers live until the replicas that use them have ended.

A chief that is told to end may save its state, and its variables are on the parameter servers. So
these are deleted only when no chief or worker runs any more. What is awaited follows from the
observed pods, and ends with their grace period: a pod that is stuck on a lost node does not keep
the parameter servers for ever. Neither does one whose deletion the API server refuses.
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
"""Added to the grace period of a pod, for its end to be reported."""
REFUSED_AFTER: Final = timedelta(hours=1)
"""How long a pod that is to end is awaited although its deletion has not begun."""
RECHECK: Final = timedelta(minutes=5)
"""How often a longer wait is checked, since the timer of a wait that ends early stays."""
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
    """The deletes that are due now, of those that end the job, or this run of it, since then.

    Parameter servers that run wait for the chief and the workers that run and are to end. So do all
    services, because a replica that saves its state may have to find the others.
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
    """UIDs of the parameter servers that run, and of the batch Jobs that run them."""
    pods = _running(job, children, tasks=_SERVERS)
    found = {uid for pod in pods for uid in (pod.metadata.uid, pod.metadata.controller_uid) if uid}
    return frozenset(found)


def _awaited_until(
    job: Job, children: Children, *, deleted: AbstractSet[str], refused: datetime
) -> Iterator[datetime]:
    """For each chief and worker that runs and is to end, when it is not awaited any longer.

    That is `refused` for those in `deleted`, whose deletion has not begun.
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
    """Its training container runs, or nothing is known of that container."""
    if pod.phase in _NOT_RUNNING:
        return False
    status = pod.container_status(TRAINING_CONTAINER)
    return status is None or (status.state.terminated is None and status.state.waiting is None)
