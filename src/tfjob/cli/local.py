"""`tfjob local up | down | status`: a small cluster on this machine for kubectl and clients."""

import argparse
import asyncio
import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

from tfjob.cli import background, node_arguments, python_choice
from tfjob.cli.signals import Interrupts, first_of
from tfjob.client.config import from_kubeconfig
from tfjob.client.errors import ApiError
from tfjob.client.http import Api
from tfjob.local.cluster import LocalCluster
from tfjob.local.data_folder import (
    KUBECONFIG,
    DataFolderError,
    default_folder,
    down_command,
    export_line,
    lock_holder,
)
from tfjob.sdk import job_lookup, jobs
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.local_startup import LOG_FILE, STARTUP_ERRORS, logging_to, startup_error_text

_STOP_TIMEOUT: Final = 30.0
_LARGEST_PORT: Final = 65_535
_UP: Final = "start the cluster, in the foreground unless --detach is given"
_DOWN: Final = "stop the cluster"
_STATUS: Final = "show whether the cluster is up, and how many jobs it has"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="up|down|status", required=True)
    up = actions.add_parser("up", help=_UP, description=f"{_UP.capitalize()}.")
    up.add_argument(
        "--port",
        type=_port,
        default=0,
        metavar="N",
        help="port of the API server (default: any free port)",
    )
    up.add_argument(
        "--workdir",
        type=_workdir,
        default=Path(),
        metavar="DIR",
        help="working directory of commands (default: the current folder)",
    )
    up.add_argument(
        "-d", "--detach", action="store_true", help="start it in the background and return"
    )
    python_choice.add_argument(up)
    node_arguments.add_arguments(up)
    for name, text in {"down": _DOWN, "status": _STATUS}.items():
        actions.add_parser(name, help=text, description=f"{text.capitalize()}.")
    for each in actions.choices.values():
        each.add_argument(
            "--data",
            type=Path,
            default=default_folder(),
            metavar="DIR",
            help="data folder of the cluster (default: %(default)s)",
        )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LARGEST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text}: is not a port; use 1 to {_LARGEST_PORT}, or 0 for any free port"
        )
    return int(text)


def _workdir(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text}: is not a folder; create it, or choose another")
    return Path(text)


def run(arguments: argparse.Namespace) -> int:
    action = {"up": _up, "down": _down, "status": _status}[arguments.action]
    try:
        return action(arguments)
    except DataFolderError as error:
        return _fail(str(error))


def _up(arguments: argparse.Namespace) -> int:
    if arguments.detach:
        return _up_detached(arguments)
    python = python_choice.choose(arguments.python, os.environ)
    down = down_command(arguments.data)

    async def work() -> bool:
        cluster = LocalCluster(
            arguments.data,
            workdir=arguments.workdir,
            dialects=jobs.stored_dialects(),
            environ=os.environ,
            port=arguments.port,
            python=python.path,
            overcommit=node_arguments.overcommit(arguments),
            has_real_mounts=arguments.real_mounts,
        )
        with Interrupts() as interrupts, logging_to(arguments.data):
            async with cluster:
                print(f"tfjob local: up at {cluster.url}")
                print(f"  {export_line(cluster.kubeconfig)}")
                print(f"  python: {python}")
                print(f"{background.READY} Ctrl-C or `{down}`", flush=True)
                await first_of(_asked(interrupts), cluster.failure(), cluster.report_disk(_warn))
            print("tfjob local: down", flush=True)
            return interrupts.asked.is_set()

    try:
        if not asyncio.run(work()):
            where = arguments.data / LOG_FILE
            return _fail(f"a part of the cluster stopped unexpectedly; see {where}")
    except BrokenPipeError:
        raise
    except STARTUP_ERRORS as error:
        return _fail(_error_text(error, arguments))
    return 0


def _up_detached(arguments: argparse.Namespace) -> int:
    options = ["--port", str(arguments.port), "--workdir", str(arguments.workdir)]
    options += [*node_arguments.flags(arguments), *python_choice.flags(arguments.python)]
    try:
        print(background.start(arguments.data, options))
    except TFJobError as error:
        return _fail(str(error))
    return 0


def _error_text(error: Exception, arguments: argparse.Namespace) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {arguments.port} is in use; choose another port, or omit --port"
    return startup_error_text(error, arguments.data)


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {text}\n")
    sys.stderr.flush()


async def _asked(interrupts: Interrupts) -> None:
    await interrupts.asked.wait()


def _down(arguments: argparse.Namespace) -> int:
    holder = lock_holder(arguments.data)
    if holder is None:
        print(f"tfjob local: no cluster is up on {arguments.data}")
        return 0
    os.kill(holder, signal.SIGTERM)
    end = time.monotonic() + _STOP_TIMEOUT
    while lock_holder(arguments.data) == holder:
        if time.monotonic() > end:
            return _fail(f"process {holder} did not stop within {_STOP_TIMEOUT:.0f} s")
        time.sleep(0.05)
    print("tfjob local: down")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    holder = lock_holder(arguments.data)
    if holder is None:
        print(f"tfjob local: no cluster is up on {arguments.data}")
        return 1
    kubeconfig = arguments.data.absolute() / KUBECONFIG

    async def work() -> int:
        config = from_kubeconfig(kubeconfig)
        async with Api(config) as api:
            found = (await job_lookup.find_all(Cluster(api=api, namespace=None))).found
        print(f"tfjob local: up at {config.server} (process {holder})")
        print(f"  {export_line(kubeconfig)}")
        print(
            f"  {len(found)} jobs, {sum(not each.status.is_finished for each in found)} unfinished"
        )
        return 0

    try:
        return asyncio.run(work())
    except ApiError as error:
        return _fail(
            f"process {holder} has locked the data folder but does not answer: {error.message}"
        )


def _fail(text: str) -> int:
    sys.stderr.write(f"error: {text}\n")
    return 1
