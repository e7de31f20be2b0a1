"""Fields that the API does not know, with a guess of what was meant.

An API server drops them without a word, which is how a limit that was set never counted.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from tfjob.dialects.base import Dialect, Manifest
from tfjob.k8s.field import Fault, FaultKind

_KEEPS_ALL = "x-kubernetes-preserve-unknown-fields"


def unknown_fields(manifest: Manifest, dialect: Dialect) -> list[Fault]:
    schema = _schema(dialect)
    places = dict(_places(schema.get("properties", {}).get("spec", {}), "spec"))
    spec_schema = schema.get("properties", {}).get("spec", {})
    return [
        Fault(
            path,
            FaultKind.INVALID,
            detail="unknown field",
            remedy=_guess(path, places) or "remove it: the API server would drop it",
        )
        for path in _unknown(manifest.get("spec"), spec_schema, "spec")
    ]


def _schema(dialect: Dialect) -> Mapping[str, Any]:
    for version in dialect.crd()["spec"]["versions"]:
        if version["name"] == dialect.version:
            found: Mapping[str, Any] = version["schema"]["openAPIV3Schema"]
            return found
    return {}


def _unknown(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.get("items", {}), f"{path}[{index}]")
    if not isinstance(value, Mapping) or schema.get("type") != "object":
        return
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for key, inner in value.items():
        if key in known:
            yield from _unknown(inner, known[key], f"{path}.{key}")
        elif isinstance(others, Mapping):
            yield from _unknown(inner, others, f"{path}[{key}]")
        elif not schema.get(_KEEPS_ALL):
            yield f"{path}.{key}"


def _places(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Every known field's name with the path where it belongs; the shortest path last."""
    for key, inner in schema.get("properties", {}).items():
        yield from _places(inner, f"{path}.{key}")
        yield key, f"{path}.{key}"
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        yield from _places(others, f"{path}[…]")


def _guess(path: str, places: Mapping[str, str]) -> str:
    name = path.rpartition(".")[2]
    close = difflib.get_close_matches(name, places, n=1, cutoff=0.75)
    return f"did you mean {places[close[0]]}?" if close else ""
