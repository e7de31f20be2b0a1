"""`tfjob run FILE`: train on this machine, with the operator's own rules and no cluster.

Everything in the file is checked before anything starts; the exit code is the job's verdict.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from tfjob.cli import documents, jobs, signals
from tfjob.cli.advice import NOTHING_RUNS
from tfjob.cli.apply import apply_all
from tfjob.cli.cluster import Cluster, VerbError
from tfjob.cli.cluster_log import logging_to
from tfjob.cli.follower import Follower, Verdict
from tfjob.cli.job_documents import Checked, check
from tfjob.cli.pod_templates import entry_of
from tfjob.cli.printing import plain
from tfjob.cli.run_output import Screen, screen_for
from tfjob.cli.signals import Interrupts, first_of
from tfjob.cli.startup_errors import BREAKDOWNS, sentence
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import TRAINING_CONTAINER, Job, Replica
from tfjob.dialects.base import Settings
from tfjob.k8s import field
from tfjob.k8s.field import Fault
from tfjob.local import stale_clusters
from tfjob.local.apiserver.store import StoreError
from tfjob.local.cluster import LocalCluster
from tfjob.local.data_folder import DataFolderError
from tfjob.local.node.restart_policy import Backoff
from tfjob.manager.settings import duration

SUCCEEDED: Final = 0
FAILED: Final = 1
BAD_INPUT: Final = 2
TIMED_OUT: Final = 3
BROKEN: Final = 4
_EXIT_CODES: Final = {
    Verdict.SUCCEEDED: SUCCEEDED,
    Verdict.FAILED: FAILED,
    Verdict.TIMED_OUT: TIMED_OUT,
    Verdict.INTERRUPTED: signals.EXIT_CODE,
}
_QUICK: Final = Backoff(base=1.0)
"""On one machine nobody else is waiting: the first restart in place comes after a second."""


class BrokenError(Exception):
    """The local cluster cannot go on; the message says why."""


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
        " 4 the local cluster broke down, 130 interrupted. Ctrl-C ends the job cleanly;"
        " twice, at once."
    )


def run(arguments: argparse.Namespace) -> int:
    try:
        read = documents.read(arguments.file)
    except documents.DocumentError as error:
        return _say(str(error))
    found = [each for each in map(check, read) if each is not None]
    faults = [line for each in found for line in _fault_lines(each)]
    if len(found) != 1:
        faults.append(f"{arguments.file}: holds {len(found)} jobs; `tfjob run` takes exactly one")
    if faults or (faults := _unknown_replica(arguments.logs, found[0])):
        return _say(*faults)
    return _run_checked([each.value for each in read], arguments, job=found[0])


def _run_checked(
    manifests: Sequence[dict[str, Any]], arguments: argparse.Namespace, *, job: Checked
) -> int:
    try:
        return asyncio.run(_run(manifests, arguments, job=job))
    except VerbError as error:
        return _say(str(error))
    except BrokenPipeError:
        return _without_reader(job.title)
    except (BrokenError, *BREAKDOWNS) as error:
        why = sentence(error, arguments.data or Path(tempfile.gettempdir()))
        if isinstance(error, DataFolderError | StoreError):
            return _say(why)
        return _say(f"{job.title}: {why}", code=BROKEN)


async def _run(
    manifests: Sequence[dict[str, Any]], arguments: argparse.Namespace, *, job: Checked
) -> int:
    with ExitStack() as stack:
        data = arguments.data
        if data is None:
            stale_clusters.remove(Path(tempfile.gettempdir()))
            folder = tempfile.TemporaryDirectory(prefix=stale_clusters.PREFIX)
            data = Path(stack.enter_context(folder))
        heard = stack.enter_context(Interrupts())
        cluster = LocalCluster(
            data,
            workdir=_folder_of(arguments.file),
            dialects=jobs.stored_dialects(),
            environ=os.environ,
            backoff=_QUICK,
        )
        stack.enter_context(logging_to(data))
        async with cluster:
            connected = Cluster(api=cluster.api, namespace="default")
            made = await apply_all(connected, manifests, job=job.document.value)
            verdict = await _follow(cluster, made, arguments, heard=heard)
            if arguments.keep and not heard.asked.is_set():
                print(f"the cluster stays up: export KUBECONFIG={cluster.kubeconfig}; Ctrl-C ends")
                sys.stdout.flush()
                await first_of(heard.asked.wait(), _breakdown(cluster))
        return _EXIT_CODES[verdict]


async def _follow(
    cluster: LocalCluster, made: jobs.Found, arguments: argparse.Namespace, *, heard: Interrupts
) -> Verdict:
    limit = arguments.timeout.total_seconds() if arguments.timeout else None
    connected = Cluster(api=cluster.api, namespace=made.namespace)
    with screen_for(sys.stdout, title=made.name, is_plain=arguments.plain) as screen:
        follower = Follower(connected, made, screen=screen, logs=arguments.logs)
        return await first_of(
            follower.run(limit=limit, interrupts=heard),
            _breakdown(cluster),
            _disk_reports(cluster, screen),
        )


async def _disk_reports(cluster: LocalCluster, screen: Screen) -> Verdict:
    await cluster.report_disk(screen.tell)
    raise AssertionError("reports of the disk never end")


async def _breakdown(cluster: LocalCluster) -> Verdict:
    await cluster.failure()
    raise BrokenError("a part of it ended by itself, and the job with it")


def _fault_lines(checked: Checked) -> list[str]:
    document = checked.document
    faults = [*checked.faults, *([] if checked.faults else _local_faults(checked))]
    lines = []
    for fault in faults:
        place = f"{document.file}:{document.line_of(fault.path)}"
        remedy = f"\n    remedy: {fault.remedy}" if fault.remedy else ""
        lines.append(f"{place}: {checked.title}: {fault.text}{remedy}")
    return lines


def _unknown_replica(wanted: str, checked: Checked) -> list[str]:
    """The fault of asking for the lines of a replica that the job does not have."""
    job = _decoded(checked)
    if wanted in {"all", "none"} or not isinstance(job, Job):
        return []
    counts = {replica.label.lower(): replica.count for replica in job.replicas}
    kind, _, index = wanted.rpartition("-")
    if wanted in counts or (index.isdecimal() and int(index) < counts.get(kind, 0)):
        return []
    known = ", ".join(["all", "none", *counts, *(f"{each}-0" for each in counts), "…"])
    return [f"--logs {wanted}: {checked.title} has no such replica; it may be {known}"]


def _decoded(checked: Checked) -> Job | InvalidJob | None:
    if checked.dialect is None:
        return None
    return checked.dialect.decode(checked.document.value, Settings())


def _local_faults(checked: Checked) -> list[Fault]:
    """What a cluster may take and this machine cannot run: a container that is only an image, a
    field of a newer Kubernetes, no replica at all."""
    job = _decoded(checked)
    if not isinstance(job, Job):
        return list(job.faults) if job is not None else []
    unknown = [
        Fault(
            path,
            field.FaultKind.INVALID,
            detail="unknown field of a pod, so the local cluster would refuse it",
            remedy="remove it to run the job here",
        )
        for path in checked.unknown_pod_fields
    ]
    if job.total == 0:
        remedy = "set replicas of one type to 1 or more"
        unknown.append(field.required("spec", NOTHING_RUNS, remedy=remedy))
    return unknown + [
        field.required(
            f"{_entry(checked, replica)}.template.spec.containers[{place}].command",
            "images are not run here, so every container needs a command",
            remedy="set `command` to what the image would start, such as [python, train.py]",
        )
        for replica in job.replicas
        if replica.count and not replica.commands
        for place, container in enumerate(replica.template["spec"]["containers"])
        if not container.get("command") and container.get("name") == TRAINING_CONTAINER
    ]


def _entry(checked: Checked, replica: Replica) -> str:
    return entry_of(checked.document, replica.type) or f"replica {replica.type}"


def _folder_of(file: str) -> Path:
    return Path() if file == documents.STDIN else Path(file).parent


def _without_reader(title: str) -> int:
    """Nobody reads the output any more, as after `| head`; what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _say(f"{title}: the output was closed, so the job was ended", code=signals.EXIT_CODE)


def _say(*lines: str, code: int = BAD_INPUT) -> int:
    for line in lines:
        sys.stderr.write(f"{plain(line)}\n")
    return code
