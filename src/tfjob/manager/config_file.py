"""Reads the configuration file that a dialect's flag names, once, when the operator starts.

The path may be a directory where a ConfigMap is mounted. A directory without the file means that
the optional ConfigMap does not exist: the defaults apply. Every other problem stops the start.
"""

from collections.abc import Sequence
from pathlib import Path

import yaml

from tfjob.dialects.descriptor import FileFlag
from tfjob.k8s import field, safe_yaml


class ConfigFileError(ValueError):
    """The configuration file is invalid; the message names it and says why."""


def read(path: Path, flag: FileFlag) -> object | None:
    """The configuration; None if the path is a directory without the file."""
    file = _file_at(path, flag.file_names)
    if file is None:
        return None
    config, faults = flag.read(_parsed(file), text_of=lambda name: _text(Path(name)))
    if faults:
        raise ConfigFileError(f"{file}: {field.summary(faults)}; the operator does not start")
    return config


def _file_at(path: Path, names: Sequence[str]) -> Path | None:
    if not path.is_dir():
        return path
    return next((path / name for name in names if (path / name).exists()), None)


def _parsed(file: Path) -> object:
    text = _text(file)
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
