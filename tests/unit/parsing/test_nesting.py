"""JSON that is nested too deeply is found and cut, whatever else it contains."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hostile import DEPTHS, TEXTS, event, job, listed, nested
from tfjob.k8s.nesting import CUT, MAX_DEPTH, is_bounded, is_deep, plain, pruned

JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.text(alphabet='a"\\[]{}:, é'),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(alphabet='a"[]{}', max_size=3), inner, max_size=3)
    ),
)


def test_the_limit_itself_is_read_and_one_level_more_is_not() -> None:
    assert not is_deep(nested(MAX_DEPTH))
    assert is_deep(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize("depth", DEPTHS)
def test_depth_is_found_behind_text_full_of_brackets(depth: int) -> None:
    assert is_deep(b'{"a":"]]}}\\"]","b":' + nested(depth) + b"}")


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert not is_deep(b"[" + b",".join([nested(MAX_DEPTH - 1)] * 50) + b"]")


@given(JSON)
def test_brackets_in_text_count_for_nothing(value: object) -> None:
    text = msgspec.json.encode({"pad": [[]] * (MAX_DEPTH + 1), "spec": value})
    assert not is_deep(text)
    assert pruned(text, level=1) == text
    assert plain(text) == msgspec.json.decode(text)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(
    ("text", "level"),
    [(job, 1), (lambda name, spec: event("ADDED", job(name, spec=spec)), 2)],
    ids=["object", "event"],
)
def test_only_what_is_too_deep_is_cut(depth: int, text: object, level: int) -> None:
    assert callable(text)
    found = msgspec.json.decode(pruned(text("a", spec=nested(depth)), level=level))
    stored = found if level == 1 else found["object"]
    cut = msgspec.json.decode(CUT)
    assert stored["metadata"].pop("managedFields") == cut
    assert stored["metadata"]["name"] == "a"
    assert (stored["spec"], stored["status"]) == (cut, {})


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_other_items_of_a_list_stay_whole(depth: int) -> None:
    good, bad = job("good", spec=nested(50)), job("bad", spec=nested(depth))
    found = msgspec.json.decode(pruned(listed(good, bad, good), level=3))["items"]
    assert found[0] == found[2] == msgspec.json.decode(good)
    assert found[1]["metadata"]["name"] == "bad"
    assert found[1]["spec"] == msgspec.json.decode(CUT)


@given(TEXTS, st.integers(1, 3))
def test_what_was_cut_can_be_scanned_and_decoded_or_rejected(text: bytes, level: int) -> None:
    try:
        value = msgspec.json.decode(pruned(text, level=level))
    except (msgspec.DecodeError, UnicodeError):
        return
    assert is_bounded([value]) or is_deep(msgspec.json.encode(value))


def test_a_value_without_end_is_not_bounded() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert not is_bounded(endless)
    assert is_bounded([[1], {"a": [2]}])
