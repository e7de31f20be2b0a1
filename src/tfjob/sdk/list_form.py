"""Shows how to write the list of replica types of an older API as the map of a TFJob.

A CRD schema cannot accept both forms. The remedy contains the converted field, ready to be pasted.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.base import Manifest
from tfjob.dialects.kubeflow import api
from tfjob.k8s.field import Fault

_SPECS = "tfReplicaSpecs"
_LISTS = {"tfreplicaspecs", "tfreplicaspec", "replicaspecs", "replica_specs"}
"""Names of the list in older APIs and documents, in lower case."""
_KEYS = {"replicas": "replicas", "template": "template", "restartpolicy": "restartPolicy"}
_TYPES = ("tfreplicatype", "replicatype", "type", "name")
"""Names of the field with the type of an entry, in lower case."""
_OLD_VERSION = "kubeflow.org/v1beta1"
_OLD_DEFAULT = "MASTER"
"""The type of an entry without one in the documents of the older version."""
_API_GROUP = "kubeflow.org/"
_CONTAINER = {"name": TRAINING_CONTAINER, "image": "tensorflow/tensorflow:2.19.0"}
_EXAMPLE = {"Worker": {"replicas": 1, "template": {"spec": {"containers": [_CONTAINER]}}}}


def with_map_form(manifest: Manifest, faults: Iterable[Fault]) -> list[Fault]:
    """The faults; that of a list of replica types gets the map as its remedy."""
    found = list(faults)
    spec, version = manifest.get("spec"), str(manifest.get("apiVersion"))
    if not version.startswith(_API_GROUP) or not isinstance(spec, Mapping):
        return found
    for key, value in spec.items():
        if str(key).lower() in _LISTS and isinstance(value, list):
            remedy = _remedy(value, default=_OLD_DEFAULT if version == _OLD_VERSION else "")
            own = f"spec.{key}"
            return [
                msgspec.structs.replace(each, remedy=remedy) if each.path == own else each
                for each in found
            ]
    return found


def _remedy(entries: list[Any], *, default: str) -> str:
    form = _map_form(entries, default=default)
    try:
        text = yaml.safe_dump({_SPECS: form or _EXAMPLE}, sort_keys=False).rstrip()
    except (yaml.YAMLError, RecursionError):
        return ""
    such = "" if form else ", such as"
    return f"write the list as a map with one key per replica type{such}:\n{text}"


def _map_form(entries: list[Any], *, default: str) -> dict[str, Any] | None:
    """The map; None if an entry is no object or has no type, or if two have the same."""
    found: dict[str, Any] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            return None
        kind, fields = _split(entry, default=default)
        if not kind or kind in found:
            return None
        found[kind] = {_KEYS.get(str(key).lower(), str(key)): each for key, each in fields.items()}
    return found or None


def _split(entry: Mapping[Any, Any], *, default: str) -> tuple[str, Mapping[Any, Any]]:
    """The type of an entry and its other fields. The type may also be its only key."""
    if len(entry) == 1:
        [(key, value)] = entry.items()
        if _is_type(key) and isinstance(value, Mapping):
            return str(key), value
    for name in _TYPES:
        key = next((each for each in entry if str(each).lower() == name), None)
        if key is not None and (_is_type(entry[key]) or name == _TYPES[0]):
            return str(entry[key]), {each: entry[each] for each in entry if each != key}
    return default, entry


def _is_type(value: object) -> bool:
    return str(value).lower() in {each.lower() for each in api.TYPES}
