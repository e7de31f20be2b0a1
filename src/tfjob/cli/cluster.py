"""The connection of a command to a cluster: its options, the API client and its errors."""

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from tfjob.cli.client_warnings import printed_warnings
from tfjob.cli.printing import plain
from tfjob.client.config import load
from tfjob.client.credentials import ConfigError
from tfjob.client.errors import ApiError, Unreachable
from tfjob.client.http import Api
from tfjob.local.data_folder import KUBECONFIG, DataFolderError, default_folder, lock_holder
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError

_REMEDY: Final = (
    "check --kubeconfig or $KUBECONFIG; `tfjob local up` starts a cluster on this machine, and"
    " `tfjob run` needs none"
)


class CommandError(TFJobError):
    """The arguments of a command ask for something that it cannot do."""


def add_arguments(parser: argparse.ArgumentParser, *, all_namespaces: bool = False) -> None:
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig file (default: $KUBECONFIG, then a running local cluster, then"
        " ~/.kube/config)",
    )
    parser.add_argument(
        "--context", metavar="NAME", help="context of the kubeconfig (default: its current context)"
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NS", help="namespace (default: that of the context)"
    )
    if all_namespaces:
        parser.add_argument(
            "-A", "--all-namespaces", action="store_true", help="include all namespaces"
        )


def run(arguments: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]) -> int:
    """Call `work` with a connection; print any error as one message on stderr."""
    try:
        with printed_warnings():
            return asyncio.run(_connected(arguments, work))
    except TFJobError as error:
        return _fail(str(error))
    except ConfigError as error:
        return _fail(f"{error}; {_REMEDY}")
    except Unreachable as error:
        return _fail(f"the cluster does not answer: {error.message}; {_REMEDY}")
    except ApiError as error:
        return _fail(error.message or str(error))


async def _connected(
    arguments: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]
) -> int:
    path = Path(arguments.kubeconfig) if arguments.kubeconfig else _of_local_cluster(arguments)
    config = load(path, context=arguments.context)
    everywhere = getattr(arguments, "all_namespaces", False)
    namespace = None if everywhere else arguments.namespace or config.namespace
    async with Api(config) as api:
        try:
            return await work(Cluster(api=api, namespace=namespace))
        except ExceptionGroup as group:
            raise _first_of(group) from None


def _first_of(group: ExceptionGroup[Exception]) -> Exception:
    """The error that ended the tasks of a command; what the others say adds nothing."""
    first = group.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first


def _of_local_cluster(arguments: argparse.Namespace) -> Path | None:
    """The kubeconfig of the user's running local cluster, if no other cluster is asked for."""
    if arguments.context or os.environ.get("KUBECONFIG"):
        return None
    folder = default_folder()
    try:
        is_up = lock_holder(folder) is not None
    except DataFolderError:  # not this user's folder, so not this user's cluster
        is_up = False
    if not is_up:
        return None
    sys.stderr.write(f"using the local cluster on {folder}; --kubeconfig chooses another\n")
    return folder / KUBECONFIG


def _fail(text: str) -> int:
    sys.stderr.write(f"error: {plain(text)}\n")
    return 1
