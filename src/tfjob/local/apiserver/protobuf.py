"""Decodes the few protobuf bodies that `kubectl create` sends.

Protobuf has field numbers instead of names, so only the kinds in the table below can be read;
others are refused by name. Responses are always JSON, which these clients accept.
"""

import base64
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tfjob.local.apiserver import status

Json = dict[str, Any]

# Field number, name and type of each message: `s` text, `i` number, `b` bool, `y` bytes,
# `q` quantity, `[T]` repeated, `{T}` a map with text keys, else another message.
TABLE = """
TypeMeta: 1=apiVersion:s 2=kind:s
Unknown: 1=typeMeta:TypeMeta 2=raw:y
ObjectMeta: 1=name:s 2=generateName:s 3=namespace:s 5=uid:s 6=resourceVersion:s 11=labels:{s}
  12=annotations:{s} 14=finalizers:[s]
Namespace: 1=metadata:ObjectMeta
ConfigMap: 1=metadata:ObjectMeta 2=data:{s} 3=binaryData:{y} 4=immutable:b
Secret: 1=metadata:ObjectMeta 2=data:{y} 3=type:s 4=stringData:{s} 5=immutable:b
ServiceAccount: 1=metadata:ObjectMeta 4=automountServiceAccountToken:b
PriorityClass: 1=metadata:ObjectMeta 2=value:i 3=globalDefault:b 4=description:s
  5=preemptionPolicy:s
ResourceQuota: 1=metadata:ObjectMeta 2=spec:ResourceQuotaSpec
ResourceQuotaSpec: 1=hard:{q} 2=scopes:[s]
Quantity: 1=text:s
Service: 1=metadata:ObjectMeta 2=spec:ServiceSpec
ServiceSpec: 1=ports:[ServicePort] 2=selector:{s} 3=clusterIP:s 4=type:s 5=externalIPs:[s]
  7=sessionAffinity:s 10=externalName:s 13=publishNotReadyAddresses:b
ServicePort: 1=name:s 2=protocol:s 3=port:i 4=targetPort:IntOrString 5=nodePort:i 6=appProtocol:s
IntOrString: 1=type:i 2=intVal:i 3=strVal:s
"""
MAGIC = b"k8s\x00"
_READABLE = (
    "ConfigMap",
    "Namespace",
    "PriorityClass",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class _BrokenError(Exception):
    """Malformed protobuf."""


@cache
def _messages() -> Mapping[str, Mapping[int, tuple[str, str]]]:
    found = {}
    for line in TABLE.strip().replace("\n  ", " ").splitlines():
        name, _, fields = line.partition(": ")
        entries = {}
        for field in fields.split():
            number, _, rest = field.partition("=")
            entries[int(number)] = tuple(rest.split(":"))
        found[name] = entries
    return found  # type: ignore[return-value]  # every entry above is "name:type"


def parse(body: bytes) -> Json:
    """The object in a Kubernetes protobuf envelope."""
    try:
        envelope = _message(body.removeprefix(MAGIC), "Unknown")
        head = envelope.get("typeMeta") or {}
        kind = head.get("kind", "")
        if kind not in _READABLE:
            raise _unreadable(kind)
        raw = base64.b64decode(envelope.get("raw", ""))
        return {**head, **_message(raw, kind)}
    except (_BrokenError, IndexError, UnicodeDecodeError) as error:
        raise status.bad_request(f"the protobuf body cannot be read: {error}") from error


def _unreadable(kind: str) -> status.StatusError:
    return status.unsupported_media(
        f"the body of the request is a {kind or 'message'} in protobuf, of which "
        f"the local API server of tfjob reads only {', '.join(_READABLE)}: "
        "send application/json or application/yaml"
    )


def _message(data: bytes, name: str) -> Json:
    fields = _messages()[name]
    found: Json = {}
    for number, value in _fields(data):
        if number not in fields:
            continue
        field, kind = fields[number]
        if kind[0] == "[":
            found.setdefault(field, []).append(_value(value, kind[1:-1]))
        elif kind[0] == "{":
            key, item = _entry(value, kind[1:-1])
            found.setdefault(field, {})[key] = item
        else:
            found[field] = _value(value, kind)
    # In protobuf, zero and the empty string mean absent.
    return {key: value for key, value in found.items() if value or isinstance(value, (dict, list))}


def _entry(value: int | bytes, kind: str) -> tuple[str, object]:
    parts = dict(_fields(value)) if isinstance(value, bytes) else {}
    return str(_value(parts.get(1, b""), "s")), _value(parts.get(2, b""), kind)


def _value(value: int | bytes, kind: str) -> object:
    if kind in {"i", "b"} and isinstance(value, int):
        number = value - 2**64 if value >= 2**63 else value
        return number if kind == "i" else bool(number)
    if not isinstance(value, bytes):
        raise _BrokenError("expected bytes, found a number")
    if kind == "s":
        return value.decode()
    if kind == "y":
        return base64.b64encode(value).decode()
    if kind == "q":
        return _message(value, "Quantity").get("text", "0")
    if kind == "IntOrString":
        both = _message(value, kind)
        return both.get("strVal", "") if both.get("type") else both.get("intVal", 0)
    return _message(value, kind)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        wire = tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield tag >> 3, value
        elif wire == _BYTES:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise _BrokenError("a field is longer than its message")
            yield tag >> 3, data[at : at + size]
            at += size
        elif wire in {_FIXED32, _FIXED64}:
            at += 4 if wire == _FIXED32 else 8
        else:
            raise _BrokenError(f"unknown wire type {wire}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    result = shift = 0
    while shift < 70:
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result, at
        shift += 7
    raise _BrokenError("a number is not terminated")
