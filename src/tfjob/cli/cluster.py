"""The connection of a command to a cluster: its options, the API client and its errors."""

import argparse
import asyncio
import os
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
from tfjob.sdk.kept_runs import running_run
from tfjob.sdk.run_folder import RunRecord


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


def run(
    arguments: argparse.Namespace,
    work: Callable[[Cluster], Awaitable[int]],
    *,
    includes_runs: bool = False,
) -> int:
    """Call `work` with a connection; print any error as one message on stderr.

    With `includes_runs` the cluster of a `tfjob run` that is up may be used, and the namespace of
    its job. Commands that only look at a job ask for it: nothing should be changed there by
    mistake.
    """
    try:
        with printed_warnings():
            return asyncio.run(_connected(arguments, work, includes_runs=includes_runs))
    except (TFJobError, ConfigError, ApiError) as error:
        sys.stderr.write(f"error: {plain(str(readable(error)))}\n")
        return 1


async def _connected(
    arguments: argparse.Namespace,
    work: Callable[[Cluster], Awaitable[int]],
    *,
    includes_runs: bool,
) -> int:
    path = Path(arguments.kubeconfig) if arguments.kubeconfig else None
    its_namespace = ""
    if path is None and not arguments.context:
        path = _of_local_cluster()
        if path is None and includes_runs and (run := _of_run()) is not None:
            path, its_namespace = Path(run.kubeconfig), run.namespace
    config = load(path, context=arguments.context)
    everywhere = getattr(arguments, "all_namespaces", False)
    namespace = None if everywhere else arguments.namespace or its_namespace or config.namespace
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


def _of_run() -> RunRecord | None:
    """The record of the newest `tfjob run` that is up, if no other cluster is asked for."""
    found = None if os.environ.get("KUBECONFIG") else running_run()
    if found is None:
        return None
    sys.stderr.write(f"using the cluster of {found.record.name}; --kubeconfig chooses another\n")
    return found.record
