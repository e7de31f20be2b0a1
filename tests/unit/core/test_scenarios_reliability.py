"""Scenarios from problems of other operators: lost nodes, sidecars, flapping, evaluators."""

import json

import pytest

from tests.support.builders import (
    Passes,
    a_job,
    a_pod,
    at,
    conditions_of,
    created_names,
    decide,
    deleted_names,
    manifest,
    manifests_of,
    pods,
    status_after,
)
from tfjob.k8s.pod import ContainerState, ContainerStatus, Running, Terminated

SIDECAR = ContainerStatus(name="proxy", state=ContainerState(running=Running()))
BROKEN_SIDECAR = ContainerStatus(
    name="proxy", state=ContainerState(terminated=Terminated(exit_code=1, reason="Error"))
)


@pytest.mark.scenario("R3")
def test_a_pod_stuck_on_a_lost_node_is_replaced_once_and_uncounted() -> None:
    passes = Passes(manifest("W2", restart="OnFailure", run_policy={"backoffLimit": 1}))
    stuck = a_pod("worker", 1, "Running", deleted=-100, node="lost", uid="old")
    plan = passes.go(*pods(worker="R"), stuck)
    assert (plan.creates, plan.deletes) == ([], [])
    plan = passes.go(*pods(worker="R"), stuck, now=at(1), lost_nodes=frozenset({"lost"}))
    assert [(each.name, each.uid, each.is_forced) for each in plan.deletes] == [
        ("j-worker-1", "old", True)
    ]
    assert plan.creates == []
    plan = passes.go(*pods(worker="R"), now=at(2))
    assert created_names(plan, "Pod") == ["j-worker-1"]
    assert passes.job.status.restarts == 0
    assert passes.conditions == ["Created", "Running"]


@pytest.mark.scenario("R7")
def test_an_evaluator_deleted_by_a_user_is_recreated_and_the_job_never_fails() -> None:
    passes = Passes(manifest("C1 W1 E1", restart="ExitCode"))
    seen: list[list[str]] = []
    going = a_pod("evaluator", 0, "Failed", exit_code=1, deleted=-5, ran=(-50, -2))
    for found in ([*pods(evaluator="R")], [*pods(evaluator="T")], [going], []):
        plan = passes.go(*pods(chief="R", worker="R"), *found, now=at(len(seen)))
        seen.append(passes.conditions)
    assert created_names(plan, "Pod") == ["j-evaluator-0"]
    assert seen == [
        ["Created", "Running"],
        ["Created", "Restarting"],
        ["Created", "Restarting"],
        ["Created", "Running"],
    ]


@pytest.mark.scenario("R21")
def test_a_failed_ps_under_never_fails_the_job_at_once() -> None:
    passes = Passes(manifest("C1 P1 W2", restart="Never"))
    passes.go(*pods(chief="R", ps="R", worker="RR"))
    passes.go(*pods(chief="R", ps="F", worker="RR"), now=at(1))
    assert passes.conditions == ["Created", "Running=F", "Failed"]


@pytest.mark.scenario("R29")
def test_a_job_that_ends_within_one_reconcile_shows_its_conditions_in_order() -> None:
    job = a_job("W1")
    status = status_after(job, decide(job, *pods(worker="S")))
    assert conditions_of(status) == ["Created", "Succeeded"]
    assert status.start_time is not None
    assert status.completion_time is not None
    assert status.start_time <= status.completion_time


@pytest.mark.scenario("R30")
@pytest.mark.parametrize("policy", ["OnFailure", "Always", "ExitCode"])
def test_a_restart_never_shows_failed(policy: str) -> None:
    passes = Passes(manifest("P1 W2", restart=policy))
    states = ["RR", "RK", "RK", "R-", "RP", "RR", "KR", "-R", "RR", "SR"]
    for turn, letters in enumerate(states):
        passes.go(*pods(ps="R", worker=letters), now=at(100 * turn))
        assert not passes.job.status.is_true("Failed")
    assert passes.conditions == ["Created", "Running=F", "Succeeded"]


@pytest.mark.scenario("R30")
@pytest.mark.parametrize("end", ["S", "F"])
@pytest.mark.parametrize("later", ["R", "F", "S", "T", "-", "P"])
def test_an_end_is_never_taken_back(end: str, later: str) -> None:
    passes = Passes(manifest("W2"))
    passes.go(*pods(worker=f"{end}R"))
    conditions = passes.job.status.conditions
    for turn in range(3):
        plan = passes.go(*pods(worker=f"{later}{later}"), now=at(turn + 1))
        assert plan.creates == []
        assert plan.events == []
    assert passes.job.status.conditions == conditions


@pytest.mark.scenario("R31")
@pytest.mark.parametrize("policy", ["Never", "ExitCode", "OnFailure"])
def test_a_sidecar_that_never_ends_does_not_keep_the_job_from_succeeding(policy: str) -> None:
    job = a_job("W1", restart=policy)
    status = status_after(job, decide(job, a_pod("worker", 0, exit_code=0, others=[SIDECAR])))
    assert conditions_of(status) == ["Created", "Succeeded"]


@pytest.mark.scenario("R31")
@pytest.mark.parametrize("policy", ["Never", "ExitCode", "OnFailure"])
def test_a_sidecar_that_failed_does_not_spoil_a_success(policy: str) -> None:
    job = a_job("W1", restart=policy)
    pod = a_pod("worker", 0, "Failed", exit_code=0, others=[BROKEN_SIDECAR])
    assert conditions_of(status_after(job, decide(job, pod))) == ["Created", "Succeeded"]


@pytest.mark.parametrize(
    ("policy", "code", "expected", "deleted"),
    [
        pytest.param("Never", 1, ["Created", "Failed"], [], id="never-fails"),
        pytest.param("ExitCode", 1, ["Created", "Failed"], [], id="permanent-code-fails"),
        pytest.param(
            "ExitCode", 137, ["Created", "Restarting"], ["j-worker-0"], id="retryable-restarts"
        ),
        pytest.param("OnFailure", 1, ["Created", "Running"], [], id="the-node-restarts-it"),
        pytest.param("Always", 0, ["Created", "Running"], [], id="the-node-restarts-it-always"),
    ],
)
def test_a_replica_is_judged_by_its_training_container_beside_a_sidecar(
    policy: str, code: int, expected: list[str], deleted: list[str]
) -> None:
    job = a_job("W1", restart=policy)
    plan = decide(job, a_pod("worker", 0, exit_code=code, others=[SIDECAR]))
    assert conditions_of(status_after(job, plan)) == expected
    assert deleted_names(plan, "Pod") == deleted


@pytest.mark.scenario("R33")
def test_an_evaluator_is_in_nobodys_cluster() -> None:
    job = a_job("C1 P1 W1 E1")
    tasks = []
    for each in manifests_of(job, decide(job)):
        if each["kind"] != "Pod":
            continue
        (variable,) = each["spec"]["containers"][0]["env"]
        config = json.loads(variable["value"])
        assert sorted(config["cluster"]) == ["chief", "ps", "worker"]
        tasks.append(config["task"]["type"])
    assert tasks == ["chief", "ps", "worker", "evaluator"]


def test_a_stale_restarting_condition_of_another_operator_gives_way_to_running() -> None:
    stored = {
        "conditions": [
            {"type": "Created", "status": "True", "reason": "TFJobCreated"},
            {"type": "Restarting", "status": "True", "reason": "TFJobRestarting"},
        ],
        "startTime": "2026-01-02T03:00:00Z",
    }
    job = a_job("W2", restart="OnFailure", status=stored)
    status = status_after(job, decide(job, *pods(worker="RR")))
    assert conditions_of(status) == ["Created", "Running"]


def test_a_job_that_another_operator_left_with_two_ends_is_finished() -> None:
    ends = [{"type": kind, "status": "True"} for kind in ("Succeeded", "Failed")]
    job = a_job("W1", status={"conditions": ends, "completionTime": "2026-01-02T03:00:00Z"})
    plan = decide(job, *pods(worker="F"))
    assert plan.is_empty
    assert plan.events == []
