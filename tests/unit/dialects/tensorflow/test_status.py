"""Encoding and decoding the status of a TfJob."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import NOW
from tests.unit.dialects.tensorflow.jobs import (
    DIALECT,
    SETTINGS,
    Json,
    Life,
    a_pod,
    around,
    decoded,
    end,
    entry,
    example,
    stored,
    tfjob,
)
from tfjob.core.invalid_job import InvalidJob, reject
from tfjob.core.observe import Children
from tfjob.core.status import Condition, ConditionType, JobStatus
from tfjob.dialects.base import StatusContext
from tfjob.dialects.tensorflow.status import decode
from tfjob.k8s.pod import ContainerState, Waiting


def conditions(status: JobStatus) -> list[str]:
    return [each.type for each in status.conditions if each.is_true]


@pytest.mark.parametrize(
    ("phase", "state", "expected"),
    [
        ("", "", []),
        ("Creating", "Running", ["Created"]),
        ("Running", "Running", ["Created", "Running"]),
        ("CleanUp", "Succeeded", ["Created", "Succeeded"]),
        ("CleanUp", "Failed", ["Created", "Failed"]),
        ("Done", "Succeeded", ["Created", "Succeeded"]),
        ("Done", "Failed", ["Created", "Failed"]),
        ("Done", "", ["Created", "Failed"]),
        ("Failed", "Failed", ["Failed"]),
        ("Odd", "Odd", []),
        (7, ["x"], []),
        ({}, None, []),
    ],
)
def test_phase_tells_the_conditions(phase: Any, state: Any, expected: list[str]) -> None:
    assert conditions(decode({"phase": phase, "state": state})) == expected


@pytest.mark.parametrize("odd", [None, 1, "x", [], {"replicaStatuses": 3}])
def test_malformed_status_is_no_status(odd: Any) -> None:
    assert decode(odd) == JobStatus()


def test_counts_are_read() -> None:
    states = {"Running": 2, "Succeeded": 1, "Failed": 3, "Unknown": 4}
    shown = [{"tf_replica_type": "PS", "ReplicasStates": states}]
    found = decode({"phase": "Running", "replicaStatuses": shown}).of("PS")
    assert (found.active, found.succeeded, found.failed) == (2, 1, 3)


@pytest.mark.parametrize("odd", [-1, True, "3", None, 2**80])
def test_malformed_counts_are_harmless(odd: Any) -> None:
    shown = [{"tf_replica_type": "PS", "ReplicasStates": {"Running": odd}}, 3, {}]
    assert 0 <= decode({"replicaStatuses": shown}).of("PS").active < 2**31


def test_job_started_when_it_was_created() -> None:
    given = stored(tfjob(entry()))
    given["metadata"]["creationTimestamp"] = "2026-01-02T03:04:05Z"
    assert decoded({**given, "status": {"phase": "Running"}}).status.start_time == NOW
    assert decoded(given).status.start_time is None


@pytest.mark.parametrize("state", ["Succeeded", "Failed"])
@pytest.mark.parametrize("phase", ["Done", "Failed"])
def test_final_status_never_changes(phase: str, state: str) -> None:
    status: Json = {"phase": phase, "state": state, "mine": 1, "replicaStatuses": []}
    life = Life(example())
    life.status = status
    life.go(around(life.job, a_pod(state=end(1)), succeeded=["master-76no-0"]))
    assert life.status == status


def test_second_reconcile_of_an_unchanged_job_changes_nothing() -> None:
    given = example()
    given["metadata"]["creationTimestamp"] = "2026-01-02T03:04:05Z"
    life = Life(given).go(Children()).go().go()
    assert life.shown == ("Running", "Running")
    assert life.plan.status is None


def test_job_that_nobody_has_looked_at_has_no_status() -> None:
    job = decoded(stored(example()))
    assert DIALECT.encode_status(job, JobStatus(), StatusContext()) == {}


@pytest.mark.parametrize(
    ("codes", "state", "counts"),
    [
        ([0, 0], "Succeeded", {"Succeeded": 2}),
        ([0, None], "Running", {"Running": 1, "Succeeded": 1}),
        ([1, None], "Failed", {"Failed": 1, "Running": 1}),
        ([1, 0], "Failed", {"Failed": 1, "Succeeded": 1}),
        ([], "Unknown", {}),
    ],
)
def test_state_of_a_set(codes: list[int | None], state: str, counts: dict[str, int]) -> None:
    life = Life(tfjob(entry(), entry("WORKER", len(codes)))).go(Children())
    pods = [
        a_pod("WORKER", index, state=None if code is None else end(code))
        for index, code in enumerate(codes)
    ]
    life.go(around(life.job, *pods))
    assert life.status["replicaStatuses"][1] == {
        "ReplicasStates": counts,
        "state": state,
        "tf_replica_type": "WORKER",
    }


def test_set_of_which_one_is_unknown_is_unknown() -> None:
    life = Life(tfjob(entry(), entry("WORKER", 2))).go(Children())
    found = around(life.job, succeeded=["worker-76no-0"], missing=["Job/worker-76no-1"])
    life.go(found)
    assert life.status["replicaStatuses"][1]["state"] == "Unknown"


def test_counts_are_in_the_order_of_the_spec() -> None:
    life = Life(example()).go(Children())
    kinds = [each["tf_replica_type"] for each in life.status["replicaStatuses"]]
    assert kinds == ["MASTER", "WORKER", "PS"]


def test_create_error_of_a_finished_job_is_not_shown() -> None:
    life = Life(example()).go(Children()).go()
    life.go(around(life.job, succeeded=["master-76no-0"]), create_error="no")
    assert (life.status["phase"], life.status["reason"]) == ("Done", "")


def test_tensorboard_that_cannot_start_says_why_while_the_job_runs() -> None:
    life = Life(example(tensorboard={"logDir": "/logs"})).go(Children()).go()
    pod = a_pod(state=ContainerState(waiting=Waiting(reason="ErrImagePull", message="x")))
    labels = {**pod.metadata.labels, "tf_job_name": "example-job", "app": "tensorboard"}
    board = msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels)
    )
    children = msgspec.structs.replace(around(life.job), companion_pods=[board])
    life.go(children)
    assert life.status["reason"] == (
        "TensorBoard tensorboard-76no cannot start: the image of container tensorflow cannot be"
        " pulled"
    )
    life.go(around(life.job))
    assert life.status["reason"] == ""


def test_job_that_became_unreadable_fails_and_keeps_its_counts() -> None:
    counts = [{"tf_replica_type": "MASTER", "state": "Running", "ReplicasStates": {"Running": 1}}]
    before: Json = {"phase": "Running", "state": "Running", "replicaStatuses": counts}
    job = DIALECT.decode({**tfjob(), "status": before}, SETTINGS)
    assert isinstance(job, InvalidJob)
    plan = reject(job, now=NOW)
    assert plan.status is not None
    shown = DIALECT.encode_status(job, plan.status, StatusContext(stored=before))
    assert shown["phase"] == "Failed"
    assert shown["replicaStatuses"] == counts


def test_job_that_became_unreadable_after_its_verdict_keeps_it() -> None:
    before: Json = {"phase": "CleanUp", "state": "Succeeded"}
    job = DIALECT.decode({**tfjob(), "status": before}, SETTINGS)
    assert isinstance(job, InvalidJob)
    assert reject(job, now=NOW).status is None
    assert DIALECT.encode_status(job, job.status, StatusContext(stored=before)) == before


def test_rejected_job_is_rejected_once() -> None:
    job = DIALECT.decode({**tfjob(), "status": {"phase": "Failed", "reason": "r"}}, SETTINGS)
    assert isinstance(job, InvalidJob)
    failed = job.status.condition(ConditionType.FAILED)
    assert isinstance(failed, Condition)
    assert (failed.reason, failed.message) == ("InvalidSpec", "r")
    assert reject(job, now=NOW).status is None


def test_every_kind_of_child_is_waited_for_before_running() -> None:
    life = Life(example(tensorboard={"logDir": "d"})).go(Children())
    whole = around(life.job)
    life.go(Children(jobs=whole.jobs, services=whole.services))
    assert life.shown[0] == "Creating"
    life.go(Children(jobs=whole.jobs, services=whole.services[:-1], companions=whole.companions))
    assert life.shown[0] == "Creating"
    life.go(whole)
    assert life.shown[0] == "Running"
