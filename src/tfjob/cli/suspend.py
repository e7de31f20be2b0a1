"""`tfjob suspend JOB…`: delete the pods of jobs until they are resumed."""

import argparse
import sys

from tfjob.cli import cluster, job_arguments
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_changes import set_suspended


def add_arguments(parser: argparse.ArgumentParser) -> None:
    job_arguments.add_arguments(parser)
    parser.epilog = (
        "The pods of a suspended job are deleted. `tfjob resume` starts all replicas again."
    )


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        for name in arguments.jobs:
            found = await job_lookup.find(connected, name, api=arguments.api)
            is_new = await set_suspended(connected, found, is_suspended=True)
            sys.stdout.write(f"{found.title} {'suspended' if is_new else 'already suspended'}\n")
        return 0

    return cluster.run(arguments, work)
