"""The frame of the definition that makes an API server know an API of jobs.

It is the same for all: namespaced, the status a resource of its own, and no webhook. What the
fields of a job are is not known here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.dialects.schema import Schema, published

_STATUS_ALONE: Mapping[str, Any] = {"status": {}}


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """How an API and its objects are called."""

    group: str
    kind: str
    list_kind: str
    plural: str
    singular: str
    short_names: Sequence[str] = ()


def definition(names: Names, versions: Sequence[Schema]) -> Schema:
    called: Schema = {
        "kind": names.kind,
        "listKind": names.list_kind,
        "plural": names.plural,
        "singular": names.singular,
    }
    if names.short_names:
        called["shortNames"] = list(names.short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{names.group}"},
        "spec": {
            "group": names.group,
            "scope": "Namespaced",
            "names": called,
            "conversion": {"strategy": "None"},
            "versions": list(versions),
        },
    }


def version(
    name: str,
    schema: Schema,
    *,
    columns: Sequence[Schema],
    subresources: Mapping[str, Any] = _STATUS_ALONE,
) -> Schema:
    """A version that is served and stored."""
    return {
        "name": name,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": list(columns),
        "subresources": dict(subresources),
        "schema": {"openAPIV3Schema": published(schema)},
    }


def column(name: str, path: str, *, kind: str = "string", is_wide: bool = False) -> Schema:
    """What `kubectl get` shows of each object; with `-o wide` alone if it is wide."""
    found: Schema = {"name": name, "type": kind, "jsonPath": path}
    return {**found, "priority": 1} if is_wide else found


AGE = column("Age", ".metadata.creationTimestamp", kind="date")
