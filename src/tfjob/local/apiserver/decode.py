"""Decodes request bodies into objects of built-in kinds, as typed Go structs would.

A value of the wrong type is refused. Unknown fields are dropped and reported, so that the caller
can apply `fieldValidation`. Null means absent.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from tfjob.k8s import quantity, time, yaml_reading
from tfjob.k8s.field import invalid
from tfjob.k8s.nesting import TOO_DEEP, UNREADABLE, is_deep
from tfjob.local.apiserver import protobuf, status
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.type_table import types

Json = dict[str, Any]
_decode = msgspec.json.Decoder().decode

_MEDIA = (
    "the body of the request was in an unknown format - accepted media types include: "
    "application/json, application/yaml, application/vnd.kubernetes.protobuf"
)
_GO_NAMES = {"s": "string", "i": "int32", "l": "int64", "b": "bool", "f": "float64"}
_PLAIN_TYPES: dict[str, tuple[type, ...]] = {
    "s": (str,),
    "y": (str,),
    "b": (bool,),
    "x": (int, str),
    "f": (int, float),
}


class WrongTypeError(Exception):
    """A value of the wrong type; the message is Go's."""


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
        return yaml_reading.load(body)
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
    unknown: list[str] = []
    try:
        return _Reader(unknown).struct(obj, kind.kind, path=""), unknown
    except WrongTypeError as error:
        raise status.bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error}'
        ) from error


class _Reader:
    """Walks a value along the type table."""

    def __init__(self, unknown: list[str]) -> None:
        self._unknown = unknown
        self._types = types()

    def struct(self, value: Mapping[str, Any], name: str, *, path: str) -> Json:
        fields = self._types[name]
        result = {}
        for key, item in value.items():
            at = f"{path}.{key}" if path else key
            kind = fields.get(key)
            if kind is None:
                self._unknown.append(at)
            elif item is not None:
                result[key] = self.value(item, kind, owner=name, path=at)
        return result

    def value(self, value: object, kind: str, *, owner: str, path: str) -> object:
        if kind == "*" or (kind[0] == "?" and isinstance(value, bool)):
            return value
        kind = kind.removeprefix("?")
        if kind[0] in "[{":
            return self._collection(value, kind, owner=owner, path=path)
        if len(kind) == 1:
            return _scalar(value, kind, owner=owner, path=path)
        if not isinstance(value, dict):
            raise _mismatch(value, f"v1.{kind}", owner=owner, path=path)
        return self.struct(value, kind, path=path)

    def _collection(self, value: object, kind: str, *, owner: str, path: str) -> object:
        inner = kind[1:-1]
        if kind[0] == "[":
            if not isinstance(value, list):
                raise _mismatch(value, f"[]{_go(inner)}", owner=owner, path=path)
            return [
                self.value(item, inner, owner=owner, path=f"{path}[{index}]")
                for index, item in enumerate(value)
            ]
        if not isinstance(value, dict):
            raise _mismatch(value, f"map[string]{_go(inner)}", owner=owner, path=path)
        return {
            str(key): self.value(item, inner, owner=owner, path=path) for key, item in value.items()
        }


def _go(kind: str) -> str:
    return _GO_NAMES.get(kind, f"v1.{kind}" if len(kind) > 1 else "string")


def _scalar(value: object, kind: str, *, owner: str, path: str) -> object:
    if kind in {"i", "l"} and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _whole(value, kind, owner=owner, path=path)
    if kind == "q":
        return _quantity(value)
    if kind == "t":
        return _moment(value, owner=owner, path=path)
    wanted = _PLAIN_TYPES.get(kind, ())
    if isinstance(value, wanted) and (kind == "b" or not isinstance(value, bool)):
        return value
    raise _mismatch(value, _go(kind), owner=owner, path=path)


def _whole(value: float, kind: str, *, owner: str, path: str) -> int:
    limit = 2**31 if kind == "i" else 2**63
    if value != int(value) or not -limit <= value < limit:
        where = _struct_field(owner, path)
        raise WrongTypeError(
            f"json: cannot unmarshal number {value} "
            f"into Go struct field {where} of type {_go(kind)}"
        )
    return int(value)


def _quantity(value: object) -> str:
    parsed = quantity.parse(value if isinstance(value, str) else str(value))
    if parsed is None or isinstance(value, (bool, dict, list)):
        raise WrongTypeError(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    return parsed.render()


def _moment(value: object, *, owner: str, path: str) -> object:
    if value == "":
        return None
    if not isinstance(value, str):
        raise _mismatch(value, "string", owner=owner, path=path)
    if time.parse(value) is None:
        raise WrongTypeError(
            f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": '
            f'cannot parse "{value}" as "2006"'
        )
    return value


def _mismatch(value: object, wanted: str, *, owner: str, path: str) -> WrongTypeError:
    names = {
        bool: "bool",
        str: "string",
        int: "number",
        float: "number",
        dict: "object",
        list: "array",
    }
    found = names.get(type(value), "object")
    where = _struct_field(owner, path)
    return WrongTypeError(
        f"json: cannot unmarshal {found} into Go struct field {where} of type {wanted}"
    )


def _struct_field(owner: str, path: str) -> str:
    plain = ".".join(part.partition("[")[0] for part in path.split("."))
    return f"{owner}.{plain}"
