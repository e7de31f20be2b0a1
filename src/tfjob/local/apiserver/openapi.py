"""OpenAPI documents, as far as kubectl needs them to validate, apply and explain.

Version 3 has one document per group version, built from the type table and CRD schemas. Version 2
lists paths and kinds only, and is empty as protobuf: kubectl requests it for kinds that version 3
does not have.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

from tfjob.k8s.type_table import types
from tfjob.local.apiserver.kinds import Kind, Registry

Json = dict[str, Any]
_PREFIX = "io.k8s.api.core.v1."
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_META_TYPES = frozenset(
    {"ObjectMeta", "OwnerReference", "LabelSelector", "LabelSelectorRequirement"}
)
_SCALARS: dict[str, Json] = {
    "s": {"type": "string"},
    "i": {"type": "integer", "format": "int32"},
    "l": {"type": "integer", "format": "int64"},
    "b": {"type": "boolean"},
    "f": {"type": "number"},
    "x": {"x-kubernetes-int-or-string": True},
    "q": {"x-kubernetes-int-or-string": True},
    "t": {"type": "string", "format": "date-time"},
    "y": {"type": "string", "format": "byte"},
    "*": {"x-kubernetes-preserve-unknown-fields": True},
}
PROTOBUF_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
PROTOBUF_GIVEN = PROTOBUF_ASKED.replace("@", ".")
"""The requested name is not a valid media type; clients expect this one in the response."""
EMPTY = b"\x0a\x032.0"
"""A version 2 document as protobuf with only its first field, `swagger`."""
_WRITES = {"post": "post", "put": "put", "patch": "patch"}


def find(path: str, registry: Registry) -> Json | None:
    """The document at a path below /openapi, or None."""
    if path == "/openapi/v2":
        return _second(registry)
    if path == "/openapi/v3":
        return _index(registry)
    parts = path.removeprefix("/openapi/v3/").split("/")
    match parts:
        case ["api", "v1"]:
            return _document(registry, group="", version="v1")
        case ["apis", group, version]:
            return _document(registry, group=group, version=version)
    return None


def _info() -> Json:
    return {"title": "Kubernetes", "version": "tfjob"}


def _second(registry: Registry) -> Json:
    paths = {path: item for kind in registry for path, item in _paths(kind)}
    return {"swagger": "2.0", "info": _info(), "paths": paths, "definitions": {}}


def _index(registry: Registry) -> Json:
    paths = {}
    for group, versions in registry.groups().items():
        for version in versions:
            name = f"apis/{group}/{version}" if group else "api/v1"
            document = msgspec.json.encode(_document(registry, group=group, version=version))
            digest = hashlib.sha256(document).hexdigest().upper()
            paths[name] = {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}
    return {"paths": paths}


def _document(registry: Registry, *, group: str, version: str) -> Json | None:
    kinds = [kind for kind in registry if (kind.group, kind.version) == (group, version)]
    if not kinds:
        return None
    paths = {path: item for kind in kinds for path, item in _paths(kind)}
    schemas: Json = {}
    for kind in kinds:
        schemas[_name_of(kind)] = _schema_of(kind)
    schemas |= _table_schemas()
    return {"openapi": "3.0.0", "info": _info(), "paths": paths, "components": {"schemas": schemas}}


def _paths(kind: Kind) -> Iterable[tuple[str, Json]]:
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else "/api/v1"
    where = (
        f"{root}/namespaces/{{namespace}}/{kind.plural}"
        if kind.is_namespaced
        else f"{root}/{kind.plural}"
    )
    yield where, {"get": _operation(kind, "list"), "post": _operation(kind, "post")}
    single = {
        "get": _operation(kind, "get"),
        "put": _operation(kind, "put"),
        "patch": _operation(kind, "patch"),
        "delete": _operation(kind, "delete"),
    }
    yield f"{where}/{{name}}", single


def _operation(kind: Kind, action: str) -> Json:
    operation: Json = {
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(kind),
        "responses": {"200": {"description": "OK"}},
    }
    if action in _WRITES:
        names = ("dryRun", "fieldManager", "fieldValidation")
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string"}} for name in names
        ]
    return operation


def _gvk(kind: Kind) -> Json:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _name_of(kind: Kind) -> str:
    if kind.is_custom:
        return ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
    package = kind.group.partition(".")[0] or "core"
    return f"io.k8s.api.{package}.{kind.version}.{kind.kind}"


def _schema_of(kind: Kind) -> Json:
    if not kind.is_custom:
        return {**_object(types()[kind.kind]), "x-kubernetes-group-version-kind": [_gvk(kind)]}
    spec = dict(kind.schema.root.spec)
    properties = dict(spec.get("properties") or {})
    properties |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": _reference("ObjectMeta")}]},
    }
    return {**spec, "properties": properties, "x-kubernetes-group-version-kind": [_gvk(kind)]}


def _table_schemas() -> Json:
    return {
        _full_name(name): _object(fields)
        for name, fields in types().items()
        if "metadata" not in fields or name == "PodTemplateSpec"
    }


def _full_name(name: str) -> str:
    return (_META if name in _META_TYPES else _PREFIX) + name


def _reference(name: str) -> str:
    return f"#/components/schemas/{_full_name(name)}"


def _object(fields: Any) -> Json:
    return {"type": "object", "properties": {name: _typed(kind) for name, kind in fields.items()}}


def _typed(kind: str) -> Json:
    if kind[0] == "[":
        return {"type": "array", "items": _typed(kind[1:-1])}
    if kind[0] == "{":
        return {"type": "object", "additionalProperties": _typed(kind[1:-1])}
    if kind[0] == "?":
        return dict(_SCALARS["*"])
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    return {"allOf": [{"$ref": _reference(kind)}]}
