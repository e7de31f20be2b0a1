"""A local cluster in the background, and jobs that run on it without a terminal.

The cluster is an ordinary `tfjob local up` in a session of its own. It stays up when its jobs have
ended, so that their logs and their state can be read.
"""

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Final

from tfjob.cli import node_arguments, python_choice
from tfjob.client.config import from_kubeconfig
from tfjob.client.http import Api
from tfjob.local import data_folder
from tfjob.local.data_folder import KUBECONFIG, default_folder, lock_holder
from tfjob.local.node.devices import gpus_of_machine
from tfjob.local.node.machine import allocatable_of_machine
from tfjob.local.node.overcommit import Overcommit
from tfjob.sdk import documents, job_lookup
from tfjob.sdk.apply import apply_all
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job_documents import CheckedDocument
from tfjob.sdk.machine_size import size_text

READY: Final = "  stop it with"
"""How the last line begins that a cluster prints when it is up."""
_OUTPUT: Final = "up.log"
_POLL_INTERVAL: Final = 0.05
_START_TIMEOUT: Final = 60.0


def start(data: Path, options: Sequence[str]) -> str:
    """Start a cluster on the folder; returns what a person should know once it is up.

    It blocks. Each start writes a file of its own, so that one in vain leaves that of the running
    cluster alone.
    """
    data_folder.prepare(data)
    os.close(data_folder.lock(data))  # raises if a cluster is up
    path = data / f"{_OUTPUT}.{os.getpid()}"
    output = data_folder.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    command = [sys.executable, "-P", "-m", "tfjob.cli.main", "local", "up", "--data", str(data)]
    null = os.open(os.devnull, os.O_RDONLY)
    streams = [
        (os.POSIX_SPAWN_DUP2, null, 0),
        *((os.POSIX_SPAWN_DUP2, output, fd) for fd in (1, 2)),
    ]
    try:
        # Not a child that this process must wait for: it outlives the command.
        pid = os.posix_spawn(
            sys.executable, [*command, *options], os.environ, file_actions=streams, setsid=True
        )
    finally:
        os.close(null)
        os.close(output)
    try:
        text = _output_when_up(pid, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    path.replace(data / _OUTPUT)
    return f"{text.partition(READY)[0]}{READY} `{data_folder.down_command(data)}`"


def _output_when_up(pid: int, path: Path) -> str:
    end = time.monotonic() + _START_TIMEOUT
    while READY not in (text := path.read_text("utf-8", "replace")):
        if os.waitpid(pid, os.WNOHANG) != (0, 0):
            text = path.read_text("utf-8", "replace")
            raise TFJobError(text.strip().removeprefix("error: ") or "the cluster did not start")
        if time.monotonic() > end:
            os.kill(pid, signal.SIGTERM)
            raise TFJobError(
                f"the cluster was not up after {_START_TIMEOUT:.0f} s, and was ended",
                remedy="start it without --detach to see how far it gets",
            )
        time.sleep(_POLL_INTERVAL)
    return text


async def run_detached(
    manifests: Sequence[dict[str, Any]], arguments: argparse.Namespace, *, job: CheckedDocument
) -> int:
    """Create the objects of a file on the local cluster, which is started if it is not up."""
    data = arguments.data or default_folder()
    is_stdin = arguments.file == documents.STDIN
    folder = (Path() if is_stdin else Path(arguments.file).parent).resolve()
    if lock_holder(data) is None:
        options = ["--workdir", str(folder), *python_choice.flags(arguments.python)]
        options += node_arguments.flags(arguments)
        print(await asyncio.to_thread(start, data, options))
        _print_size(job, data, node_arguments.overcommit(arguments))
    else:
        _refuse_what_comes_too_late(data, arguments)
    placed = [in_folder(each, folder) for each in manifests]
    own = placed[next(i for i, each in enumerate(manifests) if each is job.document.value)]
    flags = "" if arguments.data is None else f" --kubeconfig {quote(str(data / KUBECONFIG))}"
    flags += _namespace_flag(own)
    async with Api(from_kubeconfig(data / KUBECONFIG)) as api:
        cluster = Cluster(api=api, namespace="default")
        await _refuse_unfinished(cluster, own, flags)
        created = await apply_all(cluster, placed, job=own)
    print(f"{job.title} runs in the background")
    print(f"  follow it with `tfjob attach {created.name}{flags}`", flush=True)
    return 0


def _namespace_flag(job: Mapping[str, Any]) -> str:
    namespace = job["metadata"].get("namespace") or "default"
    return "" if namespace == "default" else f" -n {namespace}"


async def _refuse_unfinished(cluster: Cluster, job: Mapping[str, Any], flags: str) -> None:
    """Refuse to replace a job of this name that still runs: nobody sees what would be lost."""
    name = job["metadata"].get("name")
    inside = Cluster(api=cluster.api, namespace=job["metadata"].get("namespace") or "default")
    listing = await job_lookup.find_all(inside, api=str(job["apiVersion"]))
    for found in listing.found:
        if found.name == name and not found.status.is_finished:
            raise TFJobError(
                f"{found.title} is on the local cluster already, and has not finished",
                remedy=f"follow it with `tfjob attach {name}{flags}`, or delete it first",
            )


def _print_size(job: CheckedDocument, data: Path, overcommit: Overcommit) -> None:
    allocatable = allocatable_of_machine(data, gpus=len(gpus_of_machine(os.environ)))
    if size := size_text(job, allocatable, overcommit):
        print(size)


def _refuse_what_comes_too_late(data: Path, arguments: argparse.Namespace) -> None:
    given = node_arguments.flags(arguments)
    given += ["--python"] if arguments.python is not None else []
    if given:
        flags = " and ".join(given)
        raise TFJobError(
            f"the local cluster on {data} is up already, so {flags} would have no effect",
            remedy=f"omit {flags}, or run `{data_folder.down_command(data)}` first",
        )


def in_folder(manifest: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The manifest with this working directory for every container that names none.

    A cluster that is up may have been started in another folder.
    """
    return {key: _in_folder(value, str(folder)) for key, value in manifest.items()}


def _in_folder(value: Any, folder: str) -> Any:
    if isinstance(value, list):
        return [_in_folder(each, folder) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _in_folder(each, folder) for key, each in value.items()}
    for kind in ("initContainers", "containers"):
        if isinstance(found.get(kind), list):
            found[kind] = [
                {"workingDir": folder, **each} if isinstance(each, dict) else each
                for each in found[kind]
            ]
    return found
