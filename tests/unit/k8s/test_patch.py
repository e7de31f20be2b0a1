"""Merge patches and the patches between two values."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.k8s.json_values import JSON
from tfjob.k8s import patch

# A merge patch can neither set a null in an object nor tell NaN from NaN.
SETTABLE = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), SETTABLE, max_size=3)


@pytest.mark.parametrize(
    ("target", "change", "result"),
    [
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": 1}, {"b": None}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": [1]}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
        ({"a": None}, {"b": 1}, {"a": None, "b": 1}),
        ({"a": 1}, None, None),
        ({"a": 1}, ["b"], ["b"]),
        ([1], {"a": 1}, {"a": 1}),
        (None, {}, {}),
    ],
)
def test_merge_patch(target: Any, change: Any, result: Any) -> None:
    assert patch.merge(target, change) == result


def test_merge_keeps_the_order_of_fields() -> None:
    merged = patch.merge({"b": 1, "a": 2}, {"c": 3, "b": 4})
    assert list(merged) == ["b", "a", "c"]


@given(JSON, JSON)
def test_merge_changes_no_input_and_merging_again_changes_nothing(target: Any, change: Any) -> None:
    before = deepcopy((target, change))
    once = patch.merge(target, change)
    assert repr((target, change)) == repr(before)
    assert repr(patch.merge(once, change)) == repr(once)


def test_the_result_of_a_merge_shares_nothing_with_its_inputs() -> None:
    target, change = {"kept": {"x": [1]}}, {"new": {"y": [2]}}
    merged = patch.merge(target, change)
    merged["kept"]["x"].append(9)
    merged["new"]["y"].append(9)
    assert (target, change) == ({"kept": {"x": [1]}}, {"new": {"y": [2]}})


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {}, {"a": None}),
        ({}, {"a": {}}, {"a": {}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": [1, 2]}, {"a": [1, 3]}, {"a": [1, 3]}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": [0]}, {"a": [False]}, {"a": [False]}),
        ({"a": {"b": 1}}, {"a": "x"}, {"a": "x"}),
        ([1], [2], [2]),
    ],
)
def test_diff_is_the_smallest_merge_patch(before: Any, after: Any, change: Any) -> None:
    assert repr(patch.diff(before, after)) == repr(change)


@given(OBJECTS, OBJECTS)
def test_merging_the_diff_gives_the_other_value(before: Any, after: Any) -> None:
    assert patch.merge(before, patch.diff(before, after)) == after


@given(OBJECTS)
def test_equal_objects_differ_by_nothing(value: Any) -> None:
    assert patch.diff(value, deepcopy(value)) == {}


def test_the_diff_shares_nothing_with_its_inputs() -> None:
    after = {"a": {"x": [1]}}
    patch.diff({}, after)["a"]["x"].append(9)
    assert after == {"a": {"x": [1]}}


def test_all_ways_to_patch_are_found_in_one_place() -> None:
    pod = {"spec": {"containers": [{"name": "a"}]}}
    assert patch.json_patch(pod, [{"op": "remove", "path": "/spec"}]) == {}
    assert patch.strategic(pod, {"spec": {"containers": [{"name": "a", "image": "i"}]}}) == {
        "spec": {"containers": [{"name": "a", "image": "i"}]}
    }
    with pytest.raises(patch.PatchError):
        patch.json_patch(pod, {})
