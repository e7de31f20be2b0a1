"""Case-insensitive keys, as the original operator for TfJobs accepts them.

The usual spelling takes precedence, unless its value is the default that the API server adds. Null
is the same as absent. Unknown keys are kept.
"""

from collections.abc import Mapping, Sequence
from typing import Any

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
