"""The connection of a command to a cluster: its options, its client, its errors and warnings."""

import argparse
import asyncio
import logging
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tfjob.cli.printing import plain, plain_line
from tfjob.client.config import Config, load
from tfjob.client.credentials import ConfigError, NotConfiguredError
from tfjob.client.errors import ApiError, Transient
from tfjob.client.http import Api
from tfjob.sdk.connection import Cluster, first_of, kubeconfig_of_local_cluster, readable
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.kept_runs import kept_runs, running_run
from tfjob.sdk.run_folder import SUCCEEDED, RunRecord

_WARNING_INTERVAL: Final = 60.0
_LOGGER: Final = "tfjob.client"


class CommandError(TFJobError):
    """The arguments of a command ask for something that it cannot do."""


class _RunEndedError(TFJobError):
    """The run whose cluster is used has ended, and its cluster with it."""

    def __init__(self, record: RunRecord) -> None:
        how = f" ({record.outcome})" if record.outcome else ""
        super().__init__(
            f"{record.name} has ended{how}, and its cluster with it",
            remedy=f"`tfjob logs --run {record.name}` shows its logs",
        )
        self.has_succeeded = record.outcome == SUCCEEDED


def add_arguments(parser: argparse.ArgumentParser, *, all_namespaces: bool = False) -> None:
    parser.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="kubeconfig file (default: $KUBECONFIG, then a running local cluster, then"
        " ~/.kube/config); before ~/.kube/config, commands that only read use the cluster of an"
        " active `tfjob run` of the job",
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
    looks_at: Sequence[str] | None = None,
) -> int:
    """Call `work` with a connection; print any error as one message on stderr.

    Commands that only look give the names of their jobs as `looks_at`, empty if they have none.
    They may use the cluster of a `tfjob run` that is up, and the namespace of its job.
    """
    try:
        with printed_warnings():
            return asyncio.run(_connected(arguments, work, looks_at))
    except _RunEndedError as end:
        sys.stderr.write(f"{plain(str(end))}\n")
        return 0 if end.has_succeeded else 1
    except (TFJobError, ConfigError, ApiError) as error:
        sys.stderr.write(f"error: {plain(str(readable(error)))}\n")
        return 1


async def _connected(
    arguments: argparse.Namespace,
    work: Callable[[Cluster], Awaitable[int]],
    looks_at: Sequence[str] | None,
) -> int:
    config, run = _chosen(arguments, looks_at)
    its_namespace, flags = "", ""
    if run is not None:
        sys.stderr.write(f"using the cluster of {run.name}; --kubeconfig chooses another\n")
        its_namespace, flags = run.namespace, _flags_for(run, config)
    everywhere = getattr(arguments, "all_namespaces", False)
    namespace = None if everywhere else arguments.namespace or its_namespace or config.namespace
    async with Api(config) as api:
        connected = Cluster(api=api, namespace=namespace, flags=flags)
        try:
            return await work(connected)
        except (ExceptionGroup, TFJobError, Transient) as caught:
            error = first_of(caught) if isinstance(caught, ExceptionGroup) else caught
            _add_flags(error, connected)
            if run is not None and isinstance(error, Transient):
                error = _with_its_run(error, run)
            raise error from None


def _with_its_run(error: Transient, run: RunRecord) -> Exception:
    """What a command that has lost the cluster of a run reports: its end, if it has ended."""
    now = next((each.record for each in kept_runs() if each.record.name == run.name), run)
    return error if now.has_cluster else _RunEndedError(now)


def _flags_for(run: RunRecord, config: Config) -> str:
    flags = f"--kubeconfig {shlex.quote(run.kubeconfig)}"
    is_default = run.namespace in {"", config.namespace}
    return flags if is_default else f"{flags} -n {run.namespace}"


def _add_flags(error: Exception, connected: Cluster) -> None:
    if isinstance(error, TFJobError):
        error.remedy = connected.with_flags(error.remedy)


def _chosen(
    arguments: argparse.Namespace, looks_at: Sequence[str] | None
) -> tuple[Config, RunRecord | None]:
    """The cluster to use, and the run if it is that of one.

    The cluster of a run is used only to look at its own job, or if no other one is configured:
    else a command that looks would see another cluster than the commands that change something.
    """
    path = Path(arguments.kubeconfig) if arguments.kubeconfig else None
    if path is None and not arguments.context:
        path = _of_local_cluster()
    is_chosen = path is not None or arguments.context or os.environ.get("KUBECONFIG")
    if is_chosen or looks_at is None:
        return load(path, context=arguments.context), None
    run = _run_of(looks_at, arguments.namespace or "")
    if run is not None:
        return load(Path(run.kubeconfig)), run
    try:
        return load(), None
    except NotConfiguredError:
        found = running_run()
        if found is None:
            raise
        return load(Path(found.record.kubeconfig)), found.record


def _run_of(names: Sequence[str], namespace: str) -> RunRecord | None:
    """The newest run of the job that a command names, if it names no other."""
    jobs = {name.rpartition("/")[2] for name in names}
    found = running_run(jobs.pop(), namespace=namespace) if len(jobs) == 1 else None
    return None if found is None else found.record


def _of_local_cluster() -> Path | None:
    """The kubeconfig of the user's running local cluster, if no other cluster is asked for."""
    path = kubeconfig_of_local_cluster()
    if path is not None:
        folder = path.parent
        sys.stderr.write(f"using the local cluster on {folder}; --kubeconfig chooses another\n")
    return path


@contextmanager
def printed_warnings() -> Iterator[None]:
    """Print the warnings of the API client as lines on stderr."""
    logger, handler = logging.getLogger(_LOGGER), _WarningPrinter()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _WarningPrinter(logging.Handler):
    """Prints each warning once a minute: all watches of a command warn of the same outage."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._printed: dict[str, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.created - self._printed.get(text, -_WARNING_INTERVAL) < _WARNING_INTERVAL:
            return
        self._printed[text] = record.created
        fault = getattr(record, "fault", "")
        text = f"{text}, trying again: {fault}" if fault else text
        sys.stderr.write(f"warning: {plain_line(text)}\n")
