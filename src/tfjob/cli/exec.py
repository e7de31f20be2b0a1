"""`tfjob exec REPLICA -- COMMAND`: run a command beside a replica on this machine.

The command has the replica's variables, working directory and mounts, and this terminal. It ends
with the replica, as in a container.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Final, Self

from tfjob.cli import cluster, job_arguments
from tfjob.cli.cluster import CommandError
from tfjob.cli.terminal_settings import kept_settings
from tfjob.core.job import TRAINING_CONTAINER
from tfjob.local.node.process import kill_marked
from tfjob.local.node.translate import with_local_paths
from tfjob.sdk.connection import Cluster
from tfjob.sdk.replica_process import ReplicaProcess, find_process

_WORD: Final = "--word"
_STDIN: Final = 0
_KEYS: Final = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON: Final = {each: each for each in (signal.SIGTERM, signal.SIGHUP)}
_POLL_INTERVAL: Final = 0.2
_CANNOT_START: Final = 126
_NOT_FOUND: Final = 127
_KILLED: Final = 128 + signal.SIGKILL
_FROM_THE_TERMINAL: Final = ("TERM", "COLORTERM", "LINES", "COLUMNS")
REPLICA_HELP: Final = "such as worker-0, or mnist/worker-0 with the name of its job"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("replica", metavar="REPLICA", help=REPLICA_HELP)
    parser.add_argument(_WORD, dest="words", action="append", help=argparse.SUPPRESS)
    add_cluster_arguments(parser)
    parser.usage = "tfjob exec [options] REPLICA -- COMMAND [ARGUMENT ...]"
    parser.epilog = (
        "The exit code is that of the command, or 137 if the replica ends first. Paths below"
        " a volume's mountPath become local paths, as in the replica's own command."
    )


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c",
        "--container",
        default=TRAINING_CONTAINER,
        metavar="NAME",
        help="container of the pod (default: %(default)s)",
    )
    job_arguments.add_argument(parser)
    cluster.add_arguments(parser)


def rewrite(words: list[str]) -> list[str]:
    """Everything after `--` belongs to the command, whatever it looks like."""
    if "--" not in words:
        return words
    place = words.index("--")
    return [*words[:place], *(f"{_WORD}={word}" for word in words[place + 1 :])]


def run(arguments: argparse.Namespace) -> int:
    return run_beside(arguments, words=arguments.words or ())


def run_beside(
    arguments: argparse.Namespace,
    *,
    words: Sequence[str],
    greeting: str = "",
    passed_on: Mapping[signal.Signals, signal.Signals] = _PASSED_ON,
) -> int:
    """Run these words beside the replica; the greeting names it, and is printed before.

    `passed_on` says as what the command gets the signals that are sent to this process.
    """
    found: list[ReplicaProcess] = []

    async def work(connected: Cluster) -> int:
        if not words:
            example = f"tfjob exec {arguments.replica} -- python -V"
            raise CommandError("no command is given", remedy=f"put it after --: `{example}`")
        process = await find_process(
            connected, arguments.replica, container=arguments.container, api=arguments.api
        )
        found.append(process)
        return 0

    job = (arguments.replica or "").rpartition("/")[0]
    code = cluster.run(arguments, work, looks_at=[job] if job else [])
    if not found:
        return code
    if greeting:
        sys.stderr.write(greeting.format(replica=found[0].replica.title) + "\n")
    with _SignalRelay(passed_on) as relay:
        restore = kept_settings(_STDIN)
        try:
            return _execute(found[0], words, relay)
        finally:
            restore()


class _SignalRelay:
    """A context in which signals are left to the child, so that this process ends after it.

    Keys such as Ctrl-C reach the child by the terminal, other signals are passed on to it. Those
    that come before the child is known wait for it. What is ignored, as SIGHUP is under nohup,
    stays ignored. No signal is ignored here, because the child would inherit that.
    """

    def __init__(self, passed_on: Mapping[signal.Signals, signal.Signals]) -> None:
        self._passed_on = passed_on
        self._child: subprocess.Popen[bytes] | None = None
        self._waiting: list[signal.Signals] = []
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (*_KEYS, *_PASSED_ON):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def start(self, child: "subprocess.Popen[bytes]") -> None:
        """Pass signals on to this child from now on."""
        self._child = child
        for wanted in self._waiting:
            child.send_signal(wanted)

    def _receive(self, number: int, _: FrameType | None) -> None:
        wanted = self._passed_on.get(signal.Signals(number))
        if wanted is not None and self._child is not None:
            self._child.send_signal(wanted)
        elif wanted is not None:
            self._waiting.append(wanted)


def _execute(process: ReplicaProcess, words: Sequence[str], relay: _SignalRelay) -> int:
    """Run the command until it or the replica ends; returns the exit code."""
    container = process.container
    terminal = {name: os.environ[name] for name in _FROM_THE_TERMINAL if name in os.environ}
    argv = [with_local_paths(word, container.surroundings.mounts) for word in words]
    folder = container.surroundings.cwd
    try:
        with container.namespaces() as namespaces:
            # S603: the user's own command; PLW1509: the child joins, and has one thread
            child = subprocess.Popen(  # noqa: S603
                argv,
                env={**container.env, **terminal},
                cwd=folder,
                preexec_fn=partial(namespaces.join, folder) if namespaces else None,  # noqa: PLW1509
            )
    except (OSError, subprocess.SubprocessError) as error:
        what = getattr(error, "filename", None) or words[0]
        why = getattr(error, "strerror", None) or str(error)
        sys.stderr.write(f"error: {what}: {why} in {process.replica.title}\n")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_START
    relay.start(child)
    return _wait(child, process)


def _wait(child: "subprocess.Popen[bytes]", process: ReplicaProcess) -> int:
    while True:
        try:
            code = child.wait(_POLL_INTERVAL)
        except subprocess.TimeoutExpired:
            if process.container.supervisor.is_alive():
                continue
            kill_marked(process.container.marker)
            child.kill()
            child.wait()
            sys.stderr.write(f"{process.replica.title} has ended, and the command with it\n")
            return _KILLED
        return code if code >= 0 else 128 - code
