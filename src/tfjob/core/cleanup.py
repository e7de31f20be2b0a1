"""cleanPodPolicy and ttlSecondsAfterFinished: what to delete of a finished job, and when.

A pod with a running container counts as running even if its replica has ended, because it still
holds resources.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

import msgspec

from tfjob.core.job import CleanPolicy
from tfjob.core.plan import ChildKind, Delete, Rule, deletes_of
from tfjob.k8s import time
from tfjob.k8s.child_types import BatchJob
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod


def deletes_after_completion(
    policy: CleanPolicy,
    *,
    pods: Sequence[Pod],
    jobs: Sequence[BatchJob] = (),
    services: Iterable[ObjectMeta],
    ended: AbstractSet[str],
    ended_by: Rule | None,
) -> list[Delete]:
    """The children of a finished job to delete.

    `ended` are the UIDs of the pods and batch Jobs that no longer run. If a limit
    ended the job early (`ended_by`), all others are deleted whatever the policy, and the limit is
    the reason. A service is deleted with the pod or batch Job whose name it has.
    """
    if policy is CleanPolicy.NONE and ended_by is None:
        return []
    is_all = policy is CleanPolicy.ALL
    deleted_pods = [pod.metadata for pod in pods if is_all or pod.metadata.uid not in ended]
    deleted_jobs = [job.metadata for job in jobs if is_all or job.metadata.uid not in ended]
    deleted = {meta.name for meta in (*deleted_pods, *deleted_jobs)}
    workloads = [*(pod.metadata for pod in pods), *(job.metadata for job in jobs)]
    kept = {meta.name for meta in workloads} - deleted
    deletes_orphans = policy is not CleanPolicy.NONE
    deleted_services = [
        service
        for service in services
        if service.name in deleted or (deletes_orphans and service.name not in kept)
    ]
    rule = ended_by or Rule.CLEAN_POD_POLICY
    deletes = [
        *deletes_of(ChildKind.POD, deleted_pods, rule=rule),
        *deletes_of(ChildKind.SERVICE, deleted_services, rule=rule),
        *deletes_of(ChildKind.JOB, deleted_jobs, rule=rule),
    ]
    return [_by_policy(each) if each.uid in ended else each for each in deletes]


def _by_policy(delete: Delete) -> Delete:
    """What had ended before is deleted by the policy, not by the limit."""
    return msgspec.structs.replace(delete, rule=Rule.CLEAN_POD_POLICY)


def expires_at(completion: datetime | None, ttl: timedelta | None) -> datetime | None:
    """When a finished job is deleted; `completion.reconcile_finished` does so."""
    return None if completion is None or ttl is None else time.add(completion, ttl)
