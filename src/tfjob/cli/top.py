"""`tfjob top JOB`: CPU and memory of each replica of a job, from the metrics API."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from typing import Final

from tfjob.cli import cluster, job_arguments, printing
from tfjob.cli.cluster import CommandError
from tfjob.cli.output_reader import ended_with_reader
from tfjob.client.errors import ApiError, Forbidden
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.pod_usage import PodUsage, usage_by_pod

_HEAD: Final = ("REPLICA", "CPU", "MEMORY", "LIMIT", "GPUS", "PHASE")
_MEBI: Final = 2**20
_MILLI: Final = 10**6
_INTERVAL: Final = 2.0
_UNKNOWN: Final = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    parser.add_argument(
        "-w", "--watch", action="store_true", help="print again every two seconds, until Ctrl-C"
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)
    parser.epilog = (
        "CPU is in thousandths of a core. A real cluster needs metrics-server; the local cluster"
        " does not."
    )


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        async with ended_with_reader():
            while True:
                sys.stdout.write(await _table(connected, found) + "\n")
                sys.stdout.flush()
                if not arguments.watch:
                    return 0
                await asyncio.sleep(_INTERVAL)

    return cluster.run(arguments, work, looks_at=[arguments.job])


async def _table(connected: Cluster, found: ClusterJob) -> str:
    usage = await _usage(connected, found)
    rows = []
    for pod in await jobs.pods_of(connected, found):
        replica = jobs.replica_name(found, pod)
        cpu, memory = _texts(usage.get(pod.metadata.name))
        limit = jobs.memory_limit(found, replica) or _UNKNOWN
        rows.append([replica, cpu, memory, limit, jobs.gpus(found, replica), str(pod.phase)])
    if not rows:
        raise CommandError(
            f"{found.title} has no pods", remedy=f"`tfjob explain {found.name}` says why"
        )
    return printing.table(_HEAD, rows)


async def _usage(connected: Cluster, found: ClusterJob) -> Mapping[str, PodUsage]:
    try:
        return await usage_by_pod(connected, found)
    except Forbidden:
        raise
    except ApiError as error:
        raise CommandError(
            f"the cluster does not measure its pods: {error.message}",
            remedy="ask its administrator for metrics-server",
        ) from error


def _texts(usage: PodUsage | None) -> tuple[str, str]:
    if usage is None:
        return _UNKNOWN, _UNKNOWN
    return f"{usage.cpu.nano // _MILLI}m", f"{usage.memory.rounded_up() // _MEBI}Mi"
