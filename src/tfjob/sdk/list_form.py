"""Shows how to write the list of replica types of an older API as the map of a TFJob.

A CRD schema cannot accept both forms. The remedy contains the converted field, ready to be pasted.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml

from tfjob.dialects.base import Manifest
from tfjob.k8s.field import Fault

_SPECS = "tfReplicaSpecs"
_LISTS = {"tfreplicaspecs", "tfreplicaspec", "replicaspecs", "replica_specs"}
"""Names of the list in older APIs and documents, in lower case."""
_KEYS = {"replicas": "replicas", "template": "template", "restartpolicy": "restartPolicy"}
_TYPE = "tfreplicatype"
_DEFAULT_TYPE = "MASTER"
_API_GROUP = "kubeflow.org/"


def with_map_form(manifest: Manifest, faults: Iterable[Fault]) -> list[Fault]:
    """The faults; that of a list of replica types gets the map as its remedy."""
    found = list(faults)
    spec = manifest.get("spec")
    if not str(manifest.get("apiVersion")).startswith(_API_GROUP) or not isinstance(spec, Mapping):
        return found
    for key, value in spec.items():
        if str(key).lower() in _LISTS and isinstance(value, list):
            remedy = _remedy(value)
            own = f"spec.{key}"
            return [_with_remedy(each, remedy) if each.path == own else each for each in found]
    return found


def _with_remedy(fault: Fault, remedy: str) -> Fault:
    return msgspec.structs.replace(fault, remedy=remedy or fault.remedy)


def _remedy(entries: list[Any]) -> str:
    form = _map_form(entries)
    if form is None:
        return ""
    try:
        text = yaml.safe_dump({_SPECS: form}, sort_keys=False).rstrip()
    except (yaml.YAMLError, RecursionError):
        return ""
    return f"write the list as a map with one key per replica type:\n{text}"


def _map_form(entries: list[Any]) -> dict[str, Any] | None:
    """The map; None if an entry is no object or two have the same type."""
    found: dict[str, Any] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            return None
        given = {str(key).lower(): value for key, value in entry.items()}
        kind = str(given.get(_TYPE) or _DEFAULT_TYPE)
        if kind in found:
            return None
        found[kind] = {
            _KEYS.get(str(key).lower(), str(key)): value
            for key, value in entry.items()
            if str(key).lower() != _TYPE
        }
    return found or None
