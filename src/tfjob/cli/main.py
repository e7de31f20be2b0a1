"""The entry point of the command line: parses the arguments and runs one command.

Only the module of the requested command is imported, to keep start-up fast.
"""

import argparse
import difflib
import errno
import importlib
import io
import sys
from collections.abc import Sequence
from typing import Protocol

from tfjob import __version__

COMMANDS = {
    "run": "run a job on this machine, without a cluster",
    "local": "start and stop a small cluster on this machine",
    "validate": "check job files offline and list every fault with its line and a remedy",
    "plan": "show the pods, services and TF_CONFIG that a job would get",
    "convert": "convert jobs to another API and list what cannot be converted",
    "get": "list the jobs of a cluster",
    "explain": "say why a job does not run or why it failed, and what to do about it",
    "describe": "show a job's state, pods and events, and why it is not progressing",
    "logs": "print or follow the logs of a job's replicas",
    "wait": "wait until a job runs or has finished",
    "delete": "delete jobs",
    "operator": "run the operator, which reconciles the jobs of a Kubernetes cluster",
}
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class Command(Protocol):
    """The interface of a command's module."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    if sys.stdout is None:  # the parent process closed it
        _discard_output()
    for stream in (sys.stdout, sys.stderr):
        # Escape characters that the terminal's encoding lacks instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    name = next((word for word in words if not word.startswith("-")), None)
    parser = _parser(name)
    if name is not None and name not in COMMANDS:
        parser.error(_unknown(name))
    arguments = parser.parse_args(_rewritten(words, name))
    try:
        return _run(_command(arguments.command), arguments)
    except BrokenPipeError:
        # The reader of the output, such as `head`, has exited: not an error.
        _discard_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        sys.stderr.write(f"tfjob: cannot write the output: {error.strerror}; it is incomplete\n")
        _discard_output()
        return 1


def _run(command: Command, arguments: argparse.Namespace) -> int:
    code = command.run(arguments)
    sys.stdout.flush()  # report a write error here, not at interpreter exit
    return code


def _discard_output() -> None:
    """Drop buffered output, so that flushing it at interpreter exit does not fail again."""
    sys.stdout = io.StringIO()


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name.lower(), COMMANDS, n=1)
    hint = f"did you mean `tfjob {close[0]}`?" if close else f"choose from {', '.join(COMMANDS)}"
    return f"unknown command {name!r}; {hint}"


def _rewritten(words: list[str], name: str | None) -> list[str]:
    """The arguments after the command's own rewriting, if it accepts other spellings."""
    rewrite = getattr(_command(name), "rewrite", None) if name in COMMANDS else None
    return rewrite(words) if rewrite is not None else words


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tfjob",
        description="Run distributed TensorFlow jobs on Kubernetes or on this machine.",
        epilog="Run `tfjob COMMAND --help` for the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"tfjob {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == chosen:
            _command(name).add_arguments(sub)
    return parser


def _command(name: str) -> Command:
    module: Command = importlib.import_module(f"tfjob.cli.{name}")
    return module


if __name__ == "__main__":
    sys.exit(main())
