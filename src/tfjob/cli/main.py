"""The entry point of the command line: parses the arguments and runs one command.

Only the module of the requested command is imported, to keep start-up fast.
"""

import argparse
import difflib
import errno
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from tfjob import __version__
from tfjob.cli import commands
from tfjob.cli.commands import Command

_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


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
    if name is not None and name not in commands.COMMANDS:
        parser.error(_unknown(name))
    arguments, unknown = parser.parse_known_args(_rewritten(words, name))
    if unknown:
        parser.error(_unrecognized(unknown, arguments.command))
    try:
        return _run(commands.load(arguments.command), arguments)
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
    close = difflib.get_close_matches(name.lower(), commands.COMMANDS, n=1)
    hint = (
        f"did you mean `{_program()} {close[0]}`?"
        if close
        else f"choose from {', '.join(commands.COMMANDS)}"
    )
    return f"unknown command {name!r}; {hint}"


def _unrecognized(words: Sequence[str], name: str) -> str:
    """The error about arguments that the command does not take."""
    option = next((each.partition("=")[0] for each in words if each.startswith("-")), "")
    known = [each for action in commands.arguments_of(name) for each in action.option_strings]
    close = difflib.get_close_matches(option, known, n=1)
    help_text = f"`{_program()} {name} --help` lists its arguments"
    hint = f"did you mean {close[0]}?" if close else help_text
    return f"unrecognized arguments: {' '.join(words)}; {hint}"


def _rewritten(words: list[str], name: str | None) -> list[str]:
    """The arguments after the command's own rewriting, if it accepts other spellings."""
    rewrite = getattr(commands.load(name), "rewrite", None) if name in commands.COMMANDS else None
    return rewrite(words) if rewrite is not None else words


def _program() -> str:
    """How the user called us: as a command, or as a plugin of kubectl."""
    return "kubectl tfjob" if Path(sys.argv[0]).name == "kubectl-tfjob" else "tfjob"


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_program(),
        description="Run distributed TensorFlow jobs on Kubernetes or on this machine.",
        epilog=f"Run `{_program()} COMMAND --help` for the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"tfjob {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in commands.COMMANDS.items():
        sub = subparsers.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name == chosen:
            commands.load(name).add_arguments(sub)
    return parser


if __name__ == "__main__":
    sys.exit(main())
