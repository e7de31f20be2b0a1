"""Case-insensitive keys, as the original operator for TfJobs accepts them, and unknown keys.

The usual spelling takes precedence, unless its value is the default that the API server adds. Null
is the same as absent. The CRD preserves unknown keys, because it cannot list every spelling.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfjob.dialects.stored_values import mapping, mappings
from tfjob.dialects.tensorflow import api

SPEC = ("RuntimeId", "replicaSpecs", "tfImage", "tensorboard", "terminationPolicy")
REPLICA = ("IsDefaultPS", "replicas", "template", "tfPort", "tfReplicaType")
TENSORBOARD = ("logDir", "serviceType", "volumeMounts", "volumes")
TERMINATION = ("chief",)
CHIEF = ("replicaIndex", "replicaName")

_ALIASES = {"replica_specs": "replicaSpecs"}
_DEFAULTS = {"tfPort": api.PORT}


def normalised(given: Mapping[str, Any], table: Sequence[str]) -> dict[str, Any]:
    """The object with its keys in the spelling of the table; the first of duplicates is kept."""
    usual = {key.lower(): key for key in table}
    usual |= {alias: key for alias, key in _ALIASES.items() if key in table}
    found = {key: value for key, value in given.items() if _usual(key, usual) is None}
    for key in sorted(given, key=lambda key: _precedence(key, given[key], table)):
        own = _usual(key, usual)
        if own is not None and given[key] is not None:
            found.setdefault(own, given[key])
    return found


def _precedence(key: object, value: object, table: Sequence[str]) -> tuple[bool, bool, str]:
    is_default = key in _DEFAULTS and value == _DEFAULTS[str(key)]
    return is_default, key not in table, str(key)


def _usual(key: object, usual: Mapping[str, str]) -> str | None:
    if not isinstance(key, str) or not key.isascii():
        return None
    return usual.get(key.lower())


def unknown_fields(manifest: Mapping[str, Any]) -> list[str]:
    """Paths of unknown keys, except in templates and volumes, which the API server checks."""
    return list(_in_spec(mapping(manifest.get("spec"))))


def _in_spec(given: Mapping[str, Any]) -> Iterator[str]:
    yield from _others(given, SPEC, path="spec")
    spec = normalised(given, SPEC)
    for place, entry in enumerate(mappings(spec.get("replicaSpecs"))):
        yield from _others(entry, REPLICA, path=f"spec.replicaSpecs[{place}]")
    yield from _others(spec.get("tensorboard"), TENSORBOARD, path="spec.tensorboard")
    path, termination = "spec.terminationPolicy", mapping(spec.get("terminationPolicy"))
    yield from _others(termination, TERMINATION, path=path)
    chief = normalised(termination, TERMINATION).get("chief")
    yield from _others(chief, CHIEF, path=f"{path}.chief")


def _others(given: object, table: Sequence[str], *, path: str) -> Iterator[str]:
    """Keys that are not in the table in any spelling, and are not null."""
    for key, value in normalised(mapping(given), table).items():
        if key not in table and value is not None:
            yield f"{path}.{key}"
