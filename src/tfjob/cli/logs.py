"""`tfjob logs JOB`: the log lines of all replicas, each prefixed with the name of its replica.

With `--follow` it waits for pods that do not exist yet and continues until the job has finished.
Lines are printed unchanged, on a terminal too, as `kubectl logs` does.
"""

import argparse
import sys
from collections import deque
from collections.abc import AsyncIterable
from contextlib import aclosing
from typing import Final

from tfjob.cli import cluster, job_arguments
from tfjob.cli.output_reader import ended_with_reader
from tfjob.cli.printing import plain
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.k8s.pod import Phase
from tfjob.manager.settings import duration
from tfjob.sdk import job_logs, job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job_logs import LogLine, LogOptions
from tfjob.sdk.jobs import ClusterJob
from tfjob.sdk.kept_runs import KeptRun, find_run

_NAMED: Final = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", nargs="?", metavar="JOB", help="name of the job")
    parser.add_argument(
        "--run",
        nargs="?",
        const="",
        metavar="RUN",
        help="read the stored logs of a `tfjob run`: the name of the run, its folder (such as"
        " ./mnist), or the name of a job for its newest run (default: the newest run)",
    )
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
    if arguments.run is not None:
        return _run_of_the_past(arguments)
    if arguments.job is None:
        sys.stderr.write("error: name a job, or use --run for the logs of an earlier run\n")
        return 2
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
        await _hint_if_pending(connected, found)
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

    return cluster.run(arguments, work, looks_at=[arguments.job])


def _run_of_the_past(arguments: argparse.Namespace) -> int:
    useless = _useless_with_run(arguments)
    if useless or (arguments.job and arguments.run):
        fault = f"{', '.join(useless) or 'JOB'}: cannot be used with --run RUN"
        sys.stderr.write(f"error: {fault}; it takes --replica and --tail\n")
        return 2
    try:
        found = find_run(arguments.run or arguments.job or "")
        replicas = _chosen(found, arguments.replica)
    except TFJobError as error:
        sys.stderr.write(f"error: {plain(str(error))}\n")
        return 1
    sys.stderr.write(f"{found.record.name}: {found.state}; logs in {found.path}\n")
    for replica in replicas:
        prefix = f"[{replica}] " if len(replicas) > 1 else ""
        lines = found.lines(replica)
        if arguments.tail is not None:
            lines = iter(deque(lines, max(arguments.tail, 0)))
        for line in lines:
            sys.stdout.write(f"{prefix}{line}\n")
    return 0


def _chosen(found: KeptRun, wanted: str | None) -> list[str]:
    known = found.replicas()
    if wanted is None or wanted in known:
        return [wanted] if wanted else known
    remedy = f"these have: {', '.join(known)}" if known else "no replica has"
    raise TFJobError(f"{found.record.name}: {wanted} has no log", remedy=remedy)


def _useless_with_run(arguments: argparse.Namespace) -> list[str]:
    given = {
        "--follow": arguments.follow,
        "--container": arguments.container != TRAINING_CONTAINER,
        "--since": arguments.since is not None,
        "--previous": arguments.previous,
        "--timestamps": arguments.timestamps,
    }
    return [flag for flag, is_given in given.items() if is_given]


async def _hint_if_pending(connected: Cluster, found: ClusterJob) -> None:
    """Who asks for the log of a job that has not started wants to know why."""
    pods = [] if found.status.is_finished else await jobs.pods_of(connected, found)
    waiting = [pod for pod in pods if pod.phase is Phase.PENDING]
    if waiting:
        names = ", ".join(jobs.replica_name(found, pod) for pod in waiting[:_NAMED])
        more = f" and {len(waiting) - _NAMED} more" if len(waiting) > _NAMED else ""
        text = f"pending: {names}{more}; `tfjob explain {found.name}` says why"
        sys.stderr.write(f"{connected.with_flags(text)}\n")


async def _print(lines: AsyncIterable[LogLine], *, has_prefix: bool) -> None:
    async for line in lines:
        text = plain(line.text) if line.is_note else line.text
        prefix = f"[{line.replica}] " if has_prefix else ""
        sys.stdout.write(f"{prefix}{text}\n")
        sys.stdout.flush()
