"""`tfjob shell [REPLICA]`: a shell beside a replica on this machine."""

import argparse
import os
import signal
from typing import Final

from tfjob.cli import exec  # noqa: A004 - the command of that name

_DEFAULT: Final = "/bin/sh"
_PASSED_ON: Final = dict.fromkeys((signal.SIGTERM, signal.SIGHUP), signal.SIGHUP)
"""An interactive shell ignores SIGTERM."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "replica",
        nargs="?",
        metavar="REPLICA",
        help=f"{exec.REPLICA_HELP} (default: the first one)",
    )
    exec.add_cluster_arguments(parser)
    parser.epilog = "The shell is $SHELL. It ends with the replica; `exit` ends only the shell."


def run(arguments: argparse.Namespace) -> int:
    shell = os.environ.get("SHELL") or _DEFAULT
    greeting = f"{shell} in the environment of {{replica}}; `exit` ends the shell"
    return exec.run_beside(arguments, words=[shell], greeting=greeting, passed_on=_PASSED_ON)
