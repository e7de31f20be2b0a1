"""`tfjob scale JOB --replicas N`: change the number of workers of a running job.

It uses the job's scale subresource, as `kubectl scale` does.
"""

import argparse
import sys

from tfjob.cli import cluster, job_arguments
from tfjob.cli.cluster import CommandError
from tfjob.client.http import PartialObjectMetadata
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob, resource_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--replicas", type=_count, required=True, metavar="N", help="new number of workers"
    )
    job_arguments.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        for name in arguments.jobs:
            found = await job_lookup.find(connected, name, api=arguments.api)
            await _scale(connected, found, arguments.replicas)
            sys.stdout.write(f"{found.title} scaled to {arguments.replicas} workers\n")
        return 0

    return cluster.run(arguments, work)


async def _scale(connected: Cluster, found: ClusterJob, count: int) -> None:
    if found.status.is_finished:
        raise CommandError(f"{found.title} has finished: {found.state}")
    if not _has_scale(found):
        raise CommandError(
            f"{found.title}: {found.dialect.group}/{found.dialect.version} jobs cannot be scaled;"
            " delete the job, and create it again with another number of replicas"
        )
    path = resource_of(found.dialect).item(found.name, found.namespace, subresource="scale")
    await connected.api.patch(path, {"spec": {"replicas": count}}, decode=PartialObjectMetadata)


def _has_scale(found: ClusterJob) -> bool:
    versions = found.dialect.crd()["spec"]["versions"]
    return any("scale" in each.get("subresources", {}) for each in versions)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: is not a number of workers; use 0 or more")
    return int(text)
