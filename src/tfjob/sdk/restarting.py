"""Restarts all replicas of a job, or one of them.

The whole job is suspended until its pods are gone, then resumed. One replica is restarted by
deleting its pod, which the operator replaces.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from tfjob.client.resource import PODS
from tfjob.core.job import Job, RestartPolicy, Workload
from tfjob.core.status import ConditionType
from tfjob.k8s.pod import Phase, Pod
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job_changes import set_suspended
from tfjob.sdk.jobs import ClusterJob

_POLL_INTERVAL: Final = 0.2


def _ignore(text: str) -> None:
    """For callers that do not show progress."""


async def restart_replica(cluster: Cluster, found: ClusterJob, replica: str) -> None:
    _check(found)
    pods = {jobs.replica_name(found, pod): pod for pod in await jobs.pods_of(cluster, found)}
    pod = pods.get(replica.lower())
    if pod is None:
        known = ", ".join(pods) or "none"
        raise TFJobError(f"{found.title} has no pod of {replica!r} now; its replicas: {known}")
    if _would_fail_the_job(found, pod):
        raise TFJobError(
            f"{found.title}: the restartPolicy of {replica} is Never, so the job would fail if its"
            " pod were deleted",
            remedy=f"`tfjob restart {found.name}` restarts all replicas",
        )
    path = PODS.item(pod.metadata.name, found.namespace)
    await cluster.api.delete(path, uid=pod.metadata.uid)


async def restart_all(
    cluster: Cluster, found: ClusterJob, *, tell: Callable[[str], None] = _ignore
) -> None:
    """`tell` is called with progress messages, and with a remedy if the wait is interrupted."""
    _check(found)
    if not await set_suspended(cluster, found, is_suspended=True):
        raise TFJobError(
            f"{found.title} is suspended", remedy=f"`tfjob resume {found.name}` starts it"
        )
    tell(f"{found.title}: waiting until its pods are gone")
    try:
        found = await _until_stopped(cluster, found)
        await set_suspended(cluster, found, is_suspended=False)
    except asyncio.CancelledError:
        tell(f"interrupted: {found.title} stays suspended; `tfjob resume {found.name}` starts it")
        raise


def _check(found: ClusterJob) -> None:
    if found.status.is_finished:
        raise TFJobError(
            f"{found.title} has finished: {found.state}", remedy="delete it, and create it again"
        )


def _would_fail_the_job(found: ClusterJob, pod: Pod) -> bool:
    """Whether the operator would treat the deletion of the pod as a failure without a restart."""
    if not isinstance(found.job, Job) or found.job.workload is Workload.JOB:
        return False
    if found.job.semantics.never_policy_survives_disruption:
        return False
    kind = pod.metadata.labels.get(found.job.labels.type, "").lower()
    policies = {each.label.lower(): each.restart for each in found.job.replicas}
    return pod.phase is Phase.RUNNING and policies.get(kind) is RestartPolicy.NEVER


async def _until_stopped(cluster: Cluster, found: ClusterJob) -> ClusterJob:
    while True:
        found = await job_lookup.refreshed(cluster, found)
        is_suspended = found.status.is_true(ConditionType.SUSPENDED)
        if found.status.is_finished:
            raise TFJobError(f"{found.title} finished before it could restart: {found.state}")
        if is_suspended and not await jobs.pods_of(cluster, found):
            return found
        await asyncio.sleep(_POLL_INTERVAL)
