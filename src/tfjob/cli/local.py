"""`tfjob local up | down | status`: a small cluster on this machine, for kubectl and the like."""

import argparse
import asyncio
import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

from tfjob.cli import job_lookup, jobs
from tfjob.cli.cluster import Cluster
from tfjob.cli.cluster_log import FILE, logging_to
from tfjob.cli.signals import Interrupts, first_of
from tfjob.cli.startup_errors import BREAKDOWNS, sentence
from tfjob.client.config import from_kubeconfig
from tfjob.client.errors import ApiError
from tfjob.client.http import Api
from tfjob.local.cluster import LocalCluster
from tfjob.local.data_folder import DataFolderError, lock_holder

_PATIENCE: Final = 30.0
_LARGEST_PORT: Final = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="up|down|status", required=True)
    up = actions.add_parser("up", help="start it here, until Ctrl-C")
    up.add_argument(
        "--port", type=_port, default=0, metavar="N", help="listen here (any free port)"
    )
    up.add_argument(
        "--workdir",
        type=_workdir,
        default=Path(),
        metavar="DIR",
        help="where commands start (here)",
    )
    actions.add_parser("down", help="end the one that runs")
    actions.add_parser("status", help="tell whether one runs, and what on it")
    for each in actions.choices.values():
        each.add_argument(
            "--data", type=Path, default=default_folder(), metavar="DIR", help="its data folder"
        )


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LARGEST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text}: is not a port; name one from 1 to {_LARGEST_PORT}, or 0 for any free one"
        )
    return int(text)


def _workdir(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(
            f"{text}: is not a folder, so no command could start there; create it, or name another"
        )
    return Path(text)


def default_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "tfjob" / "local"


def run(arguments: argparse.Namespace) -> int:
    action = {"up": _up, "down": _down, "status": _status}[arguments.action]
    try:
        return action(arguments)
    except DataFolderError as error:
        return _say(str(error))


def _up(arguments: argparse.Namespace) -> int:
    async def work() -> bool:
        cluster = LocalCluster(
            arguments.data,
            workdir=arguments.workdir,
            dialects=jobs.stored_dialects(),
            environ=os.environ,
            port=arguments.port,
        )
        with Interrupts() as heard, logging_to(arguments.data):
            async with cluster:
                print(f"tfjob local: up at {cluster.url}")
                print(f"  export KUBECONFIG={cluster.kubeconfig}")
                print("  Ctrl-C, or `tfjob local down`, ends it", flush=True)
                await first_of(_asked(heard), cluster.failure(), cluster.report_disk(_warn))
            print("tfjob local: down", flush=True)
            return heard.asked.is_set()

    try:
        if not asyncio.run(work()):
            where = arguments.data / FILE
            return _say(f"a part of the cluster ended by itself; {where} tells why")
    except BrokenPipeError:
        raise
    except BREAKDOWNS as error:
        return _say(_trouble(error, arguments))
    return 0


def _trouble(error: Exception, arguments: argparse.Namespace) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {arguments.port} is in use; name another one, or none, with --port"
    return sentence(error, arguments.data)


def _warn(sentence: str) -> None:
    sys.stderr.write(f"warning: {sentence}\n")
    sys.stderr.flush()


async def _asked(heard: Interrupts) -> None:
    await heard.asked.wait()


def _down(arguments: argparse.Namespace) -> int:
    holder = lock_holder(arguments.data)
    if holder is None:
        print(f"tfjob local: nothing runs on {arguments.data}")
        return 0
    os.kill(holder, signal.SIGTERM)
    end = time.monotonic() + _PATIENCE
    while lock_holder(arguments.data) == holder:
        if time.monotonic() > end:
            return _say(f"process {holder} did not end within {_PATIENCE:.0f} s")
        time.sleep(0.05)
    print("tfjob local: down")
    return 0


def _status(arguments: argparse.Namespace) -> int:
    holder = lock_holder(arguments.data)
    if holder is None:
        print(f"tfjob local: nothing runs on {arguments.data}")
        return 1
    kubeconfig = arguments.data.absolute() / "kubeconfig"

    async def work() -> int:
        config = from_kubeconfig(kubeconfig)
        async with Api(config) as api:
            found = (await job_lookup.find_all(Cluster(api=api, namespace=None))).found
        print(f"tfjob local: up at {config.server} (process {holder})")
        print(f"  export KUBECONFIG={kubeconfig}")
        print(
            f"  {len(found)} jobs, {sum(not each.status.is_finished for each in found)} unfinished"
        )
        return 0

    try:
        return asyncio.run(work())
    except ApiError as error:
        return _say(f"process {holder} holds the folder and does not answer: {error.message}")


def _say(sentence: str) -> int:
    sys.stderr.write(f"error: {sentence}\n")
    return 1
