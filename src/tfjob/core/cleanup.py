"""cleanPodPolicy and ttlSecondsAfterFinished: what goes when a job has ended, and when.

A pod in which a container still runs counts as running, though its replica has ended: what holds
resources goes.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

import msgspec

from tfjob.core.job import CleanPolicy
from tfjob.core.plan import ChildKind, Delete, Rule, deletes_of
from tfjob.core.time_math import shifted
from tfjob.k8s.batch import BatchJob
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod


def removals(
    policy: CleanPolicy,
    *,
    pods: Sequence[Pod],
    jobs: Sequence[BatchJob] = (),
    services: Iterable[ObjectMeta],
    ended: AbstractSet[str],
    limit: Rule | None,
) -> list[Delete]:
    """What to delete of a finished job. `limit` is what ended it before its replicas were done:
    nothing may run on, whatever the policy. What has ended goes by the policy alone.

    `ended` are the UIDs of the pods and batch Jobs that do not run any more.

    A service shares the name of the pod or batch Job it belongs to, and its fate.
    """
    if policy is CleanPolicy.NONE and limit is None:
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
    rule = limit or Rule.CLEAN_POD_POLICY
    going = [
        *deletes_of(ChildKind.POD, going_pods, rule=rule),
        *deletes_of(ChildKind.SERVICE, going_services, rule=rule),
        *deletes_of(ChildKind.JOB, going_jobs, rule=rule),
    ]
    return [_by_policy(each) if each.uid in ended else each for each in going]


def _by_policy(delete: Delete) -> Delete:
    return msgspec.structs.replace(delete, rule=Rule.CLEAN_POD_POLICY)


def expires_at(completion: datetime | None, ttl: timedelta | None) -> datetime | None:
    return None if completion is None or ttl is None else shifted(completion, ttl)
