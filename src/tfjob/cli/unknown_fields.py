"""Fields that the API does not know, with a guess of what was meant.

An API server drops them without a word, which is how a limit that was set never counted.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tfjob.dialects.base import Dialect, Manifest
from tfjob.k8s.field import Fault, FaultKind

_KEEPS_ALL = "x-kubernetes-preserve-unknown-fields"
_METADATA = (
    "name generateName namespace labels annotations finalizers ownerReferences uid selfLink"
    " resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds"
    " managedFields"
)
_ROOT = {
    "apiVersion": {},
    "kind": {},
    "metadata": {"type": "object", "properties": {name: {} for name in _METADATA.split()}},
    "status": {},
}
"""What every Kubernetes object has, and no definition spells out."""


class _Place(NamedTuple):
    """A field that is known: what it is called, and the object in which it stands."""

    name: str
    parent: str

    @property
    def path(self) -> str:
        return _join(self.parent, self.name)


def unknown_fields(manifest: Manifest, dialect: Dialect) -> list[Fault]:
    schema = {"type": "object", "properties": {**_ROOT, "spec": _spec_schema(dialect)}}
    places = list(_places(schema, ""))
    return [
        Fault(
            _join(parent, key),
            FaultKind.INVALID,
            detail="unknown field",
            remedy=_guess(key, parent, places) or "remove it: the API server would drop it",
        )
        for parent, key in _unknown(manifest, schema, "")
    ]


def _spec_schema(dialect: Dialect) -> Mapping[str, Any]:
    versions = dialect.crd()["spec"]["versions"]
    own = next(version for version in versions if version["name"] == dialect.version)
    found: Mapping[str, Any] = own["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def _unknown(value: object, schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """The parent and the key of each field that the schema does not know."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown(item, schema.get("items", {}), f"{path}[{index}]")
    if not isinstance(value, Mapping) or schema.get("type") != "object":
        return
    known = schema.get("properties", {})
    others = schema.get("additionalProperties")
    for key, inner in value.items():
        if key in known:
            yield from _unknown(inner, known[key], _join(path, key))
        elif isinstance(others, Mapping):
            yield from _unknown(inner, others, f"{path}[{key}]")
        elif not schema.get(_KEEPS_ALL) and others is None:
            yield path, str(key)


def _places(schema: Mapping[str, Any], path: str) -> Iterator[_Place]:
    """Every field that the schema knows; outer ones first."""
    known = schema.get("properties", {})
    for key in known:
        yield _Place(key, path)
    for key, inner in known.items():
        yield from _places(inner, _join(path, key))
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        yield from _places(others, f"{path}[…]")


def _guess(key: str, parent: str, places: list[_Place]) -> str:
    """A misspelt neighbour before a field that stands in the wrong place."""
    neighbours = {each.name: each.path for each in places if _is_same(each.parent, parent)}
    # An older place of a field stands further out than the place where it belongs today.
    anywhere = {each.name: each.path for each in places}
    for known in (neighbours, anywhere):
        close = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
        if close:
            return f"did you mean {known[close[0]]}?"
    return ""


def _is_same(pattern: str, path: str) -> bool:
    """`a[…].b` stands for `a[x].b`, whatever x is."""
    if "[…]" not in pattern:
        return pattern == path
    before, _, after = pattern.partition("[…]")
    return path.startswith(f"{before}[") and path.endswith(f"]{after}")


def _join(parent: str, key: str) -> str:
    return f"{parent}.{key}" if parent else str(key)
