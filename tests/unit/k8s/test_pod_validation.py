"""Semantic validation of pods."""

from typing import Any

import pytest

from tfjob.k8s.names import port_name_problems
from tfjob.k8s.pod_validation import label_faults, pod_spec_faults


def refused(**spec: Any) -> list[str]:
    return [fault.text for fault in pod_spec_faults(spec, "spec")]


def refused_of(**container: Any) -> list[str]:
    return refused(containers=[{"name": "a", "image": "i", **container}])


def test_containers_of_all_lists_share_their_names() -> None:
    own = {"name": "a", "image": "i"}
    assert refused(containers=[own], initContainers=[{**own, "name": "b"}, own]) == [
        'spec.initContainers[1].name: Duplicate value: "a"'
    ]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a" * 16, "must be no more than 15 characters"),
        ("A_B", "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"),
        ("12", "must contain at least one letter (a-z)"),
        ("a--b", "must not contain consecutive hyphens"),
        ("-a", "must not begin or end with a hyphen"),
    ],
)
def test_port_name_that_no_service_can_have_is_rejected(name: str, problem: str) -> None:
    assert problem in port_name_problems(name)
    assert f'spec.containers[0].ports[0].name: Invalid value: "{name}": {problem}' in refused_of(
        ports=[{"name": name, "containerPort": 1}]
    )


@pytest.mark.parametrize("name", ["a", "tfjob-port", "2-a", "a" * 15])
def test_port_name_that_a_service_can_have_is_taken(name: str) -> None:
    assert refused_of(ports=[{"name": name, "containerPort": 1}, {"containerPort": 2}]) == []


def test_ports_of_one_container_have_names_of_their_own() -> None:
    port = {"name": "a", "containerPort": 1}
    assert refused_of(ports=[port, {**port, "containerPort": 2}]) == [
        'spec.containers[0].ports[1].name: Duplicate value: "a"'
    ]


def test_mount_names_a_volume_of_the_pod() -> None:
    mount = {"name": "v", "mountPath": "/v"}
    assert refused_of(volumeMounts=[mount]) == [
        'spec.containers[0].volumeMounts[0].name: Not found: "v"'
    ]
    container = {"name": "a", "image": "i", "volumeMounts": [mount]}
    assert refused(volumes=[{"name": "v"}], containers=[container]) == []


def test_closed_list_is_printed_in_the_order_of_a_server() -> None:
    found = refused(restartPolicy="x", containers=[{"name": "a", "image": "i"}])
    assert found == [
        (
            'spec.restartPolicy: Unsupported value: "x":'
            ' supported values: "Always", "OnFailure", "Never"'
        )
    ]


def test_labels_are_judged_wherever_they_stand() -> None:
    (fault,) = label_faults({"labels": {"a": "b c"}}, "spec.template.metadata")
    assert fault.path == "spec.template.metadata.labels"
