"""Faults of a pod template, and the ports of its service."""

import copy
from typing import Any

import pytest

from tests.support.builders import container
from tfjob.core.job import ServicePort
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.kubeflow import defaults, schema
from tfjob.dialects.kubeflow.spec import Template, read_template
from tfjob.dialects.schema_check import valid_part

TEMPLATE = schema.template()


def read(*containers: Any, **template: Any) -> tuple[Template, list[str]]:
    return read_whole({"spec": {"containers": list(containers)}, **template})


def read_whole(given: Any) -> tuple[Template, list[str]]:
    reader = Reader()
    right = valid_part(reader, given, TEMPLATE, "template")
    faults = [fault.path for fault in reader.faults]
    return (Template() if faults else read_template(defaults.with_port(right))), faults


def service_ports(*ports: dict[str, Any]) -> list[tuple[str, int, str]]:
    template, faults = read(container(ports=list(ports)))
    assert faults == []
    return [(port.name, port.port, port.protocol) for port in template.ports]


def test_template_itself_is_never_changed() -> None:
    given = {"spec": {"containers": [container(), {"name": "sidecar", "image": "x"}]}}
    before = copy.deepcopy(given)
    template, _ = read_whole(given)
    assert given == before
    assert template.body["spec"]["containers"][1] is given["spec"]["containers"][1]


def test_template_with_its_training_port_passes_through_as_the_same_object() -> None:
    given = {
        "spec": {"containers": [container(ports=[{"name": "tfjob-port", "containerPort": 80}])]}
    }
    template, _ = read_whole(given)
    assert template.body is given
    assert template.port == 80


def test_training_container_may_stand_anywhere() -> None:
    template, faults = read({"name": "a", "image": "x"}, container())
    assert faults == []
    assert "ports" not in template.body["spec"]["containers"][0]
    assert template.ports == [ServicePort(name="tfjob-port", port=2222)]


def test_ports_of_the_service_are_in_the_order_of_the_container() -> None:
    assert service_ports(
        {"name": "b", "containerPort": 2},
        {"name": "tfjob-port", "containerPort": 3},
        {"name": "a", "containerPort": 1},
    ) == [("b", 2, ""), ("tfjob-port", 3, ""), ("a", 1, "")]


def test_protocol_is_copied() -> None:
    assert service_ports({"name": "dns", "containerPort": 53, "protocol": "UDP"}) == [
        ("dns", 53, "UDP"),
        ("tfjob-port", 2222, ""),
    ]


def test_same_port_and_protocol_is_published_once() -> None:
    assert service_ports(
        {"name": "a", "containerPort": 80},
        {"name": "b", "containerPort": 80, "protocol": "TCP"},
        {"name": "c", "containerPort": 80, "protocol": "UDP"},
    ) == [("a", 80, ""), ("c", 80, "UDP"), ("tfjob-port", 2222, "")]


def test_training_port_keeps_its_name_beside_another_name_of_the_same_number() -> None:
    assert service_ports({"name": "grpc", "containerPort": 2222}) == [("tfjob-port", 2222, "")]


def test_unnamed_ports_of_one_number_get_names_of_their_own() -> None:
    assert service_ports(
        {"containerPort": 53},
        {"containerPort": 53, "protocol": "UDP"},
        {"name": "port-80", "containerPort": 8080},
        {"containerPort": 80},
    ) == [
        ("port-53", 53, ""),
        ("port-53-udp", 53, "UDP"),
        ("port-80", 8080, ""),
        ("port-80-tcp", 80, ""),
        ("tfjob-port", 2222, ""),
    ]


def test_number_of_a_port_may_be_written_with_a_point() -> None:
    template, faults = read(container(ports=[{"name": "tfjob-port", "containerPort": 80.0}]))
    assert faults == []
    assert str(template.port) == "80"


@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
def test_restart_policy_of_the_template_is_noticed(policy: str) -> None:
    given = {"spec": {"containers": [container()], "restartPolicy": policy}}
    assert read_whole(given)[0].has_restart_policy
    assert not read(container())[0].has_restart_policy


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ([], "template.metadata"),
        ({"labels": []}, "template.metadata.labels"),
        ({"labels": {"a": 1}}, "template.metadata.labels.a"),
        ({"annotations": {"a": {}}}, "template.metadata.annotations.a"),
        ({"finalizers": "x"}, "template.metadata.finalizers"),
        ({"finalizers": [1]}, "template.metadata.finalizers[0]"),
        ({"name": 1}, "template.metadata.name"),
        ({"namespace": []}, "template.metadata.namespace"),
        ({"creationTimestamp": 0}, "template.metadata.creationTimestamp"),
    ],
)
def test_malformed_metadata_is_a_fault(metadata: object, path: str) -> None:
    assert read(container(), metadata=metadata)[1] == [path]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"env": {}}, "env"),
        ({"env": [1]}, "env[0]"),
        ({"env": [None]}, "env[0]"),
        ({"env": [{"name": 1}]}, "env[0].name"),
        ({"ports": "80"}, "ports"),
        ({"ports": [{"name": 1, "containerPort": 1}]}, "ports[0].name"),
        ({"ports": [{"protocol": 6, "containerPort": 1}]}, "ports[0].protocol"),
        ({"ports": [{"name": "x"}]}, "ports[0].containerPort"),
        ({"ports": [{"containerPort": 0}]}, "ports[0].containerPort"),
        ({"ports": [{"containerPort": 65536}]}, "ports[0].containerPort"),
        ({"ports": [{"containerPort": "80"}]}, "ports[0].containerPort"),
        ({"ports": [{"containerPort": 80}, 5]}, "ports[1]"),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_malformed_container_is_a_fault_wherever_it_stands(
    fields: dict[str, Any], path: str, place: int
) -> None:
    bad = {"name": "sidecar", "image": "x", **fields} if place else container(**fields)
    good = [container()] if place else []
    assert read(*good, bad)[1][0] == f"template.spec.containers[{place}].{path}"


@pytest.mark.parametrize("given", [[], "x", 7, True])
def test_template_that_is_no_object_is_a_fault(given: object) -> None:
    assert read_whole(given)[1][0] == "template"


def test_number_of_containers_is_bounded() -> None:
    assert read(*[container()] * 100)[1] == []
    assert read(*[container()] * 101)[1] == ["template.spec.containers"]
