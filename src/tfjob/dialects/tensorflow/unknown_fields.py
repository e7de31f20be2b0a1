"""Unknown keys of a TfJob, which the CRD preserves because keys are case-insensitive."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tfjob.dialects.stored_values import mapping, mappings
from tfjob.dialects.tensorflow import key_aliases


def unknown_fields(manifest: Mapping[str, Any]) -> list[str]:
    """Paths of unknown keys, except in templates and volumes, which the API server checks."""
    return list(_in_spec(mapping(manifest.get("spec"))))


def _in_spec(given: Mapping[str, Any]) -> Iterator[str]:
    yield from _others(given, key_aliases.SPEC, path="spec")
    spec = key_aliases.normalised(given, key_aliases.SPEC)
    for place, entry in enumerate(mappings(spec.get("replicaSpecs"))):
        yield from _others(entry, key_aliases.REPLICA, path=f"spec.replicaSpecs[{place}]")
    yield from _others(spec.get("tensorboard"), key_aliases.TENSORBOARD, path="spec.tensorboard")
    path, termination = "spec.terminationPolicy", mapping(spec.get("terminationPolicy"))
    yield from _others(termination, key_aliases.TERMINATION, path=path)
    chief = key_aliases.normalised(termination, key_aliases.TERMINATION).get("chief")
    yield from _others(chief, key_aliases.CHIEF, path=f"{path}.chief")


def _others(given: object, table: Sequence[str], *, path: str) -> Iterator[str]:
    """Keys that are not in the table in any spelling, and are not null."""
    for key, value in key_aliases.normalised(mapping(given), table).items():
        if key not in table and value is not None:
            yield f"{path}.{key}"
