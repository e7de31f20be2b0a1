"""Command-line flags of the dialects, taken from their descriptors."""

import argparse
from pathlib import Path
from typing import Any, Final

from tfjob.dialects.registry import DESCRIPTORS
from tfjob.manager import config_file

_FLAGS: Final = [flag for each in DESCRIPTORS for flag in each.flags]
_FILES: Final = [flag for each in DESCRIPTORS for flag in each.file_flags]


class FlagError(ValueError):
    """A flag names an invalid file; the message names both."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for file in _FILES:
        parser.add_argument(f"--{file.name}", f"--{file.alias}", metavar="PATH", help=file.help)
    for flag in _FLAGS:
        switch: dict[str, Any] = {"nargs": "?", "const": "true"} if flag.is_switch else {}
        parser.add_argument(
            f"--{flag.name}",
            choices=flag.choices,
            default=flag.choices[0],
            help=flag.help,
            **switch,
        )


def read(arguments: argparse.Namespace) -> dict[str, Any]:
    """The dialects' options that differ from their defaults."""
    chosen = {flag: _given(arguments, flag.name) for flag in _FLAGS}
    options: dict[str, Any] = {
        flag.name: value for flag, value in chosen.items() if value != flag.choices[0]
    }
    for flag in _FILES:
        path = _given(arguments, flag.name)
        if not path:
            continue
        try:
            found = config_file.read(Path(path), flag)
        except config_file.ConfigFileError as error:
            raise FlagError(f"--{flag.name} {error}") from error
        if found is not None:
            options[flag.name] = found
    return options


def _given(arguments: argparse.Namespace, name: str) -> str | None:
    found: str | None = vars(arguments)[name.replace("-", "_")]
    return found
