"""`tfjob run FILE`: train on this machine, with the operator's own rules and no cluster.

Everything in the file is checked before anything starts; the exit code is the job's verdict.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tfjob.cli import documents, jobs
from tfjob.cli.applying import apply_all
from tfjob.cli.checking import Checked, check
from tfjob.cli.cluster import Cluster, VerbError
from tfjob.cli.following import Follower, Verdict
from tfjob.cli.screen import screen_for
from tfjob.client.errors import ApiError
from tfjob.core.job import TRAINING_CONTAINER, Job
from tfjob.dialects.base import Settings
from tfjob.k8s import field
from tfjob.k8s.field import Fault
from tfjob.local.cluster import FolderError, LocalCluster
from tfjob.local.node.restarts import Backoff
from tfjob.manager.settings import duration

SUCCEEDED: Final = 0
FAILED: Final = 1
BAD_INPUT: Final = 2
TIMED_OUT: Final = 3
INTERRUPTED: Final = 130
_EXIT_CODES: Final = {
    Verdict.SUCCEEDED: SUCCEEDED,
    Verdict.FAILED: FAILED,
    Verdict.TIMED_OUT: TIMED_OUT,
    Verdict.INTERRUPTED: INTERRUPTED,
}
_QUICK: Final = Backoff(base=1.0)
"""On one machine nobody else is waiting: the first restart in place comes after a second."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a YAML file with one job, or - for stdin")
    parser.add_argument("--timeout", type=duration, metavar="TIME", help="give up after (never)")
    parser.add_argument(
        "--logs", default="all", metavar="WHOSE", help="all (default), none, chief, worker-0, …"
    )
    parser.add_argument("--keep", action="store_true", help="leave the cluster up afterwards")
    parser.add_argument("--data", type=Path, metavar="DIR", help="keep all data here")
    parser.add_argument("--plain", action="store_true", help="plain lines also on a terminal")
    parser.epilog = (
        "Exit code: 0 the job succeeded, 1 it failed, 2 the file has faults, 3 not in time,"
        " 130 interrupted. Ctrl-C ends the job cleanly; twice, at once."
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        read = documents.read(arguments.file)
    except documents.DocumentError as error:
        return _refuse([str(error)])
    checked = [check(each) for each in read]
    found = [each for each in checked if each is not None]
    faults = [line for each in found for line in _fault_lines(each)]
    if len(found) != 1:
        faults.append(f"{arguments.file}: holds {len(found)} jobs; `tfjob run` takes exactly one")
    if faults:
        return _refuse(faults)
    try:
        return asyncio.run(_run([each.value for each in read], arguments, found[0]))
    except (FolderError, VerbError) as error:
        return _refuse([str(error)])
    except ApiError as error:
        return _refuse([f"{found[0].title}: {error.message}"])


async def _run(
    manifests: Sequence[dict[str, Any]], arguments: argparse.Namespace, checked: Checked
) -> int:
    folder = _folder_of(arguments.file)
    with ExitStack() as stack:
        data = arguments.data
        if data is None:
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tfjob-")))
        cluster = LocalCluster(
            data,
            workdir=folder,
            dialects=jobs.stored_dialects(),
            environ=os.environ,
            backoff=_QUICK,
        )
        async with cluster:
            connected = Cluster(api=cluster.api, namespace="default")
            job = await apply_all(connected, manifests, job=checked.document.value)
            verdict = await _follow(connected, job, arguments)
            if arguments.keep and verdict is not Verdict.INTERRUPTED:
                await _stay(cluster)
        return _EXIT_CODES[verdict]


async def _follow(connected: Cluster, job: jobs.Found, arguments: argparse.Namespace) -> Verdict:
    seconds = arguments.timeout.total_seconds() if arguments.timeout else None
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    interrupts = 0

    def interrupt() -> None:
        nonlocal interrupts
        interrupts += 1
        stop.set()
        if interrupts > 1:
            os._exit(INTERRUPTED)  # the node's supervisors end every process of every pod

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, interrupt)
    with screen_for(sys.stdout, is_plain=arguments.plain) as screen:
        follower = Follower(connected, job, screen=screen, logs=arguments.logs)
        return await follower.run(limit=seconds, stop=stop)


async def _stay(cluster: LocalCluster) -> None:
    print(f"the cluster stays up: export KUBECONFIG={cluster.kubeconfig}; Ctrl-C ends it")
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopped.set)
    await stopped.wait()


def _fault_lines(checked: Checked) -> list[str]:
    document = checked.document
    faults = [*checked.faults, *([] if checked.faults else _local_faults(checked))]
    lines = []
    for fault in faults:
        place = f"{document.file}:{document.line_of(fault.path)}"
        remedy = f"\n    remedy: {fault.remedy}" if fault.remedy else ""
        lines.append(f"{place}: {checked.title}: {fault.text}{remedy}")
    return lines


def _local_faults(checked: Checked) -> list[Fault]:
    """What a cluster could run and this machine cannot: a container that is only an image."""
    if checked.dialect is None:
        return []
    job = checked.dialect.decode(checked.document.value, Settings())
    if not isinstance(job, Job):
        return list(job.faults)
    return [
        field.required(
            f"spec.tfReplicaSpecs[{replica.type}].template.spec.containers[{place}].command",
            "images are not run here, so every container needs a command",
            remedy="set `command` to what the image would start, such as [python, train.py]",
        )
        for replica in job.replicas
        if replica.count and not replica.commands
        for place, container in enumerate(replica.template["spec"]["containers"])
        if not container.get("command") and container.get("name") == TRAINING_CONTAINER
    ]


def _folder_of(file: str) -> Path:
    return Path() if file == documents.STDIN else Path(file).parent


def _refuse(lines: Sequence[str]) -> int:
    for line in lines:
        sys.stderr.write(f"{line}\n")
    return BAD_INPUT
