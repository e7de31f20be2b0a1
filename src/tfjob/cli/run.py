"""`tfjob run FILE`: run a job on this machine, with the same operator as on a cluster.

The whole file is checked before anything starts. The exit code is the outcome of the job.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tfjob.cli import job_arguments, node_arguments, python_choice, signals
from tfjob.cli.advice import NOTHING_RUNS
from tfjob.cli.background import run_detached
from tfjob.cli.follower import EXIT_CODES, Follower, FollowOptions, Outcome
from tfjob.cli.printing import plain
from tfjob.cli.run_output import Screen, screen_for
from tfjob.cli.signals import Interrupts, first_of
from tfjob.core.job import TRAINING_CONTAINER, Job, ReplicaType
from tfjob.k8s import field
from tfjob.k8s.field import Fault
from tfjob.local import data_folder
from tfjob.local.apiserver.store import StoreError
from tfjob.local.cluster import LocalCluster
from tfjob.local.data_folder import DataFolderError, default_folder, export_line
from tfjob.sdk import documents, jobs
from tfjob.sdk.apply import apply_all
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.exported_objects import left_out
from tfjob.sdk.job_documents import CheckedDocument, check_all
from tfjob.sdk.kept_runs import prune, runs_folder
from tfjob.sdk.local_host import RESTART_BACKOFF
from tfjob.sdk.local_startup import STARTUP_ERRORS, logging_to, startup_error_text
from tfjob.sdk.machine_size import size_text
from tfjob.sdk.pod_templates import entry_of
from tfjob.sdk.run_folder import RunFolder

BAD_INPUT: Final = 2
BROKEN: Final = 4
_DISK_LIMIT: Final = 30.0
"""Seconds that a person has to free space on a full disk before the job is ended."""


class BrokenError(Exception):
    """The local cluster has stopped; the message says why."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="YAML file with one job; - reads stdin")
    parser.add_argument(
        "--timeout",
        type=job_arguments.limit,
        metavar="TIME",
        help="end the job after this time, such as 10m",
    )
    job_arguments.add_logs_argument(parser)
    parser.add_argument(
        "--wait",
        action="store_true",
        help="keep waiting if the job cannot run on this machine, instead of exiting with code 5,"
        " and for space on a full disk, instead of exiting with code 4",
    )
    parser.add_argument("--keep", action="store_true", help="keep the cluster running until Ctrl-C")
    parser.add_argument(
        "--detach",
        action="store_true",
        help="run the job in the background, on the local cluster; `tfjob attach` follows it",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="keep the cluster's data here (default: a temporary folder, or with --detach"
        f" {default_folder()})",
    )
    parser.add_argument(
        "--plain", action="store_true", help="print plain lines instead of a live view"
    )
    python_choice.add_argument(parser)
    node_arguments.add_arguments(parser)
    parser.epilog = (
        "Exit codes: 0 the job succeeded, 1 it failed, 2 the file has faults, 3 the timeout"
        " passed, 4 the local cluster failed, 5 the job can never run on this machine,"
        " 130 interrupted. The first Ctrl-C gives the processes their grace period, the second"
        " kills them."
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.detach and (useless := _useless_with_detach(arguments)):
        return _fail(
            f"{', '.join(useless)}: cannot be used with --detach, which does not follow the job;"
            " `tfjob attach` takes --timeout, --logs and --plain"
        )
    try:
        read = documents.read(arguments.file)
    except documents.DocumentError as error:
        return _fail(str(error))
    found = check_all(read)
    faults = [line for each in found for line in _fault_lines(each, allow_empty=arguments.wait)]
    if len(found) != 1:
        faults.append(
            f"{arguments.file}: contains {len(found)} jobs; `tfjob run` needs exactly one"
        )
    if faults or (faults := _unknown_replica(arguments.logs, found[0])):
        return _fail(*faults)
    manifests = [each.value for each in read]
    for text in filter(None, map(left_out, manifests)):
        sys.stderr.write(f"{plain(text)}\n")
    return _run_checked(manifests, arguments, job=found[0])


def _useless_with_detach(arguments: argparse.Namespace) -> list[str]:
    given = {
        "--timeout": arguments.timeout is not None,
        "--logs": arguments.logs != "all",
        "--wait": arguments.wait,
        "--keep": arguments.keep,
        "--plain": arguments.plain,
    }
    return [flag for flag, is_given in given.items() if is_given]


def _run_checked(
    manifests: Sequence[dict[str, Any]], arguments: argparse.Namespace, *, job: CheckedDocument
) -> int:
    work = run_detached if arguments.detach else _run
    try:
        return asyncio.run(work(manifests, arguments, job=job))
    except TFJobError as error:
        return _fail(str(error))
    except BrokenPipeError:
        return _without_reader(job.title)
    except (BrokenError, *STARTUP_ERRORS) as error:
        why = startup_error_text(error, arguments.data or Path(tempfile.gettempdir()))
        if isinstance(error, DataFolderError | StoreError):
            return _fail(why)
        return _fail(f"{job.title}: {why}", code=BROKEN)


async def _run(
    manifests: Sequence[dict[str, Any]], arguments: argparse.Namespace, *, job: CheckedDocument
) -> int:
    with ExitStack() as stack:
        data = arguments.data
        if data is None:
            data_folder.remove_stale(Path(tempfile.gettempdir()))
            folder = tempfile.TemporaryDirectory(prefix=data_folder.RUN_PREFIX)
            data = Path(stack.enter_context(folder))
        interrupts = stack.enter_context(Interrupts())
        python = python_choice.choose(arguments.python, os.environ)
        overcommit = node_arguments.overcommit(arguments)
        cluster = LocalCluster(
            data,
            workdir=_folder_of(arguments.file),
            dialects=jobs.stored_dialects(),
            environ=os.environ,
            backoff=RESTART_BACKOFF,
            python=python.path,
            overcommit=overcommit,
            has_real_mounts=arguments.real_mounts,
        )
        stack.enter_context(logging_to(data))
        async with cluster:
            connected = Cluster(api=cluster.api, namespace="default")
            created = await apply_all(connected, manifests, job=job.document.value)
            print(f"python: {python}", flush=True)
            if size := size_text(job, cluster.allocatable, overcommit):
                print(size, flush=True)
            options = _follow_options(arguments, python=str(python.path))
            kept = _kept_run(created, arguments, kubeconfig=cluster.kubeconfig)
            outcome = await _follow(
                cluster,
                created,
                options,
                is_plain=arguments.plain,
                interrupts=interrupts,
                kept=kept,
            )
            if arguments.keep and not interrupts.asked.is_set():
                how = export_line(cluster.kubeconfig)
                print(f"the cluster keeps running until Ctrl-C: {how}", flush=True)
                await first_of(interrupts.asked.wait(), _breakdown(cluster))
        return EXIT_CODES[outcome]


def _follow_options(arguments: argparse.Namespace, *, python: str) -> FollowOptions:
    limit = arguments.timeout.total_seconds() if arguments.timeout else None
    return FollowOptions(
        logs=arguments.logs,
        limit=limit,
        waits_if_blocked=arguments.wait,
        keeps_cluster=arguments.keep,
        python=python,
    )


def _kept_run(
    job: jobs.ClusterJob, arguments: argparse.Namespace, *, kubeconfig: Path
) -> RunFolder | None:
    """The folder that keeps this run; None, and a line that says why, if it cannot be made."""
    parent = runs_folder()
    try:
        kept = RunFolder.create(
            parent,
            job=job.name,
            file=arguments.file,
            now=datetime.now(UTC),
            kubeconfig=kubeconfig,
            namespace=job.namespace,
        )
    except OSError as error:
        print(f"logs: not kept: {parent}: {error.strerror}", flush=True)
        return None
    prune(parent)
    print(f"logs: {kept.path}", flush=True)
    return kept


async def _follow(
    cluster: LocalCluster,
    created: jobs.ClusterJob,
    options: FollowOptions,
    *,
    is_plain: bool,
    interrupts: Interrupts,
    kept: RunFolder | None,
) -> Outcome:
    connected = Cluster(api=cluster.api, namespace=created.namespace)
    state, keeps_cluster = "broken", False
    with screen_for(
        sys.stdout, title=created.name, is_plain=is_plain, interrupts=interrupts
    ) as screen:
        if kept is not None:
            kept.on_trouble = screen.message
        follower = Follower(connected, created, screen=screen, options=options, kept=kept)
        try:
            outcome = await first_of(
                follower.run(interrupts),
                _breakdown(cluster),
                _disk_reports(cluster, screen, waits=options.waits_if_blocked),
            )
            state = outcome.name.lower().replace("_", " ")
            keeps_cluster = options.keeps_cluster and not interrupts.asked.is_set()
        finally:
            if kept is not None:
                kept.finish(state, now=datetime.now(UTC), keeps_cluster=keeps_cluster)
    return outcome


async def _disk_reports(cluster: LocalCluster, screen: Screen, *, waits: bool) -> Outcome:
    """Report a full disk, and end the run if that lasts: nothing that happens can be stored."""
    if waits:
        await cluster.report_disk(screen.message)
    consequence = (
        f"the job is ended after {_DISK_LIMIT:g} s, unless there is space on that disk before"
        " (--wait keeps waiting)"
    )
    await cluster.report_disk(screen.message, limit=_DISK_LIMIT, consequence=consequence)
    raise AssertionError("report_disk never returns")


async def _breakdown(cluster: LocalCluster) -> Outcome:
    await cluster.failure()
    raise BrokenError("a part of the local cluster stopped unexpectedly, so the job was ended")


def _fault_lines(checked: CheckedDocument, *, allow_empty: bool) -> list[str]:
    document = checked.document
    faults = list(checked.faults) or _local_faults(checked, allow_empty=allow_empty)
    lines = []
    for fault in faults:
        place = f"{document.file}:{document.line_of(fault.path)}"
        text = fault.remedy.replace("\n", "\n      ")
        remedy = f"\n    remedy: {text}" if text else ""
        lines.append(f"{place}: {checked.title}: {fault.text}{remedy}")
    return lines


def _unknown_replica(wanted: str, checked: CheckedDocument) -> list[str]:
    """The fault of `--logs` naming a replica that the job does not have."""
    job = checked.decode()
    if wanted in {"all", "none"} or not isinstance(job, Job):
        return []
    counts = {replica.label.lower(): replica.count for replica in job.replicas}
    kind, _, index = wanted.rpartition("-")
    if wanted in counts or (index.isdecimal() and int(index) < counts.get(kind, 0)):
        return []
    known = ", ".join(["all", "none", *counts, *(f"{each}-0" for each in counts), "…"])
    return [f"--logs {wanted}: {checked.title} has no such replica; choose one of {known}"]


def _local_faults(checked: CheckedDocument, *, allow_empty: bool) -> list[Fault]:
    """Faults that only matter here: a container without a command, a pod field that the local
    API server does not know, no replica at all."""
    job = checked.decode()
    if not isinstance(job, Job):
        return list(job.faults) if job is not None else []
    unknown = [
        Fault(
            path,
            field.FaultKind.INVALID,
            detail="unknown pod field, which the local cluster rejects",
            remedy="remove it to run the job here",
        )
        for path in checked.unknown_pod_fields
    ]
    if job.total == 0 and not allow_empty:
        remedy = "set replicas of one type to 1 or more"
        unknown.append(field.required("spec", NOTHING_RUNS, remedy=remedy))
    return unknown + [
        field.required(
            f"{_entry(checked, replica)}.template.spec.containers[{place}].command",
            "images do not run on this machine, so every container needs a command",
            remedy="set `command` to what the image starts, such as [python, train.py]",
        )
        for replica in job.replicas
        if replica.count and not replica.commands
        for place, container in enumerate(replica.template["spec"]["containers"])
        if not container.get("command") and container.get("name") == TRAINING_CONTAINER
    ]


def _entry(checked: CheckedDocument, replica: ReplicaType) -> str:
    return entry_of(checked.document, replica.type) or f"replica {replica.type}"


def _folder_of(file: str) -> Path:
    return Path() if file == documents.STDIN else Path(file).parent


def _without_reader(title: str) -> int:
    """The reader of the output is gone, as after `| head`; buffered output is discarded."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return _fail(f"{title}: the output was closed, so the job was ended", code=signals.EXIT_CODE)


def _fail(*lines: str, code: int = BAD_INPUT) -> int:
    for line in lines:
        sys.stderr.write(f"{plain(line)}\n")
    return code
