"""A configuration file that a flag of one dialect names: read once, when the operator starts.

A folder stands for a ConfigMap that is mounted there, and one without the file for a ConfigMap
that nobody has made: nothing is configured then. Every other trouble ends the start.
"""

from collections.abc import Sequence
from pathlib import Path

import yaml

from tfjob.dialects.descriptor import FileFlag
from tfjob.k8s import field, safe_yaml


class ConfigFileError(ValueError):
    """The configuration cannot be used; the message names the file and says why."""


def read(path: Path, flag: FileFlag) -> object | None:
    """What the flag's file says; None where the path is a folder that holds no such file."""
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
            f"{file}: is no YAML: {error}; the operator does not start"
        ) from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigFileError(
            f"{file}: cannot be read: {error}; the operator does not start"
        ) from error
