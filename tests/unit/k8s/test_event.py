"""Events: stable names, complete objects, messages that fit."""

import enum
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.k8s.event import Event, ObjectEvent, event_name, manifest
from tfjob.k8s.names import dns1123_subdomain_problems

EVENT = Event(
    type="Normal",
    reason="SuccessfulCreatePod",
    message="Created pod: mnist-worker-0",
    api_version="kubeflow.org/v1",
    kind="TFJob",
    namespace="team-a",
    name="mnist",
    uid="5d1c0d0e-0000-4000-8000-000000000001",
    resource_version="42",
)
FIRST = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
LAST = datetime(2026, 1, 2, 3, 5, tzinfo=UTC)
OBJECT_NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,250}[a-z0-9])?", fullmatch=True).filter(
    lambda name: not dns1123_subdomain_problems(name)
)


def sent(event: Event, *, count: int = 3) -> dict[str, Any]:
    return manifest(
        event, component="tfjob-controller", name="mnist.1", first=FIRST, last=LAST, count=count
    )


def test_the_object_says_everything_about_the_event() -> None:
    assert sent(EVENT) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "mnist.1", "namespace": "team-a"},
        "involvedObject": {
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "namespace": "team-a",
            "name": "mnist",
            "uid": "5d1c0d0e-0000-4000-8000-000000000001",
            "resourceVersion": "42",
        },
        "type": "Normal",
        "reason": "SuccessfulCreatePod",
        "message": "Created pod: mnist-worker-0",
        "source": {"component": "tfjob-controller"},
        "reportingComponent": "tfjob-controller",
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "lastTimestamp": "2026-01-02T03:05:00Z",
        "count": 3,
    }


def test_the_type_may_be_a_word_of_an_enumeration_and_is_sent_as_text() -> None:
    kind = enum.StrEnum("kind", {"WARNING": "Warning"})
    body = sent(msgspec.structs.replace(EVENT, type=kind["WARNING"]))
    assert body["type"] == "Warning"
    assert type(body["type"]) is str


def test_an_object_without_namespace_has_its_events_in_default() -> None:
    body = sent(msgspec.structs.replace(EVENT, namespace=""))
    assert body["metadata"]["namespace"] == "default"
    assert "namespace" not in body["involvedObject"]


def test_an_unknown_resource_version_is_left_out() -> None:
    body = sent(msgspec.structs.replace(EVENT, resource_version=""))
    assert "resourceVersion" not in body["involvedObject"]


def test_the_name_is_the_objects_name_and_sixteen_hex_digits() -> None:
    assert event_name(EVENT, "created/mnist-worker-0") == "mnist.fa443293d78da489"


def test_names_of_ranked_events_are_in_the_order_of_their_ranks() -> None:
    ranked = [msgspec.structs.replace(EVENT, rank=rank) for rank in range(1, 16)]
    names = [event_name(each, f"key {each.rank}") for each in ranked]
    assert names == sorted(names)
    assert event_name(ranked[2], "created/mnist-worker-0") == "mnist.3a443293d78da489"


def test_the_same_event_has_the_same_name() -> None:
    told_again = msgspec.structs.replace(EVENT, message="other words", resource_version="43")
    assert event_name(EVENT, "key") == event_name(told_again, "key")


def test_another_event_or_object_has_another_name() -> None:
    reborn = msgspec.structs.replace(EVENT, uid="5d1c0d0e-0000-4000-8000-000000000002")
    names = {event_name(EVENT, "a"), event_name(EVENT, "b"), event_name(reborn, "a")}
    assert len(names) == 3


def test_uid_and_key_do_not_run_into_one_another() -> None:
    one = msgspec.structs.replace(EVENT, uid="ab")
    two = msgspec.structs.replace(EVENT, uid="a")
    assert event_name(one, "c") != event_name(two, "bc")


@given(OBJECT_NAMES, st.text())
def test_the_name_is_always_a_valid_one(name: str, key: str) -> None:
    named = event_name(msgspec.structs.replace(EVENT, name=name), key)
    assert dns1123_subdomain_problems(named) == ()


def test_a_long_name_is_cut_before_the_digits() -> None:
    named = event_name(msgspec.structs.replace(EVENT, name="a" * 235 + "-" + "b" * 17), "key")
    assert len(named) == 252
    assert named.startswith("a" * 235 + ".")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1021 + "…"),
        ("é" * 512, "é" * 512),
        ("é" * 513, "é" * 510 + "…"),
        ("\ud800", "?"),
    ],
)
def test_a_message_is_cut_to_1024_bytes(message: str, shown: str) -> None:
    assert sent(msgspec.structs.replace(EVENT, message=message))["message"] == shown


@given(st.text(min_size=300))
def test_no_message_is_longer_than_1024_bytes(message: str) -> None:
    body = sent(msgspec.structs.replace(EVENT, message=message))
    assert len(body["message"].encode()) <= 1024


def read(version: int, **fields: Any) -> ObjectEvent:
    body = {"metadata": {"name": f"e{version}", "resourceVersion": str(version)}, **fields}
    return msgspec.convert(body, ObjectEvent)


def test_events_are_in_the_order_of_their_seconds_and_then_of_their_storage() -> None:
    told = [
        read(9, lastTimestamp="2026-01-01T00:00:00Z"),
        read(10, eventTime="2026-01-01T00:00:00.900000Z"),
        read(11, lastTimestamp="2026-01-01T00:00:00Z"),
        read(3, eventTime="2026-01-01T00:00:01.000001Z"),
        read(1, lastTimestamp="2026-01-01T00:00:02Z", eventTime="2026-01-01T00:00:00.5Z"),
        read(
            2,
            eventTime="2026-01-01T00:00:00Z",
            series={"count": 4, "lastObservedTime": "2026-01-01T00:00:03.5Z"},
        ),
    ]
    assert sorted(told, key=lambda each: each.order) == told
    assert [each.occurrences for each in told] == [1, 1, 1, 1, 1, 4]


def test_an_event_without_a_time_comes_first() -> None:
    timeless = read(5, count=2)
    assert timeless.last_seen is None
    assert timeless.order < read(1, lastTimestamp="2026-01-01T00:00:00Z").order
    assert timeless.occurrences == 2
