"""`tfjob logs JOB`: the log lines of all replicas, each prefixed with the name of its replica.

With `--follow` it waits for pods that do not exist yet and continues until the job has finished.
Lines are printed unchanged, on a terminal too, as `kubectl logs` does.
"""

import argparse
import sys
from collections.abc import AsyncIterable
from contextlib import aclosing

from tfjob.cli import cluster, job_arguments
from tfjob.cli.output_reader import ended_with_reader
from tfjob.cli.printing import plain
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.manager.settings import duration
from tfjob.sdk import job_logs, job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_logs import LogLine, LogOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="follow until the job has finished"
    )
    parser.add_argument("--replica", metavar="NAME", help="only this replica, such as worker-0")
    parser.add_argument(
        "-c",
        "--container",
        default=TRAINING_CONTAINER,
        metavar="NAME",
        help="container of the pods (default: %(default)s)",
    )
    parser.add_argument("--tail", type=int, metavar="N", help="only the last N lines")
    parser.add_argument(
        "--since", type=duration, metavar="TIME", help="only lines newer than this, such as 5m"
    )
    parser.add_argument(
        "-p", "--previous", action="store_true", help="log of the previous run of the container"
    )
    parser.add_argument("--timestamps", action="store_true", help="print the time of each line")
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    options = LogOptions(
        replica=arguments.replica,
        container=arguments.container,
        tail=arguments.tail,
        since=arguments.since,
        previous=arguments.previous,
        timestamps=arguments.timestamps,
    )

    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        if arguments.follow:
            async with (
                ended_with_reader(),
                aclosing(job_logs.followed(connected, found, options)) as lines,
            ):
                await _print(lines, has_prefix=not options.replica)
            return 0
        pods = await job_logs.pods_with_logs(connected, found, options)
        lines = job_logs.written(connected, found, pods, options)
        await _print(lines, has_prefix=len(pods) > 1 and not options.replica)
        return 0

    return cluster.run(arguments, work)


async def _print(lines: AsyncIterable[LogLine], *, has_prefix: bool) -> None:
    async for line in lines:
        text = plain(line.text) if line.is_note else line.text
        prefix = f"[{line.replica}] " if has_prefix else ""
        sys.stdout.write(f"{prefix}{text}\n")
        sys.stdout.flush()
