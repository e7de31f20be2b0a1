"""JSON patch and JSON merge patch."""

import contextlib
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.k8s.json_values import JSON
from tfjob.local.apiserver.json_patch import PatchError, is_same, json_patch, merge


def op(name: str, path: str, **more: Any) -> dict[str, Any]:
    source = {"from": more.pop("source")} if "source" in more else {}
    return {"op": name, "path": path, **source, **more}


@pytest.mark.parametrize(
    ("target", "operation", "result"),
    [
        ({}, op("add", "/a", value=1), {"a": 1}),
        ({"a": 1}, op("add", "/a", value=2), {"a": 2}),
        ({"a": 1}, op("add", "/b", value=None), {"a": 1, "b": None}),
        ({"a": [1, 3]}, op("add", "/a/1", value=2), {"a": [1, 2, 3]}),
        ({"a": [1]}, op("add", "/a/1", value=2), {"a": [1, 2]}),
        ({"a": [1]}, op("add", "/a/-", value=[2]), {"a": [1, [2]]}),
        ({"a": 1}, op("add", "", value=[]), []),
        ({"a": 1}, op("add", "/", value=2), {"a": 1, "": 2}),
        ({"a": 1, "b": 2}, op("remove", "/a"), {"b": 2}),
        ({"a": [1, 2]}, op("remove", "/a/0"), {"a": [2]}),
        ({"a": 1}, op("replace", "/a", value={"b": 2}), {"a": {"b": 2}}),
        ({"a": [1, 2]}, op("replace", "/a/0", value=3), {"a": [3, 2]}),
        ({"a": 1}, op("replace", "", value=2), 2),
        ({"a": {"x": 1}, "b": {}}, op("move", "/b/y", source="/a/x"), {"a": {}, "b": {"y": 1}}),
        ({"a": [1, 2, 3]}, op("move", "/a/2", source="/a/0"), {"a": [2, 3, 1]}),
        ({"a": 1}, op("move", "/a", source="/a"), {"a": 1}),
        ({"a": {"x": 1}}, op("copy", "/b", source="/a"), {"a": {"x": 1}, "b": {"x": 1}}),
        ({"a": {"x": 1}}, op("copy", "/a/y", source="/a"), {"a": {"x": 1, "y": {"x": 1}}}),
        ({"a": [1, {"b": None}]}, op("test", "/a", value=[1, {"b": None}]), None),
        ({"a": 1}, op("test", "/a", value=1.0), None),
        ({"x/y": 1, "m~n": 2}, op("test", "/x~1y", value=1), None),
        ({"x/y": 1, "m~n": 2}, op("test", "/m~0n", value=2), None),
        ({"~1": 1}, op("test", "/~01", value=1), None),
        ({"0": 1}, op("test", "/0", value=1), None),
    ],
)
def test_a_valid_operation_is_applied(target: Any, operation: Any, result: Any) -> None:
    expected = target if operation["op"] == "test" else result
    assert json_patch(target, [operation]) == expected


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (op("remove", "/x"), "'x' does not exist"),
        (op("remove", ""), "the whole document cannot be removed"),
        (op("remove", "/list/2"), "'2' is not an index of the list; use a whole number below 2"),
        (op("remove", "/list/-"), "'-' is not an index of the list"),
        (op("replace", "/x", value=1), "'x' does not exist"),
        (op("replace", "/list/-", value=1), "'-' is not an index of the list"),
        (op("add", "/x/y", value=1), "'x' does not exist"),
        (op("add", "/list/3", value=1), "use a whole number below 3"),
        (op("add", "/list/01", value=1), "'01' is not an index of the list"),
        (op("add", "/list/-1", value=1), "'-1' is not an index of the list"),
        (op("add", "/list/x", value=1), "'x' is not an index of the list"),
        (op("add", "/text/x", value=1), "neither an object nor a list"),
        (op("add", "/text/x/y", value=1), "'x' does not exist"),
        (op("add", "a", value=1), "a pointer is empty or starts with '/', got 'a'"),
        (op("add", "/a~2", value=1), "'~' is followed by 0 or 1, got '/a~2'"),
        (op("add", "/a"), "a 'value' is required"),
        (op("move", "/a"), "a 'from' is required"),
        (op("move", "/a", source="/x"), "'x' does not exist"),
        (op("move", "/map/in/side", source="/map"), "a value cannot be moved into itself"),
        (op("copy", "/a", source="/x"), "'x' does not exist"),
        (op("test", "/text", value="other"), "the value differs"),
        (op("test", "/yes", value=1), "the value differs"),
        (op("test", "/x", value=None), "'x' does not exist"),
    ],
)
def test_an_operation_that_cannot_be_applied_is_named(operation: Any, reason: str) -> None:
    target = {"list": [1, 2], "text": "t", "map": {"in": {}}, "yes": True}
    before = deepcopy(target)
    first = op("add", "/added", value=1)
    with pytest.raises(PatchError) as refused:
        json_patch(target, [first, operation])
    where = f"json patch: operation 1 ({operation['op']} {operation['path']!r}): "
    assert str(refused.value).startswith(where)
    assert reason in str(refused.value)
    assert str(refused.value).endswith("; patch not applied")
    assert target == before


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ({}, "json patch: must be a list of operations, got dict; not applied"),
        ([1], "json patch: operation 0: Expected `object`, got `int`; patch not applied"),
        (
            [{"op": "spin", "path": ""}],
            "json patch: operation 0: Invalid enum value 'spin' - at `$.op`; patch not applied",
        ),
        (
            [{"op": "add"}],
            "json patch: operation 0: Object missing required field `path`; patch not applied",
        ),
    ],
)
def test_a_malformed_patch_is_rejected(operations: Any, message: str) -> None:
    with pytest.raises(PatchError) as refused:
        json_patch({}, operations)
    assert str(refused.value) == message


def test_operations_are_applied_in_order() -> None:
    operations = [
        op("add", "/a", value={"x": []}),
        op("copy", "/b", source="/a"),
        op("add", "/a/x/-", value=1),
        op("test", "/b/x", value=[]),
    ]
    assert json_patch({}, operations) == {"a": {"x": [1]}, "b": {"x": []}}


def test_the_result_shares_nothing_with_its_inputs() -> None:
    target, operations = {"a": [1]}, [op("add", "/b", value=[2])]
    result = json_patch(target, operations)
    result["a"].append(9)
    result["b"].append(9)
    assert target == {"a": [1]}
    assert operations[0]["value"] == [2]


@given(JSON, JSON | st.lists(st.fixed_dictionaries({"op": JSON, "path": JSON, "value": JSON})))
def test_arbitrary_json_is_applied_or_rejected_by_a_patch_error(
    target: Any, operations: Any
) -> None:
    before = repr((target, operations))
    with contextlib.suppress(PatchError):
        json_patch(target, operations)
    assert repr((target, operations)) == before


@given(JSON, st.text(alphabet="ab/~01-"), JSON)
def test_an_added_value_is_found_at_its_path(target: Any, path: str, value: Any) -> None:
    try:
        result = json_patch(target, [op("add", path, value=value)])
    except PatchError:
        return
    if not path.endswith("/-") and "nan" not in repr(value):
        assert repr(json_patch(result, [op("test", path, value=value)])) == repr(result)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        ("1", 1, False),
        (None, None, True),
        (None, False, False),
        ({"a": 1, "b": [1]}, {"b": [1], "a": 1}, True),
        ({"a": 1}, {"a": True}, False),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ({}, [], False),
    ],
)
def test_values_are_compared_as_json(one: Any, other: Any, same: bool) -> None:
    assert is_same(one, other) is same
    assert is_same(other, one) is same


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
def test_a_merge_patch_merges_objects_and_removes_nulls(
    target: Any, change: Any, result: Any
) -> None:
    assert merge(target, change) == result


def test_merge_keeps_the_order_of_fields() -> None:
    merged = merge({"b": 1, "a": 2}, {"c": 3, "b": 4})
    assert list(merged) == ["b", "a", "c"]


@given(JSON, JSON)
def test_merge_changes_no_input_and_merging_again_changes_nothing(target: Any, change: Any) -> None:
    before = deepcopy((target, change))
    once = merge(target, change)
    assert repr((target, change)) == repr(before)
    assert repr(merge(once, change)) == repr(once)


def test_the_result_of_a_merge_shares_nothing_with_its_inputs() -> None:
    target, change = {"kept": {"x": [1]}}, {"new": {"y": [2]}}
    merged = merge(target, change)
    merged["kept"]["x"].append(9)
    merged["new"]["y"].append(9)
    assert (target, change) == ({"kept": {"x": [1]}}, {"new": {"y": [2]}})
