"""Protobuf bodies of `kubectl create`."""

import pytest

from tfjob.local.apiserver import protobuf
from tfjob.local.apiserver.status import StatusError


def field(number: int, content: bytes | str | int) -> bytes:
    if isinstance(content, int):
        return bytes([number << 3, content])
    data = content.encode() if isinstance(content, str) else content
    return bytes([number << 3 | 2, len(data)]) + data


def envelope(kind: str, raw: bytes) -> bytes:
    return protobuf.MAGIC + field(1, field(1, "v1") + field(2, kind)) + field(2, raw)


def test_a_config_map_is_read() -> None:
    meta = field(1, "a") + field(11, field(1, "l") + field(2, "m"))
    raw = (
        field(1, meta)
        + field(2, field(1, "k") + field(2, "v"))
        + field(3, field(1, "b") + field(2, "x"))
    )
    assert protobuf.parse(envelope("ConfigMap", raw + field(4, 1))) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"l": "m"}},
        "data": {"k": "v"},
        "binaryData": {"b": "eA=="},
        "immutable": True,
    }


def test_ports_of_a_service_are_read() -> None:
    number = field(3, 80) + field(4, field(1, 0) + field(2, 81))
    named = field(3, 82) + field(4, field(1, 1) + field(3, "web"))
    raw = field(1, field(1, "s")) + field(2, field(1, number) + field(1, named))
    assert protobuf.parse(envelope("Service", raw))["spec"]["ports"] == [
        {"port": 80, "targetPort": 81},
        {"port": 82, "targetPort": "web"},
    ]


def test_limits_and_scopes_of_a_quota_are_read() -> None:
    pods = field(1, field(1, "pods") + field(2, field(1, "3")))
    cpu = field(1, field(1, "requests.cpu") + field(2, field(1, "500m")))
    nothing = field(1, field(1, "services") + field(2, b""))
    raw = field(1, field(1, "q")) + field(2, pods + cpu + nothing + field(2, "BestEffort"))
    assert protobuf.parse(envelope("ResourceQuota", raw))["spec"] == {
        "hard": {"pods": "3", "requests.cpu": "500m", "services": "0"},
        "scopes": ["BestEffort"],
    }


def test_a_kind_outside_the_table_is_rejected_by_name() -> None:
    with pytest.raises(StatusError, match="is a Deployment in protobuf") as refused:
        protobuf.parse(envelope("Deployment", b""))
    assert refused.value.code == 415


@pytest.mark.parametrize("body", [b"\x0a\xff", b"\x0f", b"\xff" * 30, b"\x08\x01\x0a"])
def test_broken_bytes_are_rejected(body: bytes) -> None:
    with pytest.raises(StatusError):
        protobuf.parse(protobuf.MAGIC + body)
