"""Invalid TfJobs get no child and no runtime id, and show the fault as reason."""

from typing import Any

import pytest

from tests.unit.dialects.tensorflow.jobs import (
    DIALECT,
    SETTINGS,
    Json,
    details,
    entry,
    refused,
    template,
    tfjob,
)

TYPES = "[MASTER PS WORKER]"


def check(given: Json, text: str) -> None:
    """The job fails with this text, has no child and gets no runtime id."""
    status, plan = refused(given)
    assert (status["phase"], status["state"]) == ("Failed", "Failed")
    assert status["reason"] == f"invalid job spec: {text}"
    (event,) = plan.events
    assert (str(event.type), event.reason, event.message) == (
        "Warning",
        "InvalidSpec",
        status["reason"],
    )
    assert not plan.creates
    tokens = iter(["76no"])
    assert DIALECT.defaulted_spec(given, SETTINGS, tokens=tokens, is_taken=lambda _: False) is None
    assert text in details(given)


@pytest.mark.scenario("A-07")
def test_two_masters_in_one_entry() -> None:
    check(tfjob(entry("MASTER", 2)), "The MASTER must have Replicas = 1")


@pytest.mark.scenario("A-08")
def test_worker_without_a_container_called_tensorflow() -> None:
    given = tfjob(entry(), entry("WORKER", template=template("main")))
    check(given, "Replica type WORKER is missing a container named tensorflow")


@pytest.mark.scenario("A-09")
def test_job_without_its_master() -> None:
    check(tfjob(entry("WORKER")), "Missing ReplicaSpec for chief: MASTER")


@pytest.mark.scenario("A-11")
def test_two_entries_of_one_type() -> None:
    check(tfjob(entry(), entry("MASTER")), "duplicate ReplicaSpec for type MASTER")


@pytest.mark.scenario("A-12")
@pytest.mark.parametrize("kind", ["EVALUATOR", "master"])
def test_type_that_does_not_exist(kind: str) -> None:
    text = f"tfReplicaSpec.TfReplicaType is {kind} but must be one of {TYPES}"
    check(tfjob(entry(), entry(kind)), text)


@pytest.mark.scenario("A-24")
@pytest.mark.parametrize("board", [{}, {"logDir": ""}, {"logDir": None}])
def test_tensorboard_without_a_log_folder(board: Any) -> None:
    check(tfjob(entry(), tensorboard=board), "tbReplicaSpec.LogDir must be specified")
