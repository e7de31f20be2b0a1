"""Finds fields that are not in the schema of an API, and suggests similar ones.

An API server prunes such fields silently, so a misspelt setting has no effect.
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tfjob.dialects.base import Dialect, Manifest
from tfjob.k8s.field import Fault, FaultKind

_MEANT = "did you mean "
_PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_METADATA = (
    "name generateName namespace labels annotations finalizers ownerReferences uid selfLink"
    " resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds"
    " managedFields clusterName"
)
_ROOT = {
    "apiVersion": {},
    "kind": {},
    "metadata": {"type": "object", "properties": {name: {} for name in _METADATA.split()}},
    "status": {},
}
"""The fields of every Kubernetes object, which CRDs do not list."""


class _Place(NamedTuple):
    """A known field: its name and the path of its object."""

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
            remedy=_guess(key, parent, places) or "remove it: the API server prunes it",
        )
        for parent, key in _unknown(manifest, schema, "")
    ]


def without_consequences(faults: Sequence[Fault]) -> list[Fault]:
    """The faults without those of a field that is missing only because of another one.

    The field itself or one around it has a wrong type, or is there under a name that is unknown.
    """
    causes = [each.path for each in faults if each.kind is FaultKind.INVALID]
    causes += [each.remedy[len(_MEANT) : -1] for each in faults if each.remedy.startswith(_MEANT)]
    return [
        each
        for each in faults
        if each.kind is not FaultKind.REQUIRED or not any(_is_at(each.path, e) for e in causes)
    ]


def _is_at(path: str, pattern: str) -> bool:
    """Whether a path is that of a pattern, or below it."""
    known = re.escape(pattern).replace(re.escape("[…]"), r"\[[^]]*\]")
    return re.match(rf"{known}(?![^.\[])", path) is not None


def _spec_schema(dialect: Dialect) -> Mapping[str, Any]:
    versions = dialect.crd()["spec"]["versions"]
    own = next(version for version in versions if version["name"] == dialect.version)
    found: Mapping[str, Any] = own["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def _unknown(value: object, schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """The parent path and the key of each field that is not in the schema."""
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
        elif not schema.get(_PRESERVE_UNKNOWN) and others is None:
            yield path, str(key)


def _places(schema: Mapping[str, Any], path: str) -> Iterator[_Place]:
    """All fields of the schema, outer ones first."""
    known = schema.get("properties", {})
    for key in known:
        yield _Place(key, path)
    for key, inner in known.items():
        yield from _places(inner, _join(path, key))
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        yield from _places(others, f"{path}[…]")


def _guess(key: str, parent: str, places: list[_Place]) -> str:
    """A similar field of the same object, else one of another object; empty if there is none."""
    neighbours = {each.name: each.path for each in places if _is_same(each.parent, parent)}
    # Inner fields override outer ones, because older versions had some fields further out. A field
    # of the job is rather meant for the job, and one of a replica for the replica.
    is_inside = "[" in parent
    ranked = sorted(places, key=lambda each: ("[…]" in each.path) == is_inside)
    anywhere = {each.name: each.path for each in ranked}
    for known in (neighbours, anywhere):
        close = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
        if close:
            return f"{_MEANT}{known[close[0]]}?"
    return ""


def _is_same(pattern: str, path: str) -> bool:
    """Whether a path matches a pattern in which `[…]` stands for any key."""
    if "[…]" not in pattern:
        return pattern == path
    before, _, after = pattern.partition("[…]")
    return path.startswith(f"{before}[") and path.endswith(f"]{after}")


def _join(parent: str, key: str) -> str:
    return f"{parent}.{key}" if parent else str(key)
