"""The connection of a command to a cluster: its options, the API client and its errors."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from tfjob.cli.client_warnings import printed_warnings
from tfjob.cli.printing import plain
from tfjob.client.config import load
from tfjob.client.credentials import ConfigError
from tfjob.client.errors import ApiError
from tfjob.client.http import Api
from tfjob.sdk.connection import Cluster, first_of, kubeconfig_of_local_cluster, readable
from tfjob.sdk.errors import TFJobError


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
    except (TFJobError, ConfigError, ApiError) as error:
        sys.stderr.write(f"error: {plain(str(readable(error)))}\n")
        return 1


async def _connected(
    arguments: argparse.Namespace, work: Callable[[Cluster], Awaitable[int]]
) -> int:
    path = Path(arguments.kubeconfig) if arguments.kubeconfig else None
    if path is None and not arguments.context:
        path = _of_local_cluster()
    config = load(path, context=arguments.context)
    everywhere = getattr(arguments, "all_namespaces", False)
    namespace = None if everywhere else arguments.namespace or config.namespace
    async with Api(config) as api:
        try:
            return await work(Cluster(api=api, namespace=namespace))
        except ExceptionGroup as group:
            raise first_of(group) from None


def _of_local_cluster() -> Path | None:
    """The kubeconfig of the user's running local cluster, if no other cluster is asked for."""
    path = kubeconfig_of_local_cluster()
    if path is not None:
        folder = path.parent
        sys.stderr.write(f"using the local cluster on {folder}; --kubeconfig chooses another\n")
    return path
