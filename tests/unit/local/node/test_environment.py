"""Environment and command line of a container."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.local.node.environment import (
    Sources,
    command_line,
    environment_of,
    expand,
    field_value,
    references,
)

POD: dict[str, Any] = {
    "metadata": {
        "name": "p",
        "namespace": "ns",
        "uid": "u1",
        "labels": {"role": "ps", "app": 'a"b'},
        "annotations": {"x/y": "note"},
    },
    "spec": {"nodeName": "here", "serviceAccountName": "default"},
}


def sources(**changes: Any) -> Sources:
    defaults: dict[str, Any] = {
        "pod": POD,
        "config_maps": {"cfg": {"A": "1", "b.c": "2", "9bad": "3"}},
        "secrets": {"sec": {"PASS": "geheim"}},
        "allocatable": {"cpu": "2", "memory": "1Gi"},
    }
    return Sources(**{**defaults, **changes})


def variables(*entries: dict[str, Any], **container: Any) -> dict[str, str]:
    result = environment_of({"env": list(entries), **container}, sources())
    assert result.faults == ()
    return result.variables


def faults(*entries: dict[str, Any], **container: Any) -> tuple[str, ...]:
    return environment_of({"env": list(entries), **container}, sources()).faults


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(A)", "x1y1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$()", "$()"),
        ("a$$b", "a$b"),
    ],
)
def test_references_expand_as_kubernetes_expands_them(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


def test_a_value_sees_only_variables_defined_before_it() -> None:
    found = variables({"name": "B", "value": "$(A)"}, {"name": "A", "value": "1"})
    assert found == {"B": "$(A)", "A": "1"}
    found = variables({"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(A)"})
    assert found["B"] == "11"


def test_env_wins_over_env_from_and_invalid_names_are_left_out() -> None:
    found = variables({"name": "A", "value": "mine"}, envFrom=[{"configMapRef": {"name": "cfg"}}])
    assert found == {"A": "mine", "b.c": "2"}


def test_env_from_puts_its_prefix_before_every_key() -> None:
    found = variables(envFrom=[{"prefix": "P_", "secretRef": {"name": "sec"}}])
    assert found == {"P_PASS": "geheim"}


def test_keys_of_config_maps_and_secrets_become_values() -> None:
    found = variables(
        {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "cfg", "key": "A"}}},
        {"name": "Y", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "PASS"}}},
    )
    assert found == {"X": "1", "Y": "geheim"}


def test_every_missing_reference_is_reported() -> None:
    assert faults(
        {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "no", "key": "A"}}},
        {"name": "Y", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "no"}}},
        {"name": "Z", "valueFrom": {"fieldRef": {"fieldPath": "spec.colour"}}},
        {"name": "W", "valueFrom": {"fileKeyRef": {}}},
        envFrom=[{"secretRef": {"name": "none"}}],
    ) == (
        'secret "none" not found',
        'configmap "no" not found',
        'couldn\'t find key no in secret "sec"',
        "unsupported field 'spec.colour' in valueFrom",
        "valueFrom with fileKeyRef is not supported here",
    )


def test_optional_references_leave_no_variable_and_no_fault() -> None:
    missing = {"name": "no", "key": "A", "optional": True}
    found = variables(
        {"name": "X", "valueFrom": {"configMapKeyRef": missing}},
        envFrom=[{"configMapRef": {"name": "no", "optional": True}}],
    )
    assert found == {}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "ns"),
        ("metadata.uid", "u1"),
        ("metadata.labels['role']", "ps"),
        ("metadata.labels['none']", ""),
        ("metadata.annotations['x/y']", "note"),
        ("metadata.labels", 'app="a\\"b"\nrole="ps"'),
        ("spec.nodeName", "here"),
        ("spec.serviceAccountName", "default"),
        ("status.podIP", "127.0.0.1"),
        ("status.hostIP", "127.0.0.1"),
    ],
)
def test_fields_of_the_pod_are_readable(path: str, expected: str) -> None:
    assert field_value(POD, path) == expected


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "requests.cpu"}, "1"),
        ({"resource": "requests.cpu", "divisor": "1m"}, "500"),
        ({"resource": "limits.memory", "divisor": "1Mi"}, "1024"),
        ({"resource": "requests.memory"}, "0"),
    ],
)
def test_resources_are_rounded_up_to_the_divisor(reference: dict[str, str], expected: str) -> None:
    entry = {"name": "R", "valueFrom": {"resourceFieldRef": reference}}
    assert variables(entry, resources={"requests": {"cpu": "500m"}})["R"] == expected


def test_command_and_args_are_joined_and_expanded() -> None:
    container = {"command": ["python", "$(F)"], "args": ["--n=$(N)", "$$(N)"]}
    words = command_line(container, {"F": "train.py", "N": "3"})
    assert words == ("python", "train.py", "--n=3", "$(N)")


def test_args_alone_are_not_a_command() -> None:
    assert command_line({"args": ["x"]}, {}) == ()


def test_references_list_the_objects_to_fetch() -> None:
    pod = {
        "spec": {
            "initContainers": [{"envFrom": [{"secretRef": {"name": "s1"}}]}],
            "containers": [
                {"env": [{"valueFrom": {"configMapKeyRef": {"name": "c1", "key": "k"}}}]},
                {"envFrom": [{"configMapRef": {"name": "c2"}}]},
            ],
        }
    }
    assert references(pod) == (frozenset({"c1", "c2"}), frozenset({"s1"}))


@given(st.text())
def test_any_text_can_be_expanded(text: str) -> None:
    expanded = expand(text, {"A": "1"})
    if "$" not in text:
        assert expanded == text


@given(st.text(alphabet=st.characters(exclude_characters="$")))
def test_an_escaped_reference_stays_a_reference(name: str) -> None:
    assert expand(f"$$({name})", {name: "x"}) == f"$({name})"
