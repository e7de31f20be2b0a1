"""Scenarios: how the states of the pods determine the status, in one reconcile."""

from typing import Any

import pytest

from tests.support.builders import (
    NOW,
    Passes,
    a_job,
    a_pod,
    conditions_of,
    decide,
    deleted_names,
    manifest,
    pods,
    status_after,
)
from tfjob.core.status import Condition, JobStatus, with_condition

ALL_WORKERS = {"successPolicy": "AllWorkers"}
F1 = "TFJob n/j has failed because {} replica(s) failed."


@pytest.mark.parametrize(
    ("roles", "spec", "found", "expected"),
    [
        pytest.param(
            "C1 W1",
            {},
            {"chief": "S", "worker": "S"},
            ["Created", "Succeeded"],
            id="chief-and-worker-succeeded",
            marks=pytest.mark.scenario(55),
        ),
        pytest.param(
            "C1 W1",
            {},
            {"chief": "R"},
            ["Created", "Running"],
            id="chief-active",
            marks=pytest.mark.scenario(56),
        ),
        pytest.param(
            "W1",
            {},
            {"worker": "S"},
            ["Created", "Succeeded"],
            id="worker-succeeded",
            marks=pytest.mark.scenario(59),
        ),
        pytest.param(
            "W1",
            {},
            {"worker": "R"},
            ["Created", "Running"],
            id="worker-active",
            marks=pytest.mark.scenario(60),
        ),
        pytest.param(
            "W4 P2",
            {},
            {"ps": "RR", "worker": "ssRR"},
            ["Created", "Running"],
            id="two-workers-succeeded-but-worker-0-without-exit-status",
            marks=pytest.mark.scenario(61),
        ),
        pytest.param(
            "W4 P2",
            {},
            {"ps": "RR", "worker": "SRRR"},
            ["Created", "Succeeded"],
            id="worker-0-done",
            marks=pytest.mark.scenario(64),
        ),
        pytest.param(
            "W4",
            ALL_WORKERS,
            {"worker": "SRRR"},
            ["Created", "Running"],
            id="only-worker-0-done-under-all-workers",
            marks=pytest.mark.scenario(65),
        ),
        pytest.param(
            "W4",
            ALL_WORKERS,
            {"worker": "SSSS"},
            ["Created", "Succeeded"],
            id="all-done-under-all-workers",
            marks=pytest.mark.scenario(66),
        ),
        pytest.param(
            "C1 W4 P2",
            {},
            {"chief": "R", "ps": "RR", "worker": "SSSS"},
            ["Created", "Running"],
            id="all-workers-done-while-the-chief-runs",
            marks=pytest.mark.scenario(69),
        ),
        pytest.param(
            "C1 W4 P2",
            {},
            {"chief": "S", "ps": "RR", "worker": "FFFF"},
            ["Created", "Succeeded"],
            id="chief-done-although-all-workers-failed",
            marks=pytest.mark.scenario(72),
        ),
        pytest.param(
            "C1 W2",
            ALL_WORKERS,
            {"chief": "S", "worker": "RR"},
            ["Created", "Succeeded"],
            id="all-workers-is-ignored-beside-a-chief",
        ),
        pytest.param(
            "M1 W2",
            {},
            {"master": "R", "worker": "SS"},
            ["Created", "Running"],
            id="a-master-decides-like-a-chief",
        ),
    ],
)
def test_conditions_after_one_reconcile(
    roles: str, spec: dict[str, Any], found: dict[str, str], expected: list[str]
) -> None:
    job = a_job(roles, **spec)
    assert conditions_of(status_after(job, decide(job, *pods(**found)))) == expected


@pytest.mark.parametrize(
    ("roles", "before"),
    [("P2", {"ps": "SR"}), ("E2", {"evaluator": "RS"}), ("P1 E1", {"ps": "S", "evaluator": "R"})],
)
def test_job_without_a_deciding_type_succeeds_with_its_last_replica(
    roles: str, before: dict[str, str]
) -> None:
    passes = Passes(manifest(roles))
    passes.go(*pods(**before))
    assert "Succeeded" not in passes.conditions
    passes.go(*pods(**{role: "S" * len(each) for role, each in before.items()}))
    assert passes.conditions[-1] == "Succeeded"


@pytest.mark.parametrize(
    ("roles", "spec", "found", "blamed", "expected"),
    [
        pytest.param(
            "C1 W1",
            {},
            {"chief": "F"},
            "1 Chief",
            ["Created", "Failed"],
            id="chief-failed",
            marks=pytest.mark.scenario(57),
        ),
        pytest.param(
            "W1",
            {},
            {"worker": "F"},
            "1 Worker",
            ["Created", "Failed"],
            id="worker-failed",
            marks=pytest.mark.scenario(58),
        ),
        pytest.param(
            "W4 P2",
            {},
            {"ps": "RR", "worker": "RRFF"},
            "2 Worker",
            ["Created", "Running=F", "Failed"],
            id="two-workers-failed-while-two-run",
            marks=pytest.mark.scenario(62),
        ),
        pytest.param(
            "W4 P2",
            {},
            {"ps": "RR", "worker": "FFSS"},
            "2 Worker",
            ["Created", "Failed"],
            id="two-workers-failed-and-worker-0-not-done",
            marks=pytest.mark.scenario(63),
        ),
        pytest.param(
            "W4",
            ALL_WORKERS,
            {"worker": "SRRF"},
            "1 Worker",
            ["Created", "Running=F", "Failed"],
            id="one-failed-under-all-workers",
            marks=pytest.mark.scenario(67),
        ),
        pytest.param(
            "C1 W4 P2",
            {},
            {"chief": "R", "ps": "RR", "worker": "FFFF"},
            "4 Worker",
            ["Created", "Running=F", "Failed"],
            id="all-workers-failed-while-the-chief-runs",
            marks=pytest.mark.scenario(68),
        ),
        pytest.param(
            "C1 W4 P2",
            {},
            {"chief": "R", "ps": "RF", "worker": "SSSS"},
            "1 PS",
            ["Created", "Running=F", "Failed"],
            id="one-ps-failed",
            marks=pytest.mark.scenario(70),
        ),
        pytest.param(
            "C1 W4 P2",
            {},
            {"chief": "F", "ps": "RR", "worker": "SSSS"},
            "1 Chief",
            ["Created", "Failed"],
            id="chief-failed-after-its-workers",
            marks=pytest.mark.scenario(71),
        ),
        pytest.param(
            "P2 W2 E1",
            {},
            {"evaluator": "F", "ps": "FF", "worker": "RF"},
            "1 Evaluator",
            ["Created", "Running=F", "Failed"],
            id="the-first-type-in-the-order-of-status-is-blamed",
        ),
    ],
)
def test_failed_replicas_fail_the_job(
    roles: str, spec: dict[str, Any], found: dict[str, str], blamed: str, expected: list[str]
) -> None:
    job = a_job(roles, **spec)
    plan = decide(job, *pods(**found))
    status = status_after(job, plan)
    assert conditions_of(status) == expected
    failed = status.conditions[-1]
    assert (failed.reason, failed.message) == ("TFJobFailed", F1.format(blamed))
    assert status.completion_time == NOW
    verdicts = [each for each in plan.events if each.reason == "TFJobFailed"]
    assert [(str(each.type), each.message) for each in verdicts] == [("Normal", F1.format(blamed))]
    assert plan.creates == []
    assert plan.deletes == []


@pytest.mark.scenario(73)
def test_retryable_failures_of_chief_and_workers_are_all_restarted() -> None:
    job = a_job("C1 W4 P2", restart="ExitCode")
    found = [
        a_pod("chief", 0, "Failed", exit_code=130),
        *pods(ps="RR"),
        *(a_pod("worker", index, "Failed", exit_code=130) for index in range(4)),
    ]
    plan = decide(job, *found)
    assert conditions_of(status_after(job, plan)) == ["Created", "Restarting"]
    workers = [f"j-worker-{index}" for index in range(4)]
    assert deleted_names(plan, "Pod") == ["j-chief-0", *workers]
    assert plan.replaced == 5


@pytest.mark.scenario(74)
@pytest.mark.parametrize("end", ["S", "F"])
@pytest.mark.parametrize("before", ["Running", "Restarting"])
def test_a_finished_job_shows_nothing_in_progress(before: str, end: str) -> None:
    stored = {
        "conditions": [
            {"type": "Created", "status": "True", "reason": "TFJobCreated"},
            {"type": before, "status": "True", "reason": f"TFJob{before}"},
        ]
    }
    job = a_job("W2", status=stored)
    status = status_after(job, decide(job, *pods(worker=f"{end}R")))
    assert status.is_finished
    assert not status.is_true("Running")
    assert not status.is_true("Restarting")
    assert conditions_of(status)[1] in {"Running=F", "Restarting=F"}


@pytest.mark.scenario(75)
@pytest.mark.parametrize(
    ("roles", "worker", "is_done"),
    [
        pytest.param("W1", "R", False, id="running-is-not-done"),
        pytest.param("W1", "S", True, id="succeeded-with-exit-code-0-is-done"),
        pytest.param("W2", "sR", False, id="succeeded-without-exit-code-is-not-done"),
        pytest.param("W2", "SF", True, id="the-failure-of-another-worker-does-not-matter"),
        pytest.param("W2", "FR", False, id="the-failure-of-worker-0-does"),
    ],
)
def test_worker_0_is_done_when_its_own_pod_succeeded(
    roles: str, worker: str, is_done: bool
) -> None:
    job = a_job(roles)
    status = status_after(job, decide(job, *pods(worker=worker)))
    assert status.is_true("Succeeded") is is_done


@pytest.mark.scenario(76)
def test_a_running_pod_that_is_being_deleted_counts_as_failed() -> None:
    job = a_job("P7", restart="OnFailure")
    status = status_after(job, decide(job, *pods(ps="FFSSSRT")))
    counted = status.of("PS")
    assert (counted.failed, counted.succeeded, counted.active) == (3, 3, 1)


@pytest.mark.scenario(77)
def test_conditions_follow_one_another_in_place() -> None:
    shown = []
    status = JobStatus()
    for kind in ("Created", "Running", "Restarting", "Running", "Failed"):
        condition = Condition(
            type=kind,
            status="True",
            reason=f"TFJob{kind}",
            message="",
            last_update=NOW,
            last_transition=NOW,
        )
        status = with_condition(status, condition)
        shown.append(conditions_of(status))
    assert shown == [
        ["Created"],
        ["Created", "Running"],
        ["Created", "Restarting"],
        ["Created", "Running"],
        ["Created", "Running=F", "Failed"],
    ]


@pytest.mark.scenario(78)
@pytest.mark.parametrize(
    ("kind", "is_finished"), [("Succeeded", True), ("Failed", True), ("Suspended", False)]
)
def test_success_and_failure_are_the_end_and_suspension_is_not(
    kind: str, is_finished: bool
) -> None:
    stored = {"conditions": [{"type": kind, "status": "True", "reason": f"TFJob{kind}"}]}
    job = a_job("W1", status=stored)
    assert job.status.is_finished is is_finished
    plan = decide(job)
    assert bool(plan.creates) is not is_finished
