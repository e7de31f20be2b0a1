"""Strategic merge patch: what merges by key, what is replaced, and in which order."""

import contextlib
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.k8s.json_values import JSON
from tfjob.local.apiserver.json_patch import PatchError
from tfjob.local.apiserver.strategic_patch import MERGE_KEYS, SET, strategic

NAMES = st.lists(st.sampled_from("abcd"), unique=True, max_size=4)


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def named(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, **more} for name in names]


def test_objects_are_merged_and_null_removes() -> None:
    target = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    change = {"metadata": {"labels": {"a": None, "c": "3", "d": None}}}
    assert strategic(target, change) == {"metadata": {"labels": {"b": "2", "c": "3"}}}


def test_containers_are_merged_by_name() -> None:
    target = spec(containers=[{"name": "tf", "image": "i1", "command": ["a", "b"]}])
    change = spec(containers=[{"name": "tf", "image": "i2", "command": ["c"]}])
    merged = spec(containers=[{"name": "tf", "image": "i2", "command": ["c"]}])
    assert strategic(target, change) == merged


@pytest.mark.parametrize(
    ("field", "key"),
    [
        ("env", "name"),
        ("ports", "containerPort"),
        ("volumeMounts", "mountPath"),
        ("volumeDevices", "devicePath"),
    ],
)
@pytest.mark.parametrize("containers", ["containers", "initContainers", "ephemeralContainers"])
def test_lists_inside_containers_are_merged_by_their_keys(
    containers: str, field: str, key: str
) -> None:
    target = spec(**{containers: [{"name": "tf", field: [{key: 1, "x": 1}, {key: 2, "x": 2}]}]})
    change = spec(**{containers: [{"name": "tf", field: [{key: 2, "x": 3}]}]})
    merged = spec(**{containers: [{"name": "tf", field: [{key: 1, "x": 1}, {key: 2, "x": 3}]}]})
    assert strategic(target, change) == merged


@pytest.mark.parametrize(
    ("path", "key"), [(path, key) for path, key in MERGE_KEYS.items() if key != SET]
)
def test_every_list_of_the_table_is_merged_by_its_key(path: str, key: str) -> None:
    parent, field = path.split(".")
    target = {parent: {field: [{key: "one", "x": 1}, {key: "two", "x": 1}]}}
    change = {parent: {field: [{key: "two", "x": 2}]}}
    merged = {parent: {field: [{key: "one", "x": 1}, {key: "two", "x": 2}]}}
    assert strategic(target, change) == merged


def test_pods_inside_templates_are_merged_too() -> None:
    target = spec(template=spec(containers=named("tf", "side")))
    change = spec(template=spec(containers=named("tf", image="i")))
    containers = [{"name": "tf", "image": "i"}, {"name": "side"}]
    assert strategic(target, change) == spec(template=spec(containers=containers))


def test_service_ports_are_merged_by_port_not_by_container_port() -> None:
    target = spec(ports=[{"port": 2222, "name": "tfjob-port"}])
    change = spec(ports=[{"port": 2222, "targetPort": 2223}])
    merged = spec(ports=[{"port": 2222, "name": "tfjob-port", "targetPort": 2223}])
    assert strategic(target, change) == merged


def test_finalizers_are_a_set() -> None:
    target = {"metadata": {"finalizers": ["a", "b"]}}
    change = {"metadata": {"finalizers": ["b", "c"]}}
    assert set(strategic(target, change)["metadata"]["finalizers"]) == {"a", "b", "c"}
    assert len(strategic(target, change)["metadata"]["finalizers"]) == 3


def test_tolerations_and_other_lists_are_replaced_whole() -> None:
    target = spec(tolerations=[{"key": "a"}, {"key": "b"}])
    change = spec(tolerations=[{"key": "c"}])
    assert strategic(target, change) == change


def test_an_element_is_deleted_by_directive() -> None:
    target = spec(containers=named("a", "b"))
    change = spec(containers=[{"$patch": "delete", "name": "a"}])
    assert strategic(target, change) == spec(containers=named("b"))


def test_a_list_is_replaced_by_directive() -> None:
    target = spec(containers=named("a", "b"))
    change = spec(containers=[{"$patch": "replace"}, {"name": "c"}])
    assert strategic(target, change) == spec(containers=named("c"))


def test_an_object_is_replaced_or_emptied_by_directive() -> None:
    target = {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}}
    change = {
        "metadata": {"labels": {"$patch": "replace", "c": "3"}, "annotations": {"$patch": "delete"}}
    }
    merged = {"metadata": {"labels": {"c": "3"}, "annotations": {}}}
    assert strategic(target, change) == merged


def test_a_directive_for_a_missing_object_has_no_effect() -> None:
    change = {"metadata": {"labels": {"$patch": "delete"}}}
    assert strategic({}, change) == {"metadata": {}}


def test_plain_values_are_deleted_by_directive() -> None:
    target = {"metadata": {"finalizers": ["a", "b", "c"]}}
    change = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "x"], "finalizers": ["d"]}}
    assert sorted(strategic(target, change)["metadata"]["finalizers"]) == ["b", "c", "d"]
    assert strategic({"metadata": {}}, {"metadata": {"$deleteFromPrimitiveList/x": []}}) == {
        "metadata": {}
    }


def test_only_retained_keys_stay() -> None:
    target = spec(volumes=[{"name": "v", "emptyDir": {}}])
    change = spec(
        volumes=[{"name": "v", "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}]
    )
    assert strategic(target, change) == spec(volumes=[{"name": "v", "hostPath": {"path": "/x"}}])


def test_added_values_contain_no_directive_and_no_null() -> None:
    change = spec(
        containers=[{"name": "a", "image": None, "env": [{"$patch": "delete", "name": "X"}]}],
        volumes=[{"name": "v", "$retainKeys": ["name"]}],
    )
    assert strategic({}, change) == spec(
        containers=[{"name": "a", "env": []}], volumes=[{"name": "v"}]
    )


def test_a_value_of_another_type_is_replaced() -> None:
    assert strategic({"a": 1, "b": {"x": 1}}, {"a": {"y": 1}, "b": 2}) == {"a": {"y": 1}, "b": 2}
    change = spec(containers=named("a"))
    assert strategic(spec(containers="none"), change) == change


def test_a_new_element_comes_before_those_that_the_patch_does_not_name() -> None:
    merged = strategic(spec(containers=named("a", "b")), spec(containers=named("c")))
    assert merged == spec(containers=named("c", "a", "b"))


def test_a_merged_element_keeps_its_place_among_the_others() -> None:
    merged = strategic(spec(containers=named("a", "b", "c")), spec(containers=named("b")))
    assert merged == spec(containers=named("a", "b", "c"))


def test_the_order_that_a_patch_sets_is_kept() -> None:
    change = spec(containers=named("d"), **{"$setElementOrder/containers": named("c", "d", "a")})
    merged = strategic(spec(containers=named("a", "b", "c")), change)
    assert merged == spec(containers=named("b", "c", "d", "a"))


def test_an_order_for_a_missing_list_has_no_effect() -> None:
    change = spec(**{"$setElementOrder/containers": named("a")})
    assert strategic({}, change) == {"spec": {}}


def test_the_merge_keys_can_be_given() -> None:
    target, change = {"x": {"ys": [{"id": 1}]}}, {"x": {"ys": [{"id": 2}]}}
    assert strategic(target, change) == change
    merged = strategic(target, change, merge_keys={"x.ys": "id"})
    assert merged == {"x": {"ys": [{"id": 2}, {"id": 1}]}}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ([], "patch: must be an object, got list"),
        ({"$patch": "spin"}, "$patch must be 'delete' or 'replace', got 'spin'"),
        ({"spec": {"$patch": "spin"}}, "spec: $patch must be 'delete' or 'replace', got 'spin'"),
        (spec(containers=[{"image": "i"}]), "containers: an element lacks its merge key 'name'"),
        (spec(containers=[{"$patch": "delete"}]), "an element lacks its merge key 'name'"),
        (spec(containers=[{"$patch": "merge", "name": "a"}]), "containers: $patch must be"),
        (spec(containers=["a"]), "containers: must be an object, got str"),
        (spec(**{"$retainKeys": "a"}), "$retainKeys: must be a list, got str"),
        (
            {"metadata": {"$deleteFromPrimitiveList/finalizers": "a"}},
            "$deleteFromPrimitiveList/finalizers: must be a list, got str",
        ),
        (
            spec(containers=[], **{"$setElementOrder/containers": {}}),
            "$setElementOrder/containers: must be a list, got dict",
        ),
    ],
)
def test_a_patch_that_cannot_be_applied_is_rejected(change: Any, reason: str) -> None:
    target = {"metadata": {"finalizers": ["a"]}, "spec": {}}
    with pytest.raises(PatchError) as refused:
        strategic(target, change)
    assert str(refused.value).startswith("strategic merge patch: ")
    assert reason in str(refused.value)
    assert str(refused.value).endswith("; patch not applied")


@given(NAMES, NAMES)
def test_a_merged_list_has_every_name_once_and_keeps_both_orders(
    live: list[str], wanted: list[str]
) -> None:
    merged = strategic(spec(containers=named(*live)), spec(containers=named(*wanted)))
    names = [each["name"] for each in merged["spec"]["containers"]]
    assert sorted(names) == sorted({*live, *wanted})
    assert [name for name in names if name in wanted] == wanted
    others = [name for name in live if name not in wanted]
    assert [name for name in names if name in others] == others


DIRECTED = st.recursive(
    JSON,
    lambda inner: st.dictionaries(
        st.sampled_from(
            [
                "spec",
                "containers",
                "name",
                "env",
                "metadata",
                "finalizers",
                "$patch",
                "$retainKeys",
                "$setElementOrder/containers",
                "$deleteFromPrimitiveList/finalizers",
            ]
        ),
        inner | st.lists(inner, max_size=2),
        max_size=4,
    ),
    max_leaves=8,
)


@given(DIRECTED, DIRECTED)
def test_arbitrary_json_is_merged_or_rejected_by_a_patch_error(target: Any, change: Any) -> None:
    before = repr((target, change))
    with contextlib.suppress(PatchError):
        strategic(target, change)
    assert repr((target, change)) == before


def test_the_result_shares_nothing_with_its_inputs() -> None:
    target = spec(containers=named("a", args=["x"]))
    change = spec(containers=named("b", args=["y"]))
    inputs = deepcopy((target, change))
    for container in strategic(target, change)["spec"]["containers"]:
        container["args"].append("z")
    assert (target, change) == inputs
