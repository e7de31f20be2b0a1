"""Semantic validation of TfJobs: exact messages and their order."""

import pytest

from tests.unit.dialects.tensorflow.jobs import (
    DIALECT,
    Json,
    details,
    entry,
    refused,
    set_up,
    template,
    tfjob,
)
from tests.unit.dialects.tensorflow.verdicts import ACCEPTED, REFUSED, REFUSED_OFFLINE, chief
from tfjob.dialects.base import Settings


@pytest.mark.parametrize("why", ACCEPTED)
def test_good_job_has_no_fault(why: str) -> None:
    assert DIALECT.validate(ACCEPTED[why]) == []


@pytest.mark.parametrize("why", [*REFUSED, *REFUSED_OFFLINE])
def test_bad_job_has_its_fault_with_a_path_and_advice(why: str) -> None:
    given, text = {**REFUSED, **REFUSED_OFFLINE}[why]
    (fault, *_) = [each for each in DIALECT.validate(given) if text in each.detail]
    assert fault.path.startswith("spec")
    assert fault.remedy


def test_all_faults_are_found_at_once() -> None:
    given = tfjob(
        entry("MASTER", 2, tfPort=0, template=template("main", restartPolicy="Always")),
        {"tfReplicaType": "WORKER", "replicas": -1},
        entry("EVALUATOR"),
        entry("PS"),
        entry("PS"),
        tensorboard={},
        RuntimeId="-",
        terminationPolicy=chief("CHIEF", 3),
    )
    assert details(given) == [
        "The MASTER must have Replicas = 1",
        "Replica type MASTER is missing a container named tensorflow",
        'Replica is missing Template; {"replicas":-1,"tfPort":2222,"tfReplicaType":"WORKER"}',
        "tfReplicaSpec.TfReplicaType is EVALUATOR but must be one of [MASTER PS WORKER]",
        "Missing ReplicaSpec for chief: CHIEF",
        "tbReplicaSpec.LogDir must be specified",
        "duplicate ReplicaSpec for type PS",
        "tfPort must be in 1..65535",
        "replicas must not be negative",
        "RuntimeId is not a DNS label",
        "restartPolicy must be OnFailure or Never",
    ]


def test_failed_job_shows_the_first_fault_alone() -> None:
    given = tfjob(entry("MASTER", 2), tensorboard={})
    status, _ = refused(given)
    assert status["reason"] == "invalid job spec: The MASTER must have Replicas = 1"


def test_braces_of_a_user_s_text_survive() -> None:
    status, _ = refused(tfjob({"replicas": 1}))
    assert status["reason"] == (
        "invalid job spec: Replica is missing Template; "
        '{"replicas":1,"tfPort":2222,"tfReplicaType":"MASTER"}'
    )
    status, _ = refused(tfjob(entry(), entry("{x}{0}")))
    assert "TfReplicaType is {x}{0} but" in status["reason"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("1job", "job name must start with a letter"),
        ("my.job", "job name must not have dots where children are named after the job"),
    ],
)
def test_names_that_children_are_named_after(name: str, text: str) -> None:
    given = tfjob(entry(), name=name)
    assert refused(given, set_up(has_job_in_names=True))[0]["reason"].endswith(text)
    assert DIALECT.validate(given) == []


def test_names_of_children_that_would_be_too_long() -> None:
    given = tfjob(entry(), name="n" * 40, RuntimeId="r" * 20)
    status, _ = refused(given, set_up(has_job_in_names=True))
    assert status["reason"].endswith("names of children would have more than 63 characters")
    assert not refused_by(given, Settings())


def refused_by(given: Json, settings: Settings) -> bool:
    return hasattr(DIALECT.decode(given, settings), "faults")


@pytest.mark.parametrize(
    ("metadata", "path"),
    [
        ({}, "metadata.name"),
        ({"name": "No"}, "metadata.name"),
        ({"name": 7}, "metadata.name"),
        ({"generateName": "No"}, "metadata.name"),
        (None, "metadata.name"),
    ],
)
def test_bad_names_are_rejected(metadata: object, path: str) -> None:
    faults = DIALECT.validate({**tfjob(entry()), "metadata": metadata})
    assert path in {fault.path for fault in faults}


def test_generated_names_are_taken() -> None:
    assert DIALECT.validate({**tfjob(entry()), "metadata": {"generateName": "a-"}}) == []
