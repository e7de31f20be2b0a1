"""`tfjob delete JOB…`: delete jobs, and with them their pods and services."""

import argparse
import sys
from collections.abc import Sequence

from tfjob.cli import cluster, job_arguments, printing
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.job_changes import delete
from tfjob.sdk.jobs import ClusterJob


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="names of jobs")
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="all jobs with these labels"
    )
    parser.add_argument("--all", action="store_true", help="all jobs of the namespace")
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    ways = (bool(arguments.jobs), bool(arguments.selector), arguments.all)
    if sum(ways) != 1:
        sys.stderr.write("error: choose jobs by their names, by `-l LABELS`, or by `--all`\n")
        return 2

    async def work(connected: Cluster) -> int:
        if arguments.jobs:
            for name in arguments.jobs:
                await _delete(
                    connected, [await job_lookup.find(connected, name, api=arguments.api)]
                )
            return 0
        listing = await job_lookup.find_all(connected, api=arguments.api, labels=arguments.selector)
        await _delete(connected, listing.found)
        for refusal in listing.refusals:
            sys.stderr.write(f"error: not listed: {printing.plain(refusal.message)}\n")
        if not listing.found:
            sys.stderr.write(f"No jobs found in {connected.one_namespace}.\n")
        return 1 if listing.refusals else 0

    return cluster.run(arguments, work)


async def _delete(connected: Cluster, found: Sequence[ClusterJob]) -> None:
    for each in found:
        await delete(connected, each)
        sys.stdout.write(f"{each.title} deleted\n")
