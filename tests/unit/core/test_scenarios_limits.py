"""Scenarios: backoffLimit, activeDeadlineSeconds and the restart backoff."""

from datetime import datetime
from typing import Any

import pytest

from tests.support.builders import (
    NOW,
    Passes,
    a_job,
    a_pod,
    at,
    conditions_of,
    created_names,
    decide,
    deleted_names,
    events_of,
    manifest,
    pods,
    services_of,
    status_after,
    stored,
)
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerStatus

F3 = "Job j has failed because it has reached the specified backoff limit"
F4 = "Job j has failed because it was active longer than specified deadline"
W4_P2 = ["j-ps-0", "j-ps-1", "j-worker-0", "j-worker-1", "j-worker-2", "j-worker-3"]
SERVERS, WORKERS = W4_P2[:2], W4_P2[2:]


def started(moment: datetime, **policy: Any) -> dict[str, Any]:
    """Fields of a job that started then, under this run policy."""
    return {"run_policy": policy, "status": {"startTime": time.render(moment)}}


@pytest.mark.scenario(87)
def test_four_restarts_in_place_reach_a_limit_of_four() -> None:
    given = manifest("W4 P2", run_policy={"backoffLimit": 4, "cleanPodPolicy": "All"})
    given["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "OnFailure"
    passes = Passes(given)
    found = [a_pod("worker", index, restarts=1) for index in range(4)]
    plan = passes.go(*found, *pods(ps="RR"))
    assert sorted(deleted_names(plan, "Pod")) == WORKERS
    assert plan.creates == []
    status = passes.job.status
    assert (passes.conditions, status.conditions[-1].message) == (["Created", "Failed"], F3)
    assert events_of(plan) == [("Normal", "TFJobFailed", F3)]
    assert status.completion_time == NOW
    assert (status.of("Worker").active, status.of("PS").active) == (0, 2)
    plan = passes.go(*pods(ps="RR"), services=services_of([*found, *pods(ps="RR")]))
    assert sorted(deleted_names(plan, "Pod")) == SERVERS
    assert sorted(deleted_names(plan, "Service")) == W4_P2
    status = passes.job.status
    assert (status.of("Worker").active, status.of("PS").active) == (0, 0)


@pytest.mark.scenario(88)
@pytest.mark.parametrize(
    ("limit", "restarts", "is_hit"),
    [(0, 0, False), (0, 1, True), (3, 2, False), (3, 3, True), (3, 4, True)],
)
def test_a_limit_is_reached_by_restarts_in_place(limit: int, restarts: int, is_hit: bool) -> None:
    job = a_job("W1", restart="OnFailure", run_policy={"backoffLimit": limit})
    status = status_after(job, decide(job, a_pod("worker", 0, restarts=restarts)))
    assert status.is_true("Failed") is is_hit


def test_restarts_of_a_type_that_never_restarts_do_not_count() -> None:
    job = a_job("W1", restart="Never", run_policy={"backoffLimit": 1})
    status = status_after(job, decide(job, a_pod("worker", 0, restarts=5)))
    assert conditions_of(status) == ["Created", "Running"]


def fail_until_the_end(passes: Passes, *, most: int = 20) -> int:
    """Let worker 0 exit 137 again and again; returns how many pods were made anew."""
    made = 0
    for attempt in range(most):
        moment = at(1000 * attempt)
        failed = a_pod("worker", 0, "Failed", exit_code=137, uid=f"pod-{attempt}")
        passes.go(failed, now=moment)
        if passes.job.status.is_finished:
            return made
        going = a_pod("worker", 0, "Failed", exit_code=137, uid=f"pod-{attempt}", deleted=0)
        passes.go(going, now=moment)
        made += len(created_names(passes.go(now=at(1000 * attempt + 900)), "Pod"))
    return made


@pytest.mark.scenario(89, "R6")
@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("policy", ["ExitCode", "OnFailure", "Always"])
def test_as_many_pods_are_recreated_as_the_limit_allows(policy: str, limit: int) -> None:
    passes = Passes(manifest("W1", restart=policy, run_policy={"backoffLimit": limit}))
    assert fail_until_the_end(passes) == limit
    status = passes.job.status
    assert status.conditions[-1].message == F3
    assert status.of("Worker").restarts == limit


@pytest.mark.scenario(90)
def test_restarts_of_an_init_container_count_while_the_pod_is_pending() -> None:
    job = a_job("W1", restart="OnFailure", run_policy={"backoffLimit": 3})
    looping = a_pod("worker", 0, "Pending", init=[ContainerStatus(name="init", restart_count=3)])
    plan = decide(job, looping)
    assert status_after(job, plan).conditions[-1].message == F3
    assert deleted_names(plan, "Pod") == ["j-worker-0"]


@pytest.mark.scenario(91)
def test_with_limit_0_the_first_failure_under_never_is_the_limits() -> None:
    job = a_job("W1", restart="Never", run_policy={"backoffLimit": 0})
    assert status_after(job, decide(job, *pods(worker="F"))).conditions[-1].message == F3


def test_with_a_higher_limit_a_failure_under_never_is_its_own() -> None:
    job = a_job("W1", restart="Never", run_policy={"backoffLimit": 1})
    message = status_after(job, decide(job, *pods(worker="F"))).conditions[-1].message
    assert message == "TFJob n/j has failed because 1 Worker replica(s) failed."


def test_restarts_in_place_of_a_replaced_pod_stay_counted() -> None:
    limit = {"backoffLimit": 9}
    passes = Passes(manifest("W1", restart="OnFailure", run_policy=limit))
    passes.go(a_pod("worker", 0, "Failed", exit_code=1, restarts=3))
    assert passes.job.status.of("Worker").restarts == 4


def test_a_replaced_pod_that_is_still_there_is_not_counted_twice() -> None:
    passes = Passes(manifest("W1", restart="OnFailure", run_policy={"backoffLimit": 7}))
    passes.go(a_pod("worker", 0, "Failed", exit_code=1, restarts=3))
    passes.go(a_pod("worker", 0, "Failed", exit_code=1, restarts=3, deleted=0), now=at(1))
    assert passes.conditions == ["Created", "Restarting"]
    assert passes.job.status.of("Worker").restarts == 4


def test_restarts_of_both_kinds_are_added_up() -> None:
    stored = {"replicaStatuses": {"Worker": {"restarts": 2}}}
    job = a_job("W2", restart="OnFailure", run_policy={"backoffLimit": 3}, status=stored)
    quiet = status_after(job, decide(job, *pods(worker="RR")))
    assert not quiet.is_finished
    status = status_after(job, decide(job, a_pod("worker", 0, restarts=1), *pods(worker="-R")))
    assert status.conditions[-1].message == F3


@pytest.mark.scenario("R8")
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_the_limit_is_shared_and_holds_in_every_order_of_failures(
    order: tuple[int, ...],
) -> None:
    given = manifest("C1 W4", restart="OnFailure", run_policy={"backoffLimit": 3})
    passes = Passes(given)
    for turn, index in enumerate(order):
        letters = "".join("F" if each == index else "R" for each in range(4))
        plan = passes.go(*pods(chief="R", worker=letters), now=at(100 * turn))
        assert passes.job.status.is_finished is (turn == 3)
        if turn < 3:
            assert deleted_names(plan, "Pod") == [f"j-worker-{index}"]
            alive = letters.replace("F", "-")
            plan = passes.go(*pods(chief="R", worker=alive), now=at(100 * turn + 50))
            assert created_names(plan, "Pod") == [f"j-worker-{index}"]
    assert passes.job.status.conditions[-1].message == F3


@pytest.mark.scenario("R8")
def test_failures_at_once_restart_as_many_as_the_limit_allows() -> None:
    passes = Passes(manifest("C1 W4", restart="OnFailure", run_policy={"backoffLimit": 3}))
    plan = passes.go(*pods(chief="R", worker="FFFF"))
    assert deleted_names(plan, "Pod") == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert passes.conditions == ["Created", "Restarting"]
    passes.go(*pods(chief="R", worker="---F"), now=at(1))
    assert passes.conditions == ["Created", "Restarting=F", "Failed"]
    assert passes.job.status.conditions[-1].message == F3
    assert passes.job.status.of("Worker").restarts == 3


@pytest.mark.scenario(92)
def test_without_a_deadline_pods_stay() -> None:
    job = a_job("W4 P2", **started(at(-2), cleanPodPolicy="All"))
    plan = decide(job, *pods(worker="RRRR", ps="RR"))
    assert (plan.deletes, plan.requeue_at) == ([], None)


@pytest.mark.scenario(92)
def test_past_its_deadline_the_job_fails_and_its_children_go() -> None:
    job = a_job("W4 P2", **started(at(-3), cleanPodPolicy="All", activeDeadlineSeconds=2))
    plan = decide(job, *pods(worker="RRRR", ps="RR"))
    assert sorted(deleted_names(plan, "Pod")) == WORKERS
    status = status_after(job, plan)
    failed = stored(job, plan)
    last = decide(failed, *pods(ps="RR"), services=services_of(pods(worker="RRRR", ps="RR")))
    assert sorted(deleted_names(last, "Pod")) == SERVERS
    assert sorted(deleted_names(last, "Service")) == W4_P2
    assert (conditions_of(status), status.conditions[-1].message) == (["Created", "Failed"], F4)
    assert events_of(plan) == [("Normal", "TFJobFailed", F4)]
    assert status.completion_time == NOW


@pytest.mark.scenario(93)
@pytest.mark.parametrize(("limit", "is_past"), [(0, True), (2, False)])
def test_a_deadline_of_0_is_past_at_once(limit: int, is_past: bool) -> None:
    job = a_job("W1", **started(NOW, activeDeadlineSeconds=limit))
    assert status_after(job, decide(job, *pods(worker="R"))).is_true("Failed") is is_past


@pytest.mark.scenario(94)
def test_a_job_asks_to_be_woken_at_its_deadline_and_fails_then() -> None:
    passes = Passes(manifest("W1", run_policy={"activeDeadlineSeconds": 5}))
    plan = passes.go()
    assert plan.requeue_at == at(6)
    assert passes.go(*pods(worker="R"), now=at(3)).requeue_at == at(6)
    passes.go(*pods(worker="R"), now=at(5.9))
    assert passes.conditions == ["Created", "Running"]
    passes.go(*pods(worker="R"), now=at(6))
    assert passes.conditions == ["Created", "Running=F", "Failed"]


@pytest.mark.scenario(95, "R9")
def test_at_the_deadline_clean_up_none_keeps_what_has_ended() -> None:
    job = a_job("P1 W2", **started(at(-10), activeDeadlineSeconds=9))
    plan = decide(job, *pods(ps="P", worker="RS"))
    assert deleted_names(plan, "Pod") == ["j-ps-0", "j-worker-0"]
    assert deleted_names(plan, "Service") == ["j-ps-0", "j-worker-0"]


@pytest.mark.scenario("R9")
def test_at_the_backoff_limit_clean_up_none_keeps_the_failed_pod() -> None:
    job = a_job("W2", restart="OnFailure", run_policy={"backoffLimit": 0})
    plan = decide(job, *pods(worker="RF"))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert status_after(job, plan).conditions[-1].message == F3


def test_the_backoff_limit_is_blamed_before_the_deadline() -> None:
    fields = started(at(-9), activeDeadlineSeconds=1, backoffLimit=0)
    job = a_job("W1", restart="OnFailure", **fields)
    message = status_after(job, decide(job, a_pod("worker", 0, restarts=1))).conditions[-1].message
    assert message == F3


def test_what_a_limit_left_running_is_removed_in_a_later_pass() -> None:
    passes = Passes(manifest("W2", **started(at(-10), activeDeadlineSeconds=9)))
    passes.go(*pods(worker="RS"))
    plan = passes.go(*pods(worker="RS"), now=at(1))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert plan.events == []


def test_the_first_restart_is_at_once_and_later_ones_wait_longer() -> None:
    passes = Passes(manifest("W1", restart="ExitCode"))
    delays = []
    moment = 0.0
    for attempt in range(9):
        failed = a_pod("worker", 0, "Failed", exit_code=137, uid=f"pod-{attempt}")
        passes.go(failed, now=at(moment))
        plan = passes.go(now=at(moment))
        waits = 0.0 if plan.requeue_at is None else (plan.requeue_at - at(moment)).total_seconds()
        assert bool(created_names(plan, "Pod")) is (waits == 0)
        moment += waits
        assert created_names(passes.go(now=at(moment)), "Pod") == ["j-worker-0"]
        delays.append(waits)
    assert delays == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_a_pod_that_ran_ten_minutes_ends_the_streak() -> None:
    passes = Passes(manifest("W1", restart="ExitCode"))
    passes.go(a_pod("worker", 0, "Failed", exit_code=137, uid="a"))
    passes.go(a_pod("worker", 0, "Failed", exit_code=137, uid="b"), now=at(60))
    steady = a_pod("worker", 0, "Failed", exit_code=137, uid="c", ran=(100, 700))
    passes.go(steady, now=at(701))
    assert created_names(passes.go(now=at(702)), "Pod") == ["j-worker-0"]
