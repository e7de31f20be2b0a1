"""cleanPodPolicy and ttlSecondsAfterFinished: what goes when a job has ended, and when.

A pod still running because of a sidecar counts as running here: what holds resources goes.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from tfjob.core.job import CleanPolicy
from tfjob.core.plan import ChildKind, Delete, deletes_of
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Phase, Pod

_ENDED = frozenset({Phase.SUCCEEDED, Phase.FAILED})


def removals_of_jobs(
    policy: CleanPolicy, *, jobs: Sequence[BatchJob], ends_unfinished: bool
) -> list[Delete]:
    """Batch Jobs to delete, where those run the replicas; their pods follow them."""
    if policy is CleanPolicy.NONE and not ends_unfinished:
        return []
    return deletes_of(
        ChildKind.JOB,
        (job.metadata for job in jobs if policy is CleanPolicy.ALL or job.status.succeeded == 0),
    )


def removals(
    policy: CleanPolicy,
    *,
    pods: Sequence[Pod],
    services: Iterable[ObjectMeta],
    ends_unfinished: bool,
) -> list[Delete]:
    """Pods and services to delete. `ends_unfinished`: a limit was hit, so nothing may run on."""
    if policy is CleanPolicy.NONE and not ends_unfinished:
        return []
    going = [pod for pod in pods if policy is CleanPolicy.ALL or pod.phase not in _ENDED]
    gone = {pod.metadata.name for pod in going}
    kept = {pod.metadata.name for pod in pods} - gone
    orphans_too = policy is not CleanPolicy.NONE
    return [
        *deletes_of(ChildKind.POD, (pod.metadata for pod in going)),
        *deletes_of(
            ChildKind.SERVICE,
            (
                service
                for service in services
                if service.name in gone or (orphans_too and service.name not in kept)
            ),
        ),
    ]


def expires_at(completion: datetime | None, ttl: timedelta | None) -> datetime | None:
    return None if completion is None or ttl is None else completion + ttl
