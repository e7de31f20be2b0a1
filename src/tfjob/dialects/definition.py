"""Builds the CustomResourceDefinition of a job API around its schema.

All are namespaced, have a status subresource, and use no webhook.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tfjob.dialects.schema import Schema, published

_STATUS_ALONE: Mapping[str, Any] = {"status": {}}


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """The names of a custom resource."""

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
    """A printer column of `kubectl get`; with `is_wide`, only of `-o wide`."""
    found: Schema = {"name": name, "type": kind, "jsonPath": path}
    return {**found, "priority": 1} if is_wide else found


AGE = column("Age", ".metadata.creationTimestamp", kind="date")
