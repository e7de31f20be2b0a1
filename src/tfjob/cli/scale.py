"""`tfjob scale JOB --replicas N`: change the number of workers of a running job."""

import argparse
import sys
from typing import Final

from tfjob.cli import cluster, job_arguments
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_changes import scale

_NOTE: Final = "; the job keeps its state until it is scaled up again"


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
            note = "" if arguments.replicas else _NOTE
            sys.stdout.write(f"{found.title} scaled to {arguments.replicas} workers{note}\n")
        return 0

    return cluster.run(arguments, work)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: is not a number of workers; use 0 or more")
    return int(text)
