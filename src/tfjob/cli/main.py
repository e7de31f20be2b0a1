"""The command line: finds the verb and hands over to its file.

Only the verb that was asked for is imported, so that the quick ones start quickly.
"""

import argparse
import errno
import importlib
import io
import sys
from collections.abc import Sequence
from typing import Protocol

from tfjob import __version__

VERBS = {
    "run": "train on this machine, without a cluster",
    "local": "a small cluster on this machine: up, down, status",
    "validate": "check files offline: every fault, with its place and a remedy",
    "plan": "show the pods, services and TF_CONFIG that a job would get",
    "convert": "say the same jobs in another API, and tell what is lost",
    "get": "list the jobs of a cluster",
    "describe": "tell where a job stands and why it does not go on",
    "logs": "print or follow the log lines of all replicas",
    "wait": "wait until a job has ended or runs",
    "delete": "delete jobs",
    "operator": "run jobs on a Kubernetes cluster, as its operator",
}
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class Verb(Protocol):
    """What a verb's module offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    if sys.stdout is None:  # closed by whoever started us: nobody reads
        _give_up_output()
    for stream in (sys.stdout, sys.stderr):
        # What a job holds may not fit the terminal's alphabet: better spelt out than a failure.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = list(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in words if not word.startswith("-")), None)
    parser = _parser(verb)
    arguments = parser.parse_args(_rewritten(words, verb))
    try:
        return _run(_verb(arguments.verb), arguments)
    except BrokenPipeError:
        # The reader of our output (head, less) has had enough: that is no failure of ours.
        _give_up_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in _UNWRITABLE:
            raise
        sys.stderr.write(f"tfjob: the output cannot be written: {error.strerror}; it is cut off\n")
        _give_up_output()
        return 1


def _run(verb: Verb, arguments: argparse.Namespace) -> int:
    code = verb.run(arguments)
    sys.stdout.flush()  # a failure to write is ours to tell, not the interpreter's
    return code


def _give_up_output() -> None:
    """What waits to be written must not fail a second time when the interpreter ends."""
    sys.stdout = io.StringIO()


def _rewritten(words: list[str], verb: str | None) -> list[str]:
    """The words in the form the parser knows, where a verb takes others too."""
    rewrite = getattr(_verb(verb), "rewrite", None) if verb in VERBS else None
    return rewrite(words) if rewrite is not None else words


def _parser(verb: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tfjob",
        description="Distributed TensorFlow jobs, on any Kubernetes and on this machine.",
        epilog="`tfjob VERB --help` tells more about a verb.",
    )
    parser.add_argument("--version", action="version", version=f"tfjob {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, text in VERBS.items():
        sub = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == verb:
            _verb(name).add_arguments(sub)
    return parser


def _verb(name: str) -> Verb:
    module: Verb = importlib.import_module(f"tfjob.cli.{name}")
    return module


if __name__ == "__main__":
    sys.exit(main())
