"""`tfjob restart JOB`: restart all replicas of a job, or one of them."""

import argparse
import sys

from tfjob.cli import cluster, job_arguments
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.restarting import restart_all, restart_replica


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="name of the job")
    parser.add_argument(
        "--replica", metavar="REPLICA", help="restart only this replica, such as worker-1"
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)
    parser.epilog = (
        "Restarts that you request do not count towards backoffLimit. The training resumes from its"
        " last checkpoint if the program writes checkpoints."
    )


def run(arguments: argparse.Namespace) -> int:
    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        if arguments.replica:
            await restart_replica(connected, found, arguments.replica)
            sys.stdout.write(f"{found.title}: {arguments.replica} restarted\n")
        else:
            await restart_all(connected, found, tell=_tell)
            sys.stdout.write(f"{found.title} restarted\n")
        return 0

    return cluster.run(arguments, work)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
