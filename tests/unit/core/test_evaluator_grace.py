"""An evaluator may run on after the training, for a limited time, and decides nothing."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    a_pod,
    at,
    created_names,
    decide,
    decoded,
    deleted_names,
    events_of,
    manifest,
    pods,
    replica_spec,
    status_after,
)
from tfjob.core.job import Job
from tfjob.core.status import ConditionType
from tfjob.dialects.job_annotations import EVALUATOR_GRACE
from tfjob.k8s import time

GRACE = 60


def a_job(roles: str = "C1 W1 E1", *, grace: int = GRACE, **fields: Any) -> Job:
    given = manifest(roles, **fields, annotations={EVALUATOR_GRACE: str(grace)})
    return decoded(given)


def evaluating(roles: str = "C1 W1 E1", *, since: float = 0, **fields: Any) -> Job:
    """A job whose training has succeeded and whose chief's pod is gone."""
    status = {
        "startTime": time.render(at(-100)),
        "trainingCompletionTime": time.render(at(since)),
        "replicaStatuses": {"Chief": {"succeeded": 1, "completedIndexes": "0"}},
    }
    return a_job(roles, status=status, **fields)


@pytest.mark.scenario("R19")
def test_a_job_waits_for_its_evaluator_and_stores_that_training_has_succeeded() -> None:
    job = a_job()
    plan = decide(job, *pods(chief="S", worker="R", evaluator="R"))
    after = status_after(job, plan)
    assert (after.is_finished, after.is_true(ConditionType.RUNNING)) == (False, True)
    assert (after.training_completed, after.of("Chief").completed) == (at(0), frozenset({0}))
    assert plan.writes_status_first
    assert plan.requeue_at == at(GRACE + 1)
    assert [each for each in events_of(plan) if each[1] == "AwaitingEvaluator"] == [
        (
            "Normal",
            "AwaitingEvaluator",
            "Training has succeeded. Evaluators may go on until 2026-01-02T03:05:06Z.",
        )
    ]


def test_without_a_grace_the_job_succeeds_at_once() -> None:
    job = a_job(grace=0)
    after = status_after(job, decide(job, *pods(chief="S", evaluator="R")))
    assert after.is_true(ConditionType.SUCCEEDED)
    assert after.training_completed is None


def test_without_an_evaluator_the_job_succeeds_at_once() -> None:
    job = a_job("C1 W1")
    assert status_after(job, decide(job, *pods(chief="S", worker="R"))).is_finished


@pytest.mark.scenario("R19")
@pytest.mark.parametrize("letter", ["S", "F", "K"])
def test_the_end_of_the_evaluator_ends_the_wait_however_it_ends(letter: str) -> None:
    job = evaluating(restart="ExitCode")
    after = status_after(job, decide(job, *pods(evaluator=letter), now=at(5)))
    assert after.is_true(ConditionType.SUCCEEDED)


def test_all_evaluators_are_awaited() -> None:
    job = evaluating("C1 E2")
    assert not status_after(job, decide(job, *pods(evaluator="SR"), now=at(5))).is_finished
    assert status_after(job, decide(job, *pods(evaluator="SF"), now=at(5))).is_finished


@pytest.mark.scenario("R19", "R20")
def test_the_job_succeeds_when_the_grace_is_over() -> None:
    job = evaluating()
    waiting = decide(job, *pods(worker="R", evaluator="R"), now=at(GRACE))
    assert not status_after(job, waiting).is_finished
    plan = decide(job, *pods(worker="R", evaluator="R"), now=at(GRACE + 1))
    assert status_after(job, plan).is_true(ConditionType.SUCCEEDED)


def test_the_pod_of_the_chief_may_be_gone_meanwhile_and_is_not_created_again() -> None:
    job = evaluating()
    plan = decide(job, *pods(worker="R", evaluator="R"), now=at(5))
    assert not status_after(job, plan).is_finished
    assert created_names(plan, "Pod") == []
    assert not [each for each in plan.events if each.reason == "AwaitingEvaluator"]


@pytest.mark.parametrize("restart", ["Never", "OnFailure", "ExitCode"])
def test_nothing_fails_the_job_any_more(restart: str) -> None:
    job = evaluating(restart=restart, run_policy={"backoffLimit": 0})
    plan = decide(job, *pods(worker="F", evaluator="R"), now=at(5))
    after = status_after(job, plan)
    assert not after.is_finished
    assert deleted_names(plan, "Pod") == []


def test_a_deadline_ends_the_grace_with_success() -> None:
    job = evaluating(run_policy={"activeDeadlineSeconds": 120})
    waiting = decide(job, *pods(evaluator="R"), now=at(5))
    assert waiting.requeue_at == at(21)
    after = status_after(job, decide(job, *pods(evaluator="R"), now=at(21)))
    assert after.is_true(ConditionType.SUCCEEDED)
    assert after.limit_reached is None


def test_a_suspension_ends_the_grace_with_success() -> None:
    job = evaluating(run_policy={"suspend": True})
    after = status_after(job, decide(job, *pods(evaluator="R"), now=at(5)))
    assert after.is_true(ConditionType.SUCCEEDED)
    assert not after.is_true(ConditionType.SUSPENDED)


def test_a_disrupted_evaluator_is_replaced() -> None:
    job = evaluating(restart="OnFailure")
    plan = decide(job, *pods(evaluator="T"), now=at(5))
    (record,) = status_after(job, plan).of("Evaluator").records
    assert (record.uid, str(record.cause)) == ("uid-j-evaluator-0", "Disrupted")
    gone = msgspec.structs.replace(job, status=status_after(job, plan))
    again = decide(gone, now=at(6))
    assert created_names(again, "Pod") == ["j-evaluator-0"]


def test_clean_up_follows_when_the_wait_is_over() -> None:
    job = evaluating(run_policy={"cleanPodPolicy": "Running"})
    first = decide(job, *pods(worker="R", evaluator="S"), now=at(5))
    finished = msgspec.structs.replace(job, status=status_after(job, first))
    plan = decide(finished, *pods(worker="R", evaluator="S"), now=at(6))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]


def test_the_evaluator_of_another_type_of_success_is_awaited_too() -> None:
    """Worker 0 decides where there is no chief."""
    job = a_job("W2 E1")
    plan = decide(job, a_pod("worker", 0, "Succeeded", exit_code=0), *pods(evaluator="R"))
    assert status_after(job, plan).training_completed == at(0)


def edited(*roles: tuple[str, int], **fields: Any) -> Job:
    """A job in its grace, of which the user has changed the replicas: type and count."""
    status = {
        "startTime": time.render(at(-100)),
        "trainingCompletionTime": time.render(at(0)),
        "replicaStatuses": {"Chief": {"succeeded": 1, "completedIndexes": "0"}},
    }
    given = manifest(status=status, **fields)
    given["spec"]["tfReplicaSpecs"] = {kind: replica_spec(count) for kind, count in roles}
    given["metadata"]["annotations"] = {EVALUATOR_GRACE: str(GRACE)}
    return decoded(given)


@pytest.mark.parametrize("policy", ["", "AllWorkers"])
@pytest.mark.parametrize(
    "roles",
    [
        (("Chief", 0), ("Worker", 0), ("Evaluator", 0)),
        (("Chief", 0), ("Worker", 0), ("Evaluator", 1)),
        (("Worker", 0), ("Evaluator", 0)),
        (("Worker", 0),),
        (("Worker", 2),),
        (("PS", 1),),
        (("Chief", 1), ("Worker", 1)),
        (("Chief", 1), ("Worker", 1), ("Evaluator", 1)),
        (("Evaluator", 1),),
    ],
)
def test_no_edit_during_the_grace_keeps_the_job_from_succeeding(
    roles: tuple[tuple[str, int], ...], policy: str
) -> None:
    job = edited(*roles, successPolicy=policy)
    found = pods(worker="R", evaluator="R")
    during = status_after(job, decide(job, *found, now=at(5)))
    assert during.is_finished is (("Evaluator", 1) not in roles)
    after = status_after(job, decide(job, *found, now=at(GRACE + 1)))
    assert after.is_true(ConditionType.SUCCEEDED)


def test_a_message_that_names_a_replica_names_the_job_if_none_is_left() -> None:
    job = edited(("Chief", 0))
    template = msgspec.structs.replace(job.messages.succeeded, message="{child} ended with {code}")
    messages = msgspec.structs.replace(job.messages, succeeded=template)
    job = msgspec.structs.replace(job, messages=messages)
    found = status_after(job, decide(job, now=at(5))).condition(ConditionType.SUCCEEDED)
    assert found is not None
    assert found.message == "j ended with 0"
