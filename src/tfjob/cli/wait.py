"""`tfjob wait JOB`: wait until a job has finished or runs; the exit code is the outcome."""

import argparse
import asyncio
import sys
from typing import Final

from tfjob.cli import cluster, job_lookup
from tfjob.cli.cluster import Cluster
from tfjob.cli.condition_text import condition_text
from tfjob.cli.job_diagnosis import sentence
from tfjob.cli.jobs import ClusterJob
from tfjob.cli.printing import plain_line
from tfjob.core.status import ConditionType
from tfjob.manager.settings import duration

SUCCEEDED: Final = 0
FAILED: Final = 1
TIMED_OUT: Final = 3
_POLL_INTERVAL: Final = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    parser.add_argument(
        "--for",
        dest="state",
        choices=("finished", "running"),
        default="finished",
        help="state to wait for (default: finished)",
    )
    parser.add_argument(
        "--timeout",
        type=duration,
        metavar="TIME",
        help="stop waiting after this time, such as 10m; 0 checks once",
    )
    job_lookup.add_argument(parser)
    cluster.add_arguments(parser)
    parser.epilog = "Exit codes: 0 succeeded (or running), 1 failed, 3 the timeout passed."


def run(arguments: argparse.Namespace) -> int:
    seconds = None if arguments.timeout is None else arguments.timeout.total_seconds()

    async def work(connected: Cluster) -> int:
        job = await job_lookup.find(connected, arguments.job, api=arguments.api)
        try:
            async with asyncio.timeout(seconds):
                found = await _wait_for(connected, job, arguments.state)
        except TimeoutError:
            sys.stderr.write(
                f"error: {arguments.job} is not {arguments.state} after {seconds:g} s\n"
            )
            return TIMED_OUT
        last = found.status.conditions[-1]
        why = found.status.diagnosis
        sys.stdout.write(
            f"{found.name}: {plain_line(last.type)}: {plain_line(condition_text(found, last))}\n"
        )
        if not found.status.is_true(ConditionType.FAILED):
            return SUCCEEDED
        if why is not None:
            sys.stdout.write(f"{found.name}: {plain_line(sentence(found, why))}\n")
        return FAILED

    return cluster.run(arguments, work)


async def _wait_for(connected: Cluster, found: ClusterJob, state: str) -> ClusterJob:
    while True:
        runs = state == "running" and found.status.is_true(ConditionType.RUNNING)
        if runs or found.status.is_finished:
            return found
        await asyncio.sleep(_POLL_INTERVAL)
        found = await job_lookup.refreshed(connected, found)
