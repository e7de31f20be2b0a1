"""`tfjob completion SHELL`: a script that completes commands, options and job names.

The script is generated from the parsers of the commands, so that it is never out of date.
"""

import argparse
import sys
from collections.abc import Iterator
from shlex import quote
from typing import Final

import msgspec

from tfjob.cli import commands

_JOB_NAMES: Final = 'tfjob get -o name 2>/dev/null | sed "s:.*/::"'
"""The names without the prefix that names their API. Fish would expand an unquoted wildcard."""
_HELP: Final = (
    "Load it with `source <(tfjob completion bash)`, `source <(tfjob completion zsh)` or"
    " `tfjob completion fish | source`. Put that line into ~/.bashrc, ~/.zshrc or"
    " ~/.config/fish/config.fish to load it in every shell."
)


class _Option(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    help: str


class _Command(msgspec.Struct, frozen=True):
    name: str
    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]
    """The words that can follow, such as `up` and `down`."""
    takes_jobs: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell to write the script for")
    parser.epilog = _HELP


def run(arguments: argparse.Namespace) -> int:
    found = [_described(name, text) for name, text in commands.COMMANDS.items()]
    sys.stdout.write("\n".join(_SCRIPTS[arguments.shell](found)) + "\n")
    return 0


def _described(name: str, text: str) -> _Command:
    options: list[_Option] = []
    words: list[str] = []
    takes_jobs = False
    for action in commands.arguments_of(name):
        if action.option_strings and action.help != argparse.SUPPRESS:
            options.append(_Option(tuple(action.option_strings), _first_line(action.help)))
        elif action.choices is not None:
            words.extend(map(str, action.choices))
        takes_jobs = takes_jobs or action.metavar == "JOB"
    unique = tuple(dict.fromkeys(options))
    return _Command(name, text, unique, tuple(words), takes_jobs)


def _first_line(text: str | None) -> str:
    return (text or "").replace("%%", "%").partition(" (default")[0]


def _bash(found: list[_Command]) -> Iterator[str]:
    yield "_tfjob() {"
    yield '  local current="${COMP_WORDS[COMP_CWORD]}" command="" words="" word'
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield '    case "$word" in -*) ;; *) command="$word"; break ;; esac'
    yield "  done"
    yield '  case "$command" in'
    yield f'    "") words={quote(" ".join(each.name for each in found))} ;;'
    for each in found:
        options = [name for option in each.options for name in option.names]
        yield f"    {each.name}) words={quote(' '.join([*each.words, *options]))}"
        if each.takes_jobs:
            yield f'      case "$current" in -*) ;; *) words="$({_JOB_NAMES})" ;; esac'
        yield "      ;;"
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield "complete -o default -F _tfjob tfjob"


def _zsh(found: list[_Command]) -> Iterator[str]:
    yield "autoload -U +X compinit && compinit"
    yield "autoload -U +X bashcompinit && bashcompinit"
    yield from _bash(found)


def _fish(found: list[_Command]) -> Iterator[str]:
    for each in found:
        is_first = "complete -c tfjob -n __fish_use_subcommand"
        yield f"{is_first} -f -a {each.name} -d {_fish_text(each.help)}"
    for each in found:
        after = f"complete -c tfjob -n '__fish_seen_subcommand_from {each.name}'"
        for word in each.words:
            yield f"{after} -f -a {word}"
        for option in each.options:
            yield f"{after} {_fish_names(option)} -d {_fish_text(option.help)}"
        if each.takes_jobs:
            yield f"{after} -f -a '({_JOB_NAMES})'"


def _fish_names(option: _Option) -> str:
    return " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    )


def _fish_text(text: str) -> str:
    """Fish knows two escapes inside single quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


_SCRIPTS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}
