"""`tfjob attach JOB`: follow a job as `tfjob run` does; Ctrl-C does not end the job."""

import argparse
import sys

from tfjob.cli import cluster, job_arguments
from tfjob.cli.follower import EXIT_CODES, Follower, FollowOptions
from tfjob.cli.run_output import screen_for
from tfjob.cli.signals import Interrupts
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    job_arguments.add_logs_argument(parser)
    parser.add_argument(
        "--timeout", type=job_arguments.limit, metavar="TIME", help="stop following after this time"
    )
    parser.add_argument(
        "--plain", action="store_true", help="print plain lines instead of a live view"
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)
    parser.epilog = (
        "Exit codes: 0 the job succeeded, 1 it failed, 3 the timeout passed, 130 interrupted. In"
        " the last two cases the job keeps running."
    )


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        limit = arguments.timeout.total_seconds() if arguments.timeout else None
        options = FollowOptions(
            logs=arguments.logs,
            limit=limit,
            waits_if_blocked=True,
            keeps_cluster=True,
            detaches=True,
        )
        with (
            Interrupts() as interrupts,
            screen_for(
                sys.stdout, title=found.name, is_plain=arguments.plain, interrupts=interrupts
            ) as screen,
        ):
            follower = Follower(connected, found, screen=screen, options=options)
            return EXIT_CODES[await follower.run(interrupts)]

    return cluster.run(arguments, work, looks_at=[arguments.job])
