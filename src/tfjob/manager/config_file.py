"""The controller's configuration file: read once, when the operator starts.

A folder stands for a ConfigMap that is mounted there, and one without the file for a ConfigMap
that nobody has made: nothing is configured then. Every other trouble ends the start.
"""

from pathlib import Path
from typing import Final

import yaml

from tfjob.dialects.base import ControllerConfig
from tfjob.dialects.tensorflow.config import read_config, server_path
from tfjob.k8s import field, yaml_reading

NAMES: Final = ("controller_config_file.yaml", "controller-config-file.yaml")
"""What the file is called in a folder; the first that is there counts."""


class ConfigFileError(ValueError):
    """The configuration cannot be used; the message names the file and says why."""


def read(path: Path) -> ControllerConfig | None:
    """What the file says; None where the path is a folder that holds no such file."""
    file = _file_at(path)
    if file is None:
        return None
    value = _parsed(file)
    source = server_path(value)
    config, faults = read_config(value, server_source=_text(Path(source)) if source else "")
    if faults:
        raise ConfigFileError(f"{file}: {field.summary(faults)}; the operator does not start")
    return config


def _file_at(path: Path) -> Path | None:
    if not path.is_dir():
        return path
    return next((path / name for name in NAMES if (path / name).exists()), None)


def _parsed(file: Path) -> object:
    text = _text(file)
    try:
        return yaml_reading.load(text)
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
