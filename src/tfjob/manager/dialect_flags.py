"""Command-line flags of the dialects, taken from their descriptors, and the files that they name.

A file is read once, when the operator starts. The path may be a directory where a ConfigMap is
mounted. An empty directory means that the optional ConfigMap does not exist: the defaults apply. A
single file may have any name, and may be the manifest of a ConfigMap, as `kubectl create configmap
--from-file` stores it. Every other problem stops the start.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tfjob.dialects.descriptor import FileFlag
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.k8s import field, safe_yaml

_FLAGS: Final = [flag for each in DESCRIPTORS for flag in each.flags]
_FILES: Final = [flag for each in DESCRIPTORS for flag in each.file_flags]


class FlagError(ValueError):
    """A flag names an invalid file; the message names both."""


class ConfigFileError(ValueError):
    """The configuration file is invalid; the message names it and says why."""


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
            found = read_file(Path(path), flag)
        except ConfigFileError as error:
            raise FlagError(f"--{flag.name} {error}") from error
        if found is not None:
            options[flag.name] = found
    return options


def _given(arguments: argparse.Namespace, name: str) -> str | None:
    found: str | None = vars(arguments)[name.replace("-", "_")]
    return found


def read_file(path: Path, flag: FileFlag) -> object | None:
    """The configuration; None if the path is an empty directory."""
    file = _file_at(path, flag.file_names)
    if file is None:
        return None
    value = _unwrapped(file, _parsed(file, _text(file)), flag.file_names)
    config, faults = flag.read(value, text_of=lambda name: _text(Path(name)))
    if faults:
        raise ConfigFileError(f"{file}: {field.summary(faults)}; the operator does not start")
    return config


def _file_at(path: Path, names: Sequence[str]) -> Path | None:
    if not path.is_dir():
        return path
    known = [path / name for name in names if (path / name).exists()]
    # A kubelet keeps the data of a ConfigMap in hidden folders beside the links to it.
    others = sorted(each for each in path.iterdir() if not each.name.startswith("."))
    found = known or others
    if len(found) > 1 and not known:
        shown = ", ".join(each.name for each in found)
        raise ConfigFileError(
            f"{path}: holds several files, {shown}; call the configuration {names[0]}; the operator"
            " does not start"
        )
    return found[0] if found else None


def _unwrapped(file: Path, value: object, names: Sequence[str]) -> object:
    """The configuration inside a ConfigMap's manifest; any other value as it is."""
    if not isinstance(value, Mapping) or value.get("kind") != "ConfigMap":
        return value
    data = value.get("data")
    texts = data if isinstance(data, Mapping) else {}
    key = next((name for name in names if name in texts), None)
    if key is None and len(texts) == 1:
        key = next(iter(texts))
    if key is None:
        raise ConfigFileError(
            f"{file}: is a ConfigMap without the key {names[0]}; the operator does not start"
        )
    return _parsed(file, str(texts[key]))


def _parsed(file: Path, text: str) -> object:
    try:
        return safe_yaml.load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigFileError(
            f"{file}: not valid YAML: {error}; the operator does not start"
        ) from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigFileError(
            f"{file}: cannot be read: {error}; the operator does not start"
        ) from error
