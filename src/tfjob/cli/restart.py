"""`tfjob restart JOB`: restart all replicas of a job, or one of them.

The whole job is suspended until its pods are gone, then resumed. One replica is restarted by
deleting its pod, which the operator replaces.
"""

import argparse
import asyncio
import sys
from typing import Final

from tfjob.cli import cluster, job_arguments
from tfjob.cli.cluster import CommandError
from tfjob.client.resource import PODS
from tfjob.core.job import Job, RestartPolicy, Workload
from tfjob.core.status import ConditionType
from tfjob.k8s.pod import Phase, Pod
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.suspension import set_suspended

_POLL_INTERVAL: Final = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    parser.add_argument(
        "--replica", metavar="REPLICA", help="restart only this replica, such as worker-1"
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)
    parser.epilog = (
        "Restarts that you ask for do not count towards backoffLimit. The training resumes from its"
        " last checkpoint if the program writes checkpoints."
    )


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        if found.status.is_finished:
            raise CommandError(
                f"{found.title} has finished: {found.state}; delete it, and create it again"
            )
        if arguments.replica:
            await _restart_replica(connected, found, arguments.replica)
            sys.stdout.write(f"{found.title}: {arguments.replica} restarted\n")
        else:
            await _restart_all(connected, found)
            sys.stdout.write(f"{found.title} restarted\n")
        return 0

    return cluster.run(arguments, work)


async def _restart_replica(connected: Cluster, found: ClusterJob, replica: str) -> None:
    pods = {jobs.replica_name(found, pod): pod for pod in await jobs.pods_of(connected, found)}
    pod = pods.get(replica.lower())
    if pod is None:
        known = ", ".join(pods) or "none"
        raise CommandError(f"{found.title} has no pod of {replica!r} now; its replicas: {known}")
    if _would_fail_the_job(found, pod):
        raise CommandError(
            f"{found.title}: the restartPolicy of {replica} is Never, so the job would fail if its"
            f" pod were deleted; `tfjob restart {found.name}` restarts all replicas"
        )
    path = PODS.item(pod.metadata.name, found.namespace)
    await connected.api.delete(path, uid=pod.metadata.uid)


def _would_fail_the_job(found: ClusterJob, pod: Pod) -> bool:
    """Whether the operator takes the deletion of the pod for a failure that it does not restart."""
    if not isinstance(found.job, Job) or found.job.workload is Workload.JOB:
        return False
    if found.job.semantics.never_policy_survives_disruption:
        return False
    kind = pod.metadata.labels.get(found.job.labels.type, "").lower()
    policies = {each.label.lower(): each.restart for each in found.job.replicas}
    return pod.phase is Phase.RUNNING and policies.get(kind) is RestartPolicy.NEVER


async def _restart_all(connected: Cluster, found: ClusterJob) -> None:
    if not await set_suspended(connected, found, is_suspended=True):
        raise CommandError(f"{found.title} is suspended; `tfjob resume {found.name}` starts it")
    sys.stderr.write(f"{found.title}: waiting until its pods are gone\n")
    try:
        found = await _until_stopped(connected, found)
        await set_suspended(connected, found, is_suspended=False)
    except asyncio.CancelledError:
        sys.stderr.write(
            f"interrupted: {found.title} stays suspended; `tfjob resume {found.name}` starts it\n"
        )
        raise


async def _until_stopped(connected: Cluster, found: ClusterJob) -> ClusterJob:
    while True:
        found = await job_lookup.refreshed(connected, found)
        is_suspended = found.status.is_true(ConditionType.SUSPENDED)
        if found.status.is_finished:
            raise CommandError(f"{found.title} finished before it could restart: {found.state}")
        if is_suspended and not await jobs.pods_of(connected, found):
            return found
        await asyncio.sleep(_POLL_INTERVAL)
