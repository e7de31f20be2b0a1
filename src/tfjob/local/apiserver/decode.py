"""Decodes request bodies into objects of built-in kinds, as typed Go structs would.

A value of the wrong type is refused. Unknown fields are dropped and reported, so that the caller
can apply `fieldValidation`. Null means absent.
"""

from typing import Any

import msgspec
import yaml

from tfjob.k8s import safe_yaml
from tfjob.k8s.field import invalid
from tfjob.k8s.nesting import TOO_DEEP, UNREADABLE, is_deep
from tfjob.k8s.typed_decode import WrongTypeError, typed_object
from tfjob.local.apiserver import protobuf, status
from tfjob.local.apiserver.kinds import Kind

Json = dict[str, Any]
_decode = msgspec.json.Decoder().decode

_MEDIA = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)


def parse_body(body: bytes, content_type: str) -> object:
    """Parse JSON or YAML."""
    media = content_type.partition(";")[0].strip().lower()
    if media in {"", "application/json", "*/*", "application/x-www-form-urlencoded"}:
        return _parse_json(body)
    if media in {"application/yaml", "application/apply-patch+yaml"}:
        return parse_yaml(body)
    if media == "application/vnd.kubernetes.protobuf":
        return protobuf.parse(body)
    raise status.unsupported_media(_MEDIA)


def _parse_json(body: bytes) -> object:
    try:
        if not is_deep(body):
            return _decode(body)
    except UNREADABLE as error:
        raise status.bad_request(
            f"the object provided is unrecognized: json parse error: {error}"
        ) from error
    raise status.bad_request(f"the object provided is unrecognized: it is {TOO_DEEP}")


def parse_yaml(body: bytes) -> object:
    """Parse YAML; JSON takes the fast path."""
    try:
        if not is_deep(body):
            return _decode(body)
    except UNREADABLE:
        pass
    try:
        return safe_yaml.load(body)
    except (yaml.YAMLError, ValueError) as error:
        raise status.bad_request(
            f"the object provided is unrecognized: yaml parse error: {error}"
        ) from error


def object_of(value: object, kind: Kind) -> Json:
    """Check apiVersion and kind, and remove them."""
    if not isinstance(value, dict):
        raise status.bad_request(
            f"the object provided is unrecognized (must be of type {kind.kind}): "
            "it is not a JSON object"
        )
    obj = dict(value)
    api_version = obj.pop("apiVersion", None) or kind.api_version
    name = obj.pop("kind", None) or kind.kind
    if kind.is_custom and value.get("kind") is None:
        raise status.bad_request("Object 'Kind' is missing")
    if (api_version, name) != (kind.api_version, kind.kind):
        meta = obj.get("metadata")
        object_name = str(meta.get("name", "")) if isinstance(meta, dict) else ""
        raise _other_kind(str(api_version), str(name), kind, object_name=object_name)
    if not isinstance(obj.get("metadata"), dict):
        obj["metadata"] = {}
    return obj


def _other_kind(api_version: str, name: str, kind: Kind, *, object_name: str) -> status.StatusError:
    group, _, version = api_version.rpartition("/")
    if kind.is_custom:
        if api_version != kind.api_version:
            return status.bad_request(
                f"the API version in the data ({api_version}) does not match "
                f"the expected API version ({kind.api_version})"
            )
        fault = invalid("kind", name, f"must be {kind.kind}")
        return status.invalid(f"{name}.{kind.group}", object_name, [fault])
    if api_version != kind.api_version:
        return status.bad_request(
            f'{name} in version "{version}" cannot be handled as a {kind.kind}: '
            f'no kind "{name}" is registered for version "{api_version}"'
        )
    package = group.partition(".")[0] or "core"
    return status.bad_request(
        f'{name} in version "{version}" cannot be handled as a {kind.kind}: '
        f"converting ({version}.{name}) to ({package}.{kind.kind}): unknown conversion"
    )


def typed(obj: Json, kind: Kind) -> tuple[Json, list[str]]:
    """The object with known fields only, and the paths of the others."""
    try:
        return typed_object(obj, kind.kind)
    except WrongTypeError as error:
        raise status.bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error}'
        ) from error
