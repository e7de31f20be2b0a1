"""Validates values against the schema of the CRD: types, bounds and enums.

All constraints come from the schema. Invalid parts are reported with the messages of an API server
and removed, so that later code sees only values of the right types. Null is the same as absent,
except as an item of a list, and is removed as well. A valid value is returned unchanged, as the
same object. Of a list or object that is too long, only the allowed number of entries is checked.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from tfjob.dialects.field_reader import Reader
from tfjob.dialects.schema import ABSENT, REMEDY, Schema
from tfjob.k8s import field

_MAX_INTEGERS = {"int32": 2**31 - 1, "int64": 2**63 - 1}
_EMPTY: Mapping[str, Any] = {"object": {}, "array": [], "string": ""}
_ADD = "add what is missing"
_FEWER = "remove what the job does not need"
_Check = Callable[[Reader, Any, Schema, str], Any]


def valid_part(reader: Reader, value: object, schema: Schema, path: str) -> Any:
    """The value without its invalid parts; None if nothing remains."""
    if value is None:
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return value if reader.is_quantity(value, path) else None
    return _CHECKS[schema["type"]](reader, value, schema, path)


def _object(reader: Reader, value: Any, schema: Schema, path: str) -> Any:
    if not isinstance(value, Mapping):
        reader.wrong_type(path, value, "object")
        return None
    value = _bounded(reader, value, schema, path)
    known, others = schema.get("properties", {}), schema.get("additionalProperties")
    changes: dict[str, Any] = {}
    for key, each in value.items():
        piece = known.get(key, others)
        if piece is None:
            continue
        is_entry = key not in known and piece.get("type") == "object"
        own = f"{path}[{key}]" if is_entry else f"{path}.{key}"
        found = valid_part(reader, each, piece, own)
        if found is not each or (found is None and not piece.get("nullable")):
            changes[key] = found
    for key in schema.get("required", ()):
        if value.get(key) is None:
            _note_absent(reader, known[key], f"{path}.{key}")
    if not changes:
        return value
    kept = {key: each for key, each in value.items() if key not in changes}
    nullable = bool(others and others.get("nullable"))
    return kept | {key: each for key, each in changes.items() if each is not None or nullable}


def _bounded(
    reader: Reader, value: Mapping[str, Any], schema: Schema, path: str
) -> Mapping[str, Any]:
    """The object without the properties that are too many."""
    most = schema.get("maxProperties", len(value))
    if len(value) <= most:
        return value
    rule = f"{path} in body should have at most {most} properties"
    reader.note(field.invalid(path, len(value), rule, remedy=schema.get(REMEDY, _FEWER)))
    return dict(itertools.islice(value.items(), most))


def _note_absent(reader: Reader, schema: Schema, path: str) -> None:
    rule, remedy = schema.get(ABSENT, ("", _ADD))
    reader.note(field.required(path, rule, remedy=remedy))


def _array(reader: Reader, value: Any, schema: Schema, path: str) -> Any:
    if not isinstance(value, list | tuple):
        reader.wrong_type(path, value, "array")
        return None
    if len(value) < schema.get("minItems", 0):
        _note_absent(reader, schema, path)
    most = schema.get("maxItems", len(value))
    if len(value) > most:
        rule = f"{path} in body should have at most {most} items"
        remedy = schema.get(REMEDY, _FEWER)
        reader.note(field.invalid(path, len(value), rule, remedy=remedy))
        value = value[:most]
    items = schema["items"]
    found = [_item(reader, each, items, f"{path}[{place}]") for place, each in enumerate(value)]
    is_same = all(new is old for new, old in zip(found, value, strict=True))
    return value if is_same else found


def _item(reader: Reader, value: Any, schema: Schema, path: str) -> Any:
    """An invalid item is replaced by an empty one, so that the indexes of the others stay."""
    if value is None:
        reader.wrong_type(path, value, schema["type"])
    found = valid_part(reader, value, schema, path)
    return _EMPTY[schema["type"]] if found is None else found


def _text(reader: Reader, value: Any, schema: Schema, path: str) -> str | None:
    if "enum" in schema:
        return reader.choice(value, path, schema["enum"], remedy=schema.get(REMEDY, ""))
    if not isinstance(value, str):
        reader.wrong_type(path, value, "string")
        return None
    if len(value) < schema.get("minLength", 0):
        rule = f"{path} in body should be at least {schema['minLength']} chars long"
        reader.note(field.invalid(path, value, rule, remedy=schema.get(REMEDY, "write a text")))
    most = schema.get("maxLength", len(value))
    if len(value) > most:
        rule = f"{path} in body should be at most {most} chars long"
        reader.note(field.invalid(path, value, rule, remedy=f"shorten it to {most} characters"))
    return value


def _boolean(reader: Reader, value: Any, schema: Schema, path: str) -> bool | None:  # noqa: ARG001 - as the others
    if not isinstance(value, bool):
        reader.wrong_type(path, value, "boolean")
        return None
    return value


def _integer(reader: Reader, value: Any, schema: Schema, path: str) -> int | None:
    most = schema.get("maximum", _MAX_INTEGERS[schema["format"]])
    return reader.integer(value, path, at_least=schema["minimum"], at_most=most)


_CHECKS: Mapping[str, _Check] = {
    "object": _object,
    "array": _array,
    "string": _text,
    "boolean": _boolean,
    "integer": _integer,
}
