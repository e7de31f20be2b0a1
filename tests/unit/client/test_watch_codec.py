"""Decoding of watch lines."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.client.errors import ApiError, Gone
from tfjob.client.watch_codec import (
    Changed,
    Deleted,
    InitialList,
    LineBuffer,
    LineDecoder,
    LineEvent,
    MalformedLine,
    Progressed,
    Replaced,
    Unreadable,
    WatchSession,
)
from tfjob.k8s.meta import ObjectMeta


class Thing(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    size: int = 0


def line(kind: str, *, version: str = "5", size: object = 1, **metadata: object) -> bytes:
    described = {"namespace": "ns", "name": "a", "resourceVersion": version, **metadata}
    content = {"metadata": described, "size": size, "spec": {"not": ["read"]}}
    return msgspec.json.encode({"type": kind, "object": content})


def decoded(text: bytes) -> LineEvent[Thing]:
    return LineDecoder(Thing).line(text)


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED"])
def test_a_change_carries_the_object(kind: str) -> None:
    event = decoded(line(kind, size=3))
    assert isinstance(event, Changed)
    assert event.object.size == 3
    assert event.version == "5"


def test_a_deletion_carries_the_key() -> None:
    assert decoded(line("DELETED")) == Deleted(("ns", "a"), "5")


def test_the_order_of_fields_does_not_matter() -> None:
    text = msgspec.json.encode({"object": {"metadata": {"name": "a"}}, "type": "DELETED"})
    assert decoded(text) == Deleted(("", "a"), "")


def test_a_bookmark_carries_the_version_and_the_end_of_the_state() -> None:
    ends = {"k8s.io/initial-events-end": "true"}
    assert decoded(line("BOOKMARK")) == Progressed("5")
    assert decoded(line("BOOKMARK", annotations=ends)) == Progressed("5", ends_initial=True)


def test_a_bookmark_need_not_fit_the_type() -> None:
    assert decoded(line("BOOKMARK", size=None)) == Progressed("5")


def test_an_error_is_the_error_it_means() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old: 1 (9)"}
    text = msgspec.json.encode({"type": "ERROR", "object": status})
    with pytest.raises(Gone, match=r"too old: 1 \(9\)"):
        decoded(text)


def test_an_object_that_does_not_fit_is_named_not_asked_for_again() -> None:
    event = decoded(line("MODIFIED", size="large"))
    assert isinstance(event, Unreadable)
    assert event.key == ("ns", "a")
    assert event.version == "5"
    assert "size" in event.fault


def test_a_deletion_of_an_object_that_does_not_fit_is_still_a_deletion() -> None:
    assert decoded(line("DELETED", size="large")) == Deleted(("ns", "a"), "5")


def test_an_event_of_an_unknown_type_is_named() -> None:
    event = decoded(line("RENAMED"))
    assert isinstance(event, Unreadable)
    assert "RENAMED" in event.fault


@given(cut=st.integers(0, len(line("ADDED")) - 1))
def test_a_line_that_was_cut_is_malformed(cut: int) -> None:
    with pytest.raises(MalformedLine):
        decoded(line("ADDED")[:cut])


@given(text=st.binary(max_size=60))
def test_no_garbage_passes_for_an_object(text: bytes) -> None:
    try:
        event = decoded(text)
    except (MalformedLine, ApiError):
        return  # no event, or an error that the server reports
    assert isinstance(event, Unreadable)


def test_an_item_of_a_list_is_read_or_named() -> None:
    decoder = LineDecoder(Thing)
    fits = decoder.item(msgspec.Raw(b'{"metadata":{"name":"a"},"size":2}'))
    unfit = decoder.item(msgspec.Raw(b'{"metadata":{"name":"b"},"size":"x"}'))
    assert isinstance(fits, Changed)
    assert isinstance(unfit, Unreadable)
    assert unfit.key == ("", "b")


@given(text=st.binary(max_size=80), cuts=st.lists(st.integers(0, 80)))
def test_lines_do_not_depend_on_where_chunks_end(text: bytes, cuts: list[int]) -> None:
    buffer = LineBuffer()
    edges = [0, *sorted(cuts), len(text)]
    parts = [text[start:end] for start, end in pairwise(edges)]
    lines = [line for part in parts for line in buffer.feed(part)]
    assert lines == [line for line in text.split(b"\n")[:-1] if line]


def thing(name: str, version: str) -> Thing:
    return Thing(ObjectMeta(name=name, resource_version=version))


def test_the_initial_state_is_complete_once_the_server_marks_its_end() -> None:
    state = InitialList[Thing]()
    assert state.take(Changed(thing("a", "1"))) is None
    assert state.take(Changed(thing("b", "2"))) is None
    assert state.take(Deleted(("", "a"), "3")) is None
    assert state.take(Changed(thing("b", "4"))) is None
    assert state.take(Unreadable(("", "c"), "5", "odd")) is None
    assert state.take(Progressed("5")) is None
    whole = state.take(Progressed("6", ends_initial=True))
    assert whole == Replaced([thing("b", "4")], "6", frozenset({("", "c")}))


def test_after_the_state_changes_pass_through() -> None:
    phases = WatchSession[Thing](is_gathering=True)
    assert phases.take(Changed(thing("a", "1"))) is None
    assert phases.take(Progressed("2", ends_initial=True)) == Replaced([thing("a", "1")], "2")
    assert not phases.is_gathering
    assert phases.take(Changed(thing("a", "3"))) == Changed(thing("a", "3"))
    assert phases.take(Unreadable(("", "c"), "4", "odd")) == Progressed("4")
