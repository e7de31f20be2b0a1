"""`tfjob delete JOB…`: delete jobs, and with them their pods and services."""

import argparse
import sys

from tfjob.cli import cluster, job_lookup
from tfjob.cli.cluster import Cluster


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", nargs="+", metavar="JOB", help="names of jobs")
    job_lookup.add_argument(parser)
    cluster.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        for name in arguments.jobs:
            found = await job_lookup.find(connected, name, api=arguments.api)
            await connected.api.delete(
                found.path, uid=found.job.owner.uid, propagation="Background"
            )
            sys.stdout.write(f"{found.dialect.kind} {found.namespace}/{found.name} deleted\n")
        return 0

    return cluster.run(arguments, work)
