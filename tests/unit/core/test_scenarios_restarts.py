"""Scenarios: replicas that fail or are deleted."""

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
    status_after,
)
from tfjob.dialects.base import Settings
from tfjob.k8s.pod import PodCondition

RESTARTING = "job j is restarting because {} replica(s) failed."
KILLED = (
    "worker-0 was killed by a signal (signal 2), exit code 130, on node node-1."
    " Look at the events of the pod and of its node."
)
F2 = 'job "j" is failing because "{}" replica(s) failed.'


def roles_with(roles: str, **policies: str) -> dict[str, Any]:
    """A job whose types have restart policies of their own."""
    given = manifest(roles)
    for kind, policy in policies.items():
        given["spec"]["tfReplicaSpecs"][kind]["restartPolicy"] = policy
    return given


@pytest.mark.scenario(79)
def test_a_retryable_exit_restarts_the_pod_and_the_job_runs_again() -> None:
    passes = Passes(manifest("W1", restart="ExitCode"))
    passes.go()
    passes.go(*pods(worker="R"), now=at(1))
    failed = a_pod("worker", 0, "Failed", exit_code=130, uid="first")
    plan = passes.go(failed, now=at(2))
    assert [(each.name, each.uid) for each in plan.deletes] == [("j-worker-0", "first")]
    assert plan.creates == []
    assert events_of(plan) == [
        ("Normal", "ExitedWithCode", "Pod: n.j-worker-0 exited with code 130"),
        ("Warning", "TFJobRestarting", RESTARTING.format("Worker")),
        ("Warning", "Killed", KILLED),
    ]
    assert passes.conditions == ["Created", "Restarting"]
    assert passes.job.status.conditions[-1].message == RESTARTING.format("Worker")
    going = a_pod("worker", 0, "Failed", exit_code=130, uid="first", deleted=2)
    waiting = passes.go(going, now=at(3))
    assert (waiting.creates, waiting.deletes) == ([], [])
    assert passes.job.status.of("Worker").failed == 1
    assert created_names(passes.go(now=at(4), services=[]), "Pod") == ["j-worker-0"]
    assert passes.job.status.of("Worker").failed == 0
    passes.go(a_pod("worker", 0, uid="second"), now=at(5))
    assert passes.conditions == ["Created", "Running"]
    assert passes.job.status.of("Worker").restarts == 1


@pytest.mark.scenario(80)
def test_a_permanent_exit_fails_the_job_and_the_pod_stays() -> None:
    job = a_job("W1", restart="ExitCode")
    plan = decide(job, *pods(worker="F"))
    status = status_after(job, plan)
    assert conditions_of(status) == ["Created", "Failed"]
    assert status.conditions[-1].message == F2.format("Worker")
    assert status.completion_time == NOW
    assert (plan.creates, plan.deletes) == ([], [])
    assert events_of(plan)[1:-1] == [
        ("Warning", "TFJobFailed", F2.format("Worker")),
        ("Normal", "TFJobFailed", "TFJob n/j has failed because 1 Worker replica(s) failed."),
    ]
    assert [each.key for each in plan.events[1:-1]] == ["verdict/U", "verdict/count/U"]
    assert plan.events[-1].reason == "ProgramFailed"


@pytest.mark.parametrize(
    ("code", "is_retried"),
    [
        pytest.param(1, False, marks=pytest.mark.scenario(81)),
        pytest.param(2, False, marks=pytest.mark.scenario(81)),
        pytest.param(3, False, marks=pytest.mark.scenario(81)),
        pytest.param(130, True, marks=pytest.mark.scenario(81)),
        pytest.param(138, True, marks=pytest.mark.scenario(81)),
        pytest.param(137, True, marks=pytest.mark.scenario(86)),
        pytest.param(139, False, marks=pytest.mark.scenario(86)),
        pytest.param(128, False, marks=pytest.mark.scenario(86)),
        pytest.param(143, True, marks=pytest.mark.scenario(86)),
        pytest.param(None, True, marks=pytest.mark.scenario(86)),
        (125, False),
        (126, False),
        (127, False),
        (129, True),
        (134, True),
        (255, True),
    ],
)
def test_exit_codes_decide_whether_a_replica_is_tried_again(
    code: int | None, is_retried: bool
) -> None:
    job = a_job("W1", restart="ExitCode")
    plan = decide(job, a_pod("worker", 0, "Failed", exit_code=code))
    assert deleted_names(plan, "Pod") == (["j-worker-0"] if is_retried else [])
    assert status_after(job, plan).is_true("Failed") is not is_retried


@pytest.mark.parametrize(
    ("table", "retried"),
    [
        ("classic", [130, 137, 138, 143]),
        ("v1.9", [128, 129, 130, 137, 138, 139, 143, 255, None]),
        ("default", [129, 130, 137, 138, 143, 255, None]),
    ],
)
def test_the_table_of_exit_codes_is_a_setting(table: str, retried: list[int | None]) -> None:
    job = a_job("W1", Settings(exit_code_table=table), restart="ExitCode")
    codes = [1, 127, 128, 129, 130, 137, 138, 139, 143, 255, None]
    found = [
        code for code in codes if decide(job, a_pod("worker", 0, "Failed", exit_code=code)).deletes
    ]
    assert found == retried


@pytest.mark.scenario(82)
def test_a_ps_under_exit_code_is_recreated_after_130_and_stays_after_1() -> None:
    passes = Passes(manifest("P1 W2", restart="ExitCode"))
    killed = a_pod("ps", 0, "Failed", exit_code=130, uid="old")
    plan = passes.go(killed, *pods(worker="RR"))
    assert deleted_names(plan, "Pod") == ["j-ps-0"]
    assert created_names(passes.go(*pods(worker="RR"), now=at(5)), "Pod") == ["j-ps-0"]
    passes.go(*pods(ps="R", worker="RR"), now=at(6))
    assert passes.conditions == ["Created", "Running"]
    plan = passes.go(*pods(ps="F", worker="RR"), now=at(7))
    assert (plan.creates, plan.deletes) == ([], [])
    assert passes.conditions == ["Created", "Running=F", "Failed"]


@pytest.mark.scenario(83)
@pytest.mark.parametrize("code", [0, 1])
def test_a_ps_under_always_is_left_to_its_node(code: int) -> None:
    job = a_job("P1", restart="Always")
    plan = decide(job, a_pod("ps", 0, "Running", exit_code=code, restarts=3))
    assert (plan.creates, plan.deletes) == ([], [])
    assert conditions_of(status_after(job, plan)) == ["Created", "Running"]


@pytest.mark.scenario(84)
def test_a_ps_under_on_failure_is_left_to_its_node_after_a_failure() -> None:
    job = a_job("P1 W1", restart="OnFailure")
    plan = decide(job, a_pod("ps", 0, "Running", exit_code=1, restarts=2), *pods(worker="R"))
    assert (plan.creates, plan.deletes) == ([], [])
    assert status_after(job, plan).of("PS").active == 1


@pytest.mark.scenario(84)
def test_a_ps_under_on_failure_that_succeeded_stays_so() -> None:
    passes = Passes(manifest("P1 W1", restart="OnFailure"))
    plan = passes.go(*pods(ps="S", worker="R"))
    assert (plan.creates, plan.deletes) == ([], [])
    assert passes.job.status.of("PS").succeeded == 1
    assert passes.conditions == ["Created", "Running"]


@pytest.mark.scenario(85)
@pytest.mark.parametrize(("letter", "end"), [("F", "Failed"), ("S", "Succeeded")])
def test_a_ps_under_never_stays_as_it_ended(letter: str, end: str) -> None:
    job = a_job("P1", restart="Never")
    plan = decide(job, *pods(ps=letter))
    assert (plan.creates, plan.deletes) == ([], [])
    assert conditions_of(status_after(job, plan)) == ["Created", end]


@pytest.mark.scenario(96)
def test_a_restarted_ps_makes_the_job_restarting_then_running_and_spares_the_chief() -> None:
    passes = Passes(roles_with("C1 P1", PS="ExitCode"))
    passes.go(*pods(chief="R", ps="R"))
    plan = passes.go(*pods(chief="R", ps="K"), now=at(1))
    assert deleted_names(plan, "Pod") == ["j-ps-0"]
    assert passes.conditions == ["Created", "Restarting"]
    plan = passes.go(*pods(chief="R"), now=at(2))
    assert created_names(plan, "Pod") == ["j-ps-0"]
    assert plan.deletes == []
    assert passes.conditions == ["Created", "Running"]


@pytest.mark.parametrize("leader", ["C1", "M1"])
@pytest.mark.parametrize("policy", ["Always", "OnFailure", "ExitCode"])
def test_a_failed_ps_that_is_restarted_leaves_the_verdict_to_the_leader(
    leader: str, policy: str
) -> None:
    role = {"C1": "chief", "M1": "master"}[leader]
    passes = Passes(roles_with(f"{leader} P1", PS=policy))
    passes.go(*pods(**{role: "R"}, ps="R"))
    passes.go(*pods(**{role: "R"}, ps="K"), now=at(1))
    assert passes.conditions == ["Created", "Restarting"]
    passes.go(*pods(**{role: "S"}, ps="K"), now=at(2))
    assert passes.conditions == ["Created", "Restarting=F", "Succeeded"]


@pytest.mark.parametrize(("policy", "letter"), [("Never", "F"), ("Never", "K"), ("ExitCode", "F")])
def test_a_failed_ps_that_is_not_restarted_fails_the_job_while_the_chief_runs(
    policy: str, letter: str
) -> None:
    passes = Passes(roles_with("C1 P1", PS=policy))
    passes.go(*pods(chief="R", ps=letter))
    assert passes.conditions[-1] == "Failed"


@pytest.mark.scenario(97)
def test_a_final_failure_is_not_hidden_by_the_restart_of_another_replica() -> None:
    passes = Passes(roles_with("P1 W2", Worker="OnFailure", PS="Never"))
    passes.go(*pods(ps="R", worker="RF"))
    assert passes.conditions == ["Created", "Restarting"]
    passes.go(*pods(ps="F", worker="RF"), now=at(1))
    assert passes.conditions == ["Created", "Restarting=F", "Failed"]
    message = passes.job.status.conditions[-1].message
    assert message == "TFJob n/j has failed because 1 PS replica(s) failed."


@pytest.mark.scenario(98)
@pytest.mark.parametrize("policy", ["OnFailure", "Always", "ExitCode"])
def test_a_running_worker_that_somebody_else_deleted_is_recreated_and_not_counted(
    policy: str,
) -> None:
    passes = Passes(manifest("W2", restart=policy, run_policy={"backoffLimit": 1}))
    passes.go(*pods(worker="RR"))
    plan = passes.go(*pods(worker="RT"), now=at(1))
    assert passes.conditions == ["Created", "Restarting"]
    assert plan.deletes == []
    assert plan.creates == []
    assert [each.reason for each in plan.events] == ["TFJobRestarting", "PodDeleted"]
    assert passes.job.status.of("Worker").failed == 1
    killed = a_pod("worker", 1, "Failed", exit_code=143, deleted=-5, ran=(-50, -2))
    passes.go(*pods(worker="R"), killed, now=at(2))
    assert passes.conditions == ["Created", "Restarting"]
    plan = passes.go(*pods(worker="R"), now=at(3))
    assert created_names(plan, "Pod") == ["j-worker-1"]
    assert passes.conditions == ["Created", "Running"]
    assert passes.job.status.of("Worker").restarts == 0


@pytest.mark.scenario(99)
def test_a_running_worker_deleted_from_outside_fails_the_job_under_never() -> None:
    passes = Passes(manifest("W2", restart="Never"))
    passes.go(*pods(worker="RR"))
    passes.go(*pods(worker="RT"), now=at(1))
    assert passes.conditions == ["Created", "Running=F", "Failed"]
    message = passes.job.status.conditions[-1].message
    assert message == "TFJob n/j has failed because 1 Worker replica(s) failed."


def test_a_pending_worker_deleted_from_outside_is_waited_for_under_never() -> None:
    passes = Passes(manifest("W2", restart="Never"))
    plan = passes.go(*pods(worker="R"), a_pod("worker", 1, "Pending", deleted=-5))
    assert (plan.creates, plan.deletes) == ([], [])
    assert passes.conditions == ["Created", "Running"]
    assert created_names(passes.go(*pods(worker="R"), now=at(9)), "Pod") == ["j-worker-1"]


@pytest.mark.scenario(100, "R4")
@pytest.mark.parametrize("reason", ["Evicted", "NodeLost", "Shutdown", "Preempting", "Terminated"])
@pytest.mark.parametrize("policy", ["OnFailure", "Always", "ExitCode"])
def test_a_worker_ended_by_its_node_is_recreated(policy: str, reason: str) -> None:
    passes = Passes(manifest("W2", restart=policy, run_policy={"backoffLimit": 0}))
    evicted = a_pod("worker", 1, "Failed", pod_reason=reason)
    plan = passes.go(*pods(worker="R"), evicted)
    assert deleted_names(plan, "Pod") == ["j-worker-1"]
    assert passes.conditions == ["Created", "Restarting"]
    assert passes.job.status.of("Worker").restarts == 0
    plan = passes.go(*pods(worker="R"), now=at(1))
    assert created_names(plan, "Pod") == ["j-worker-1"]
    assert passes.conditions == ["Created", "Running"]


@pytest.mark.scenario("R4")
def test_a_pod_that_failed_without_a_container_status_is_recreated_under_on_failure() -> None:
    job = a_job("W2", restart="OnFailure")
    plan = decide(job, *pods(worker="R"), a_pod("worker", 1, "Failed"))
    assert deleted_names(plan, "Pod") == ["j-worker-1"]
    assert conditions_of(status_after(job, plan)) == ["Created", "Restarting"]


@pytest.mark.scenario("R5")
def test_a_preempted_worker_counts_as_no_retry() -> None:
    target = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")
    passes = Passes(manifest("W2", restart="OnFailure", run_policy={"backoffLimit": 1}))
    gone = a_pod("worker", 1, "Failed", exit_code=137, conditions=[target])
    plan = passes.go(*pods(worker="R"), gone)
    assert deleted_names(plan, "Pod") == ["j-worker-1"]
    assert passes.job.status.of("Worker").restarts == 0
    assert plan.replaced == 1


def test_an_eviction_under_never_fails_the_job_and_is_not_blamed_on_the_limit() -> None:
    job = a_job("W2", restart="Never", run_policy={"backoffLimit": 0})
    status = status_after(
        job, decide(job, *pods(worker="R"), a_pod("worker", 1, "Failed", pod_reason="Evicted"))
    )
    message = status.conditions[-1].message
    assert message == "TFJob n/j has failed because 1 Worker replica(s) failed."


@pytest.mark.scenario(101)
def test_a_failed_dynamic_worker_stays_and_the_job_continues() -> None:
    passes = Passes(manifest("W3", restart="Never", enableDynamicWorker=True))
    plan = passes.go(*pods(worker="RRF"))
    assert (plan.creates, plan.deletes) == ([], [])
    assert passes.conditions == ["Created", "Running"]
    assert passes.job.status.of("Worker").failed == 1


def test_a_permanent_exit_of_a_dynamic_worker_is_tolerated_too() -> None:
    passes = Passes(manifest("W3", restart="ExitCode", enableDynamicWorker=True))
    passes.go(*pods(worker="RRF"))
    assert passes.conditions == ["Created", "Running"]


@pytest.mark.parametrize("workers", ["FFF", "FSF", "FSS"])
def test_dynamic_workers_that_have_all_ended_without_success_fail_the_job(workers: str) -> None:
    job = a_job("W3", restart="Never", enableDynamicWorker=True)
    status = status_after(job, decide(job, *pods(worker=workers)))
    assert conditions_of(status) == ["Created", "Failed"]
    count = workers.count("F")
    message = status.conditions[-1].message
    assert message == f"TFJob n/j has failed because {count} Worker replica(s) failed."


def test_a_failed_server_beside_dynamic_workers_still_fails_the_job() -> None:
    job = a_job("P1 W2", restart="Never", enableDynamicWorker=True)
    status = status_after(job, decide(job, *pods(ps="F", worker="RR")))
    assert status.conditions[-1].message.endswith("1 PS replica(s) failed.")
