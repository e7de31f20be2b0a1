"""Server-side tables, as `kubectl get` prints them.

Built-in kinds have printers, custom kinds have columns with paths. Pure; a missing or malformed
field gives an empty or unknown cell, never an error.
"""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tfjob.k8s import jsonpath
from tfjob.local.apiserver.duration import since
from tfjob.local.apiserver.kinds import Column, Kind
from tfjob.local.apiserver.printers import BUILT_IN, PLAIN, plain

Json = dict[str, Any]
Row = list[Any]

_NAME = Column("Name", format="name")


def render(kind: Kind, objects: list[Json], *, now: datetime, include: str) -> Json:
    """A Table without its metadata. `include` is None, Metadata or Object."""
    columns, row_of = _shape(kind)
    rows = []
    for obj in objects:
        # The table of a bookmark has no rows.
        if "name" not in obj["metadata"]:
            continue
        row: Json = {"cells": row_of(obj, now), "object": _included(kind, obj, include)}
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": rows,
    }


def _included(kind: Kind, obj: Json, include: str) -> Json | None:
    if include == "None":
        return None
    if include == "Object":
        shown = kind.outgoing(obj) if kind.outgoing is not None else obj
        return {"kind": kind.kind, "apiVersion": kind.api_version, **shown}
    head = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    return {**head, "metadata": obj["metadata"]}


def _definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description,
        "priority": column.priority,
    }


def _shape(kind: Kind) -> tuple[tuple[Column, ...], Callable[[Json, datetime], Row]]:
    if kind.is_custom:
        return (_NAME, *kind.columns), lambda obj, now: _custom_row(kind, obj, now)
    columns, row_of = BUILT_IN.get(kind.kind, (PLAIN, plain))
    return tuple(_parsed(text) for text in columns.split(" | ")), row_of


def _parsed(text: str) -> Column:
    """`Name`, `Name+` for the wide output only, or `Name:type`."""
    name, _, type_ = text.partition(":")
    priority = 1 if name.endswith("+") else 0
    name = name.removesuffix("+")
    return Column(
        name, type=type_ or "string", format="name" if name == "Name" else "", priority=priority
    )


def _custom_row(kind: Kind, obj: Json, now: datetime) -> Row:
    return [obj["metadata"]["name"], *(_custom_cell(column, obj, now) for column in kind.columns)]


def _custom_cell(column: Column, obj: Json, now: datetime) -> object:
    found = [value for value in jsonpath.find(obj, column.path) if value is not None]
    if not found:
        return None
    value = found[0]
    if column.type == "date":
        return since(value, now)
    if column.type == "integer":
        return int(value) if isinstance(value, (int, float)) else None
    if column.type == "number":
        return float(value) if isinstance(value, (int, float)) else None
    if column.type == "boolean":
        return value if isinstance(value, bool) else None
    texts = [_text(item) for item in found]
    return ",".join(texts)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"))
    return str(value)
