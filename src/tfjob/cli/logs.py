"""`tfjob logs JOB`: the log lines of all replicas, each prefixed with the name of its replica.

With `--follow` it waits for pods that do not exist yet and continues until the job has finished.
Lines are printed unchanged, on a terminal too, as `kubectl logs` does.
"""

import argparse
import asyncio
import sys
from typing import Final

from tfjob.cli import cluster, job_arguments
from tfjob.cli.cluster import CommandError
from tfjob.cli.output_reader import ended_with_reader
from tfjob.cli.printing import plain
from tfjob.client.errors import ApiError, BadRequest, NotFound
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s.pod import Pod
from tfjob.manager.settings import duration
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.pod_logs import log_lines

_POLL_INTERVAL: Final = 0.5


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
    async def work(connected: Cluster) -> int:
        found = await job_lookup.find(connected, arguments.job, api=arguments.api)
        printer = _Printer(connected, arguments)
        if arguments.follow:
            async with ended_with_reader():
                await printer.follow(found)
        else:
            await printer.once(found)
        return 0

    return cluster.run(arguments, work)


class _Printer:
    def __init__(self, connected: Cluster, arguments: argparse.Namespace) -> None:
        self._cluster = connected
        self._chosen = arguments
        self._started: set[str] = set()

    async def once(self, found: ClusterJob) -> None:
        pods = await self._pods(found)
        if not pods:
            wanted = self._chosen.replica or "any replica"
            raise CommandError(
                f"{found.name}: no pod of {wanted} exists; `tfjob describe {found.name}` shows why"
            )
        for pod in pods:
            await self._print(pod, prefix=self._prefix(found, pod, of=len(pods)))

    async def follow(self, found: ClusterJob) -> None:
        """Follow every pod that appears, until the job has finished."""
        async with asyncio.TaskGroup() as group:
            while True:
                for pod in await self._pods(found):
                    if pod.metadata.uid not in self._started and pod.status.container_statuses:
                        self._started.add(pod.metadata.uid)
                        prefix = self._prefix(found, pod, of=2)
                        group.create_task(self._print(pod, prefix=prefix))
                found = await job_lookup.refreshed(self._cluster, found)
                if found.status.is_finished:
                    return
                await asyncio.sleep(_POLL_INTERVAL)

    async def _pods(self, found: ClusterJob) -> list[Pod]:
        pods = await jobs.pods_of(self._cluster, found)
        wanted = self._chosen.replica
        return [pod for pod in pods if wanted in {None, jobs.replica_name(found, pod)}]

    def _prefix(self, found: ClusterJob, pod: Pod, *, of: int) -> str:
        is_alone = of == 1 or self._chosen.replica
        return "" if is_alone else f"[{jobs.replica_name(found, pod)}] "

    async def _print(self, pod: Pod, *, prefix: str) -> None:
        try:
            async for line in log_lines(self._cluster.api, pod, self._params()):
                _write(prefix, line)
        except (BadRequest, NotFound) as error:
            _write(prefix, f"(no log: {plain(error.message)})")
        except ApiError as error:
            _write(prefix, f"(log ended: {plain(error.message)})")

    def _params(self) -> dict[str, str]:
        chosen = self._chosen
        since = f"{max(int(chosen.since.total_seconds()), 1)}" if chosen.since else ""
        given = {
            "container": chosen.container,
            "follow": "true" if chosen.follow else "",
            "tailLines": "" if chosen.tail is None else str(chosen.tail),
            "sinceSeconds": since,
            "previous": "true" if chosen.previous else "",
            "timestamps": "true" if chosen.timestamps else "",
        }
        return {key: value for key, value in given.items() if value}


def _write(prefix: str, line: str) -> None:
    sys.stdout.write(f"{prefix}{line}\n")
    sys.stdout.flush()
