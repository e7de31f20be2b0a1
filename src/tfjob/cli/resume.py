"""`tfjob resume JOB…`: start suspended jobs again."""

import argparse
import sys

from tfjob.cli import cluster, job_arguments
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_changes import set_suspended


def add_arguments(parser: argparse.ArgumentParser) -> None:
    job_arguments.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        for name in arguments.jobs:
            found = await job_lookup.find(connected, name, api=arguments.api)
            is_new = await set_suspended(connected, found, is_suspended=False)
            sys.stdout.write(f"{found.title} {'resumed' if is_new else 'not suspended'}\n")
        return 0

    return cluster.run(arguments, work)
