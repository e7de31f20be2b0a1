"""Reads the configuration file that a dialect's flag names, once, when the operator starts.

The path may be a directory where a ConfigMap is mounted. An empty directory means that the optional
ConfigMap does not exist: the defaults apply. A single file may have any name, and may be the
manifest of a ConfigMap, as `kubectl create configmap --from-file` stores it. Every other problem
stops the start.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from tfjob.dialects.descriptor import FileFlag
from tfjob.k8s import field, safe_yaml


class ConfigFileError(ValueError):
    """The configuration file is invalid; the message names it and says why."""


def read(path: Path, flag: FileFlag) -> object | None:
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
