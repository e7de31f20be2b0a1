"""Warnings about pods that an API server will refuse."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import a_job
from tfjob.core.advice import advice
from tfjob.core.template_advice import template_advice


def advised(**spec: Any) -> list[str]:
    """The warnings about a worker whose pods have this spec."""
    (replica,) = a_job("W1", restart="OnFailure").replicas
    return template_advice(msgspec.structs.replace(replica, template={"spec": spec}))


def advised_of(**fields: Any) -> list[str]:
    """The warnings about a training container with these fields."""
    return advised(containers=[{"name": "tensorflow", "image": "i", **fields}])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"env": None, "command": None, "args": [], "ports": None},
        {"env": [{"name": "A"}, {"name": "B", "value": "3"}], "args": ["1", ""]},
        {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
        {"ports": [{"name": "tfjob-port", "containerPort": 1}, {"containerPort": 2}]},
        {"ports": [{"name": "a2", "containerPort": 1}, {"name": "2-a", "containerPort": 2}]},
    ],
)
def test_what_a_pod_may_have_is_not_warned_about(fields: dict[str, Any]) -> None:
    assert advised_of(**fields) == []


@pytest.mark.parametrize(("value", "shown"), [(3, "3"), (True, "true"), (0.5, "0.5"), ([], "[]")])
def test_variable_that_is_no_text_is_warned_about(value: object, shown: str) -> None:
    assert advised_of(env=[{"name": "A", "value": "x"}, {"name": "B", "value": value}]) == [
        (
            f"Worker: template.spec.containers[0].env[1].value is {shown} and must be text:"
            " the API server will refuse the pod; put it in quotes"
        )
    ]


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"command": "python train.py"}, "command is no list"),
        ({"args": ["--lr", 0.001]}, "args[1] is 0.001 and must be text"),
        ({"env": [{"value": "x"}]}, "env[0].name is missing"),
        ({"ports": [{"name": "a"}, {"name": "a"}]}, "ports[1].name a stands twice"),
        ({"ports": [{"name": "A_B"}]}, "ports[0].name A_B is no port name"),
        ({"ports": [{"name": "a" * 16}]}, f"ports[0].name {'a' * 16} is no port name"),
        ({"ports": [{"name": "a--b"}]}, "ports[0].name a--b is no port name"),
        ({"ports": [{"name": "12"}]}, "ports[0].name 12 is no port name"),
    ],
)
def test_what_a_pod_may_not_have_is_named_with_its_place(
    fields: dict[str, Any], place: str
) -> None:
    (text,) = advised_of(**fields)
    assert text.startswith(f"Worker: template.spec.containers[0].{place}: the API server will")


def test_containers_of_all_lists_share_their_names() -> None:
    own = {"name": "tensorflow"}
    found = advised(initContainers=[{"name": "a"}, own], containers=[own, {"image": "x"}])
    assert [each.partition(": the API")[0] for each in found] == [
        "Worker: template.spec.containers[0].name tensorflow stands twice",
        "Worker: template.spec.containers[1].name is missing",
    ]


def test_init_containers_that_are_no_list_are_warned_about() -> None:
    (text,) = advised(initContainers={"a": "b"}, containers=[{"name": "tensorflow"}])
    assert text.startswith("Worker: template.spec.initContainers is no list: ")


@pytest.mark.parametrize(("given", "count"), [("OnFailure", 0), ("Never", 1), ("", 0), (None, 0)])
def test_policy_of_the_template_that_counts_for_nothing_is_warned_about(
    given: str | None, count: int
) -> None:
    found = advised(restartPolicy=given, containers=[{"name": "tensorflow"}])
    assert found == count * [
        (
            "Worker: template.spec.restartPolicy is Never and counts for nothing:"
            " the pods get OnFailure; write restartPolicy beside replicas instead"
        )
    ]


@pytest.mark.parametrize("odd", [None, 3, "x", [None], ["x"], {"a": "b"}])
def test_templates_of_any_shape_are_read(odd: object) -> None:
    for key in ("containers", "initContainers", "restartPolicy"):
        advised(**{key: odd})
    for key in ("env", "ports", "command", "args", "name"):
        advised_of(**{key: odd})


def test_advice_on_a_job_includes_its_templates() -> None:
    job = a_job("W1", restart="OnFailure")
    spec = {"restartPolicy": "Never", "containers": [{"name": "tensorflow", "image": "i"}]}
    replica = msgspec.structs.replace(job.replicas[0], template={"spec": spec})
    (text,) = advice(msgspec.structs.replace(job, replicas=[replica]))
    assert text.startswith("Worker: template.spec.restartPolicy is Never")
