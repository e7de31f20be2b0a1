"""Decodes objects of built-in types as a typed API server does, based on the type table.

A value of the wrong type is an error. Unknown fields are dropped and returned, so that the caller
decides about them. Null is the same as absent.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from tfjob.k8s import quantity, time
from tfjob.k8s.type_table import types

Json = dict[str, Any]
_GO_NAMES = {"s": "string", "i": "int32", "l": "int64", "b": "bool", "f": "float64"}
_PLAIN_TYPES: dict[str, tuple[type, ...]] = {
    "s": (str,),
    "y": (str,),
    "b": (bool,),
    "x": (int, str),
    "f": (int, float),
}


class WrongTypeError(Exception):
    """A value of the wrong type; the message and the type name are those of Go."""

    def __init__(self, text: str, *, path: str, value: object, wanted: str) -> None:
        super().__init__(text)
        self.path = path
        self.value = value
        self.wanted = wanted


class TypedTemplate(msgspec.Struct, frozen=True):
    """A pod template without its unknown and wrongly typed fields, and these fields."""

    value: Json
    unknown: tuple[str, ...]
    wrong: tuple[WrongTypeError, ...]


def typed_object(obj: Mapping[str, Any], name: str) -> tuple[Json, list[str]]:
    """An object with its known fields only, and the paths of the unknown ones."""
    unknown: list[str] = []
    return _Reader(unknown).struct(obj, name, path=""), unknown


def typed_template(template: Mapping[str, Any], *, path: str) -> TypedTemplate:
    """Decode a pod template as a typed server does, but collect all wrong types."""
    unknown: list[str] = []
    wrong: list[WrongTypeError] = []
    value = _Reader(unknown, wrong).struct(template, "PodTemplateSpec", path=path)
    return TypedTemplate(value, tuple(unknown), tuple(wrong))


class _Reader:
    """Walks a value along the type table. Without a list `wrong`, the first wrong type raises."""

    def __init__(self, unknown: list[str], wrong: list[WrongTypeError] | None = None) -> None:
        self._unknown = unknown
        self._wrong = wrong
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
        try:
            return self._typed(value, kind, owner=owner, path=path)
        except WrongTypeError as error:
            if self._wrong is None:
                raise
            self._wrong.append(error)
            return None

    def _typed(self, value: object, kind: str, *, owner: str, path: str) -> object:
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
            str(key): self.value(
                item, inner, owner=owner, path=f"{path}[{key}]" if len(inner) == 1 else path
            )
            for key, item in value.items()
        }


def _go(kind: str) -> str:
    return _GO_NAMES.get(kind, f"v1.{kind}" if len(kind) > 1 else "string")


def _scalar(value: object, kind: str, *, owner: str, path: str) -> object:
    if kind in {"i", "l"} and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _whole(value, kind, owner=owner, path=path)
    if kind == "q":
        return _quantity(value, path=path)
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
            f"into Go struct field {where} of type {_go(kind)}",
            path=path,
            value=value,
            wanted=_go(kind),
        )
    return int(value)


def _quantity(value: object, *, path: str) -> str:
    parsed = quantity.parse(value if isinstance(value, str) else str(value))
    if parsed is None or isinstance(value, (bool, dict, list)):
        raise WrongTypeError(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            path=path,
            value=value,
            wanted="resource.Quantity",
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
            f'cannot parse "{value}" as "2006"',
            path=path,
            value=value,
            wanted="v1.Time",
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
        f"json: cannot unmarshal {found} into Go struct field {where} of type {wanted}",
        path=path,
        value=value,
        wanted=wanted,
    )


def _struct_field(owner: str, path: str) -> str:
    plain = re.sub(r"\[[^]]*\]", "", path)
    return f"{owner}.{plain}"
