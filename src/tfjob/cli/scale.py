"""`tfjob scale JOB --replicas N`: change the number of workers of a running job.

It uses the job's scale subresource, as `kubectl scale` does.
"""

import argparse
import sys

from tfjob.cli import cluster, job_arguments
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_changes import scale


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--replicas", type=_count, required=True, metavar="N", help="new number of workers"
    )
    job_arguments.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        for name in arguments.jobs:
            found = await job_lookup.find(connected, name, api=arguments.api)
            await scale(connected, found, arguments.replicas)
            sys.stdout.write(f"{found.title} scaled to {arguments.replicas} workers\n")
        return 0

    return cluster.run(arguments, work)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: is not a number of workers; use 0 or more")
    return int(text)
