"""Fields are taken one by one, and every field that is not taken is a loss."""

import pytest

from tests.support.tfjobs import container, tfjob
from tfjob.dialects.conversion_base import (
    Fields,
    HubJob,
    Losses,
    hub_port,
    training_index,
    with_hub_port,
)


def test_usual_spelling_comes_first_and_its_twin_is_left() -> None:
    fields = Fields({"ENABLED": 1, "enabled": 2, "enable": 3}, "a", folds_case=True)
    assert fields.take("enabled", "enable") == ("a.enabled", 2)
    assert list(fields.unconverted()) == ["a.ENABLED", "a.enable"]


def test_case_counts_unless_it_is_folded() -> None:
    assert Fields({"Size": 1}, "a").take("size") == ("a.size", None)
    assert Fields({"Size": 1}, "a", folds_case=True).take("size") == ("a.Size", 1)


def test_null_is_absent_and_no_loss() -> None:
    fields = Fields({"a": None}, "x")
    assert fields.take("a") == ("x.a", None)
    assert list(Fields({"a": None}, "x").unconverted()) == []


def test_what_is_left_in_an_inner_object_is_left() -> None:
    fields = Fields({"in": {"b": 1, "c": 2}, "list": [{"d": 3}]}, "x")
    assert fields.enter("in").take("b").value == 1
    path, items = fields.take("list")
    fields.enter_item(items[0], f"{path}[0]")
    losses = Losses("target/v1")
    losses.drop_unconverted(fields)
    assert [each.path for each in losses.found] == ["x.in.c", "x.list[0].d"]
    assert losses.found[0].message == "target/v1 has no such field; it is left out"


def test_what_is_no_object_has_no_fields() -> None:
    assert list(Fields([1], "x").unconverted()) == []


def test_field_is_no_loss_where_it_says_what_holds_anyway() -> None:
    losses = Losses("target/v1")
    losses.drop(Fields({"a": 0}, "x").take("a"), same=(0,), instead="nothing")
    losses.drop(Fields({}, "x").take("a"), same=(), instead="nothing")
    assert losses.found == []


def test_deciding_replica_of_the_hub_is_found() -> None:
    for roles, kind in (("C1 W1", "Chief"), ("C0 W1", "Worker"), ("P1 W0", "PS"), ("E1", None)):
        decisive_replica = HubJob(tfjob(roles)).decisive_replica
        assert (decisive_replica and decisive_replica.type) == kind


def test_older_places_and_any_case_of_a_hub_job_are_read() -> None:
    job = tfjob("W2", backoffLimit=3)
    job["spec"]["tfReplicaSpecs"] = {"wOrKeR": job["spec"]["tfReplicaSpecs"]["Worker"]}
    read = HubJob(job)
    assert read.policy.take("backoffLimit") == ("spec.runPolicy.backoffLimit", 3)
    assert [(each.type, each.path) for each in read.replicas] == [
        ("Worker", "spec.tfReplicaSpecs[wOrKeR]")
    ]
    assert read.total == 2


def test_address_port_is_found_in_the_container_that_trains() -> None:
    named = {"name": "tfjob-port", "containerPort": 7}
    template = {"spec": {"containers": [container("side", ports=[named]), container()]}}
    assert training_index(template) == 1
    assert hub_port(template) is None
    changed = with_hub_port(template, 8)
    assert hub_port(changed) == ("template.spec.containers[1].ports[0].containerPort", 8)
    assert with_hub_port(template, 2222) is template
    assert with_hub_port({"spec": {"containers": []}}, 8) == {"spec": {"containers": []}}
    assert hub_port({}) is None


@pytest.mark.parametrize("ports", [5, "x", [None], ["x", 3], {"name": "tfjob-port"}])
def test_ports_that_are_none_are_left_to_an_api_server(ports: object) -> None:
    template = {"spec": {"containers": [None, container(ports=ports)]}}
    assert hub_port(template) is None
    assert with_hub_port(template, 2222) is template
    assert hub_port(with_hub_port(template, 8)) is not None
