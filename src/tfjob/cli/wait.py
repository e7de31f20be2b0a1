"""`tfjob wait JOB`: wait until a job has finished or runs; the exit code is the outcome."""

import argparse
import sys
from typing import Final

from tfjob.cli import cluster, job_arguments
from tfjob.cli.printing import plain_line
from tfjob.core.status import ConditionType
from tfjob.manager.settings import duration
from tfjob.sdk import job_lookup
from tfjob.sdk.condition_text import condition_text
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import JobTimeoutError
from tfjob.sdk.explanation import sentence
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.waiting import until

SUCCEEDED: Final = 0
FAILED: Final = 1
TIMED_OUT: Final = 3


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
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)
    parser.epilog = "Exit codes: 0 succeeded (or running), 1 failed, 3 the timeout passed."


def run(arguments: argparse.Namespace) -> int:
    seconds = None if arguments.timeout is None else arguments.timeout.total_seconds()

    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        try:
            found = await until(connected, found, arguments.state, limit=seconds)
        except JobTimeoutError as late:
            sys.stderr.write(f"error: {plain_line(str(late))}\n")
            return TIMED_OUT
        return _report(found)

    return cluster.run(arguments, work, looks_at=[arguments.job])


def _report(found: ClusterJob) -> int:
    """Print what became of the job; the exit code."""
    last, why = found.status.conditions[-1], found.status.diagnosis
    sys.stdout.write(
        f"{found.name}: {plain_line(last.type)}: {plain_line(condition_text(found, last))}\n"
    )
    if not found.status.is_true(ConditionType.FAILED):
        return SUCCEEDED
    if why is not None:
        sys.stdout.write(f"{found.name}: {plain_line(sentence(found, why))}\n")
    return FAILED
