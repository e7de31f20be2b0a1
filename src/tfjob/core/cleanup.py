"""cleanPodPolicy and ttlSecondsAfterFinished: what goes when a job has ended, and when.

A pod in which a container still runs counts as running, though its replica has ended: what holds
resources goes.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from tfjob.core.job import CleanPolicy
from tfjob.core.plan import ChildKind, Delete, deletes_of
from tfjob.k8s import time
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod


def deletes_after_completion(
    policy: CleanPolicy,
    *,
    pods: Sequence[Pod],
    jobs: Sequence[BatchJob] = (),
    services: Iterable[ObjectMeta],
    ended: AbstractSet[str],
    deletes_running: bool,
) -> list[Delete]:
    """What to delete of a finished job. `ends_unfinished`: a limit was hit, nothing may run on.

    `ended` are the UIDs of the pods and batch Jobs that do not run any more.

    A service shares the name of the pod or batch Job it belongs to, and its fate.
    """
    if policy is CleanPolicy.NONE and not deletes_running:
        return []
    takes_all = policy is CleanPolicy.ALL
    going_pods = [pod.metadata for pod in pods if takes_all or pod.metadata.uid not in ended]
    going_jobs = [job.metadata for job in jobs if takes_all or job.metadata.uid not in ended]
    gone = {meta.name for meta in (*going_pods, *going_jobs)}
    found = [*(pod.metadata for pod in pods), *(job.metadata for job in jobs)]
    kept = {meta.name for meta in found} - gone
    orphans_too = policy is not CleanPolicy.NONE
    going_services = [
        service
        for service in services
        if service.name in gone or (orphans_too and service.name not in kept)
    ]
    return [
        *deletes_of(ChildKind.POD, going_pods),
        *deletes_of(ChildKind.SERVICE, going_services),
        *deletes_of(ChildKind.JOB, going_jobs),
    ]


def expires_at(completion: datetime | None, ttl: timedelta | None) -> datetime | None:
    return None if completion is None or ttl is None else time.add(completion, ttl)
