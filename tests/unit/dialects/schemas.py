"""Lookup of fields in the schema of a CRD."""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]


def pieces(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    """Every schema within a schema, by its path."""
    yield path, schema
    for key, inner in schema.get("properties", {}).items():
        yield from pieces(inner, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from pieces(schema[key], f"{path}[]")
