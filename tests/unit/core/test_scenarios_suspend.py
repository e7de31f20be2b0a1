"""Scenarios: suspend, resume, and jobs that another controller manages."""

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
    decoded,
    deleted_names,
    events_of,
    manifest,
    manifests_of,
    pods,
    rejected,
    status_after,
)
from tfjob.core.invalid_job import reject
from tfjob.core.plan import Plan

BOTH = ["j-chief-0", "j-worker-0"]


def c1_w1(*, suspend: bool, **fields: Any) -> dict[str, Any]:
    return manifest("C1 W1", run_policy={"suspend": suspend}, **fields)


@pytest.mark.scenario(114)
def test_a_job_created_suspended_has_no_children_and_no_start() -> None:
    passes = Passes(c1_w1(suspend=True))
    plan = passes.go()
    assert (plan.creates, plan.deletes) == ([], [])
    assert [(each.type, each.status, each.message) for each in passes.job.status.conditions] == [
        ("Created", "True", "TFJob j is created."),
        ("Suspended", "True", "TFJob j is suspended."),
    ]
    assert passes.job.status.start_time is None
    assert events_of(plan) == [("Normal", "TFJobSuspended", "TFJob j is suspended.")]
    assert passes.go(now=at(5)).is_empty


@pytest.mark.scenario(115)
def test_suspending_a_running_job_removes_its_children_and_keeps_its_start() -> None:
    passes = Passes(c1_w1(suspend=False))
    found = pods(chief="R", worker="R")
    passes.go(*found)
    passes.edit(c1_w1(suspend=True))
    plan = passes.go(*found, now=at(9))
    assert deleted_names(plan, "Pod") == BOTH
    assert deleted_names(plan, "Service") == BOTH
    assert plan.creates == []
    shown = [
        (each.type, each.status, each.reason, each.message)
        for each in passes.job.status.conditions[1:]
    ]
    assert shown == [
        ("Running", "False", "TFJobSuspended", "TFJob j is suspended."),
        ("Suspended", "True", "TFJobSuspended", "TFJob j is suspended."),
    ]
    assert passes.job.status.start_time == NOW
    assert {kind: each.active for kind, each in passes.job.status.replicas.items()} == {
        "Chief": 0,
        "Worker": 0,
    }
    assert [each.reason for each in plan.events] == ["TFJobSuspended"]
    again = passes.go(now=at(10))
    assert (again.is_empty, again.events) == (True, [])


@pytest.mark.scenario(116)
def test_resuming_recreates_the_children_and_sets_a_new_start_time() -> None:
    passes = Passes(c1_w1(suspend=False))
    passes.go(*pods(chief="R", worker="R"))
    passes.edit(c1_w1(suspend=True))
    passes.go(*pods(chief="R", worker="R"), now=at(5))
    passes.edit(c1_w1(suspend=False))
    plan = passes.go(now=at(9))
    assert created_names(plan, "Pod") == BOTH
    assert created_names(plan, "Service") == BOTH
    assert events_of(plan) == [("Normal", "TFJobResumed", "TFJob j is resumed.")]
    fresh = [a_pod(role, 0, created=9) for role in ("chief", "worker")]
    passes.go(*fresh, now=at(10))
    assert passes.conditions == ["Created", "Suspended=F", "Running"]
    suspended = passes.job.status.conditions[1]
    assert (suspended.reason, suspended.message) == ("TFJobResumed", "TFJob j is resumed.")
    assert passes.job.status.start_time == at(9)


@pytest.mark.scenario(117)
@pytest.mark.parametrize(
    ("policy", "is_suspended"),
    [({"suspend": None}, False), ({"suspend": False}, False), ({"suspend": True}, True)],
)
def test_only_suspend_true_suspends(policy: dict[str, Any], is_suspended: bool) -> None:
    job = a_job("W1", run_policy=policy)
    plan = decide(job)
    assert status_after(job, plan).is_true("Suspended") is is_suspended
    assert bool(plan.creates) is not is_suspended


@pytest.mark.scenario(117)
def test_a_job_without_a_run_policy_is_not_suspended() -> None:
    assert conditions_of(status_after(a_job("W1"), decide(a_job("W1")))) == ["Created"]


@pytest.mark.scenario(118)
@pytest.mark.parametrize("suspend", [True, False])
def test_a_job_of_another_manager_is_not_touched(suspend: bool) -> None:
    policy = {"managedBy": "kueue.x-k8s.io/multikueue", "suspend": suspend}
    assert decide(a_job("C1 W1", run_policy=policy), *pods(worker="F")) == Plan()


@pytest.mark.scenario(119)
@pytest.mark.parametrize("policy", [{}, {"managedBy": "kubeflow.org/training-operator"}])
def test_a_job_without_manager_or_with_this_one_is_ours(policy: dict[str, str]) -> None:
    assert created_names(decide(a_job("W1", run_policy=policy)), "Pod") == ["j-worker-0"]


@pytest.mark.scenario(119)
@pytest.mark.parametrize("manager", ["", "somebody/else"])
def test_a_job_of_an_unknown_manager_is_not_even_rejected(manager: str) -> None:
    assert reject(rejected(manifest("W1", run_policy={"managedBy": manager})), now=NOW) == Plan()


def test_a_finished_job_ignores_suspension() -> None:
    passes = Passes(manifest("W1"))
    passes.go(*pods(worker="S"))
    passes.edit(manifest("W1", run_policy={"suspend": True}))
    plan = passes.go(*pods(worker="S"), now=at(1))
    assert (plan.deletes, passes.conditions) == ([], ["Created", "Succeeded"])


def test_limits_are_not_looked_at_while_suspended() -> None:
    policy = {"suspend": True, "activeDeadlineSeconds": 1, "backoffLimit": 0}
    stored = {"startTime": "2026-01-01T00:00:00Z"}
    job = a_job("W1", restart="OnFailure", run_policy=policy, status=stored)
    plan = decide(job, a_pod("worker", 0, restarts=7))
    assert conditions_of(status_after(job, plan)) == ["Created", "Suspended"]
    assert plan.requeue_at is None


def test_suspending_a_restarting_job_ends_the_restart() -> None:
    passes = Passes(manifest("W2", restart="OnFailure"))
    passes.go(*pods(worker="RF"))
    passes.edit(manifest("W2", restart="OnFailure", run_policy={"suspend": True}))
    passes.go(*pods(worker="RF"), now=at(1))
    assert passes.conditions == ["Created", "Restarting=F", "Suspended"]
    restarting = passes.job.status.conditions[1]
    assert (restarting.last_update, restarting.last_transition) == (at(1), at(1))
    assert passes.job.status.of("Worker").restarts == 1


def test_counted_restarts_survive_suspension_and_successes_do_not() -> None:
    running = manifest("W3", restart="OnFailure", run_policy={"suspend": False})
    passes = Passes(running)
    passes.go(*pods(worker="RFS"))
    assert passes.job.status.of("Worker").completed == {2}
    passes.edit(manifest("W3", restart="OnFailure", run_policy={"suspend": True}))
    passes.go(*pods(worker="R-S"), now=at(1))
    assert passes.job.status.of("Worker").succeeded == 1
    passes.edit(running)
    plan = passes.go(now=at(2))
    assert created_names(plan, "Pod") == ["j-worker-0", "j-worker-1", "j-worker-2"]
    workers = passes.job.status.of("Worker")
    assert (workers.restarts, workers.succeeded, workers.completed) == (1, 0, frozenset())


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "ExitCode", "Always"])
@pytest.mark.parametrize(
    "left",
    [
        pytest.param({"phase": "Running"}, id="still-running"),
        pytest.param({"phase": "Failed", "exit_code": 143}, id="killed"),
        pytest.param({"phase": "Succeeded", "exit_code": 0}, id="exited-well-on-the-signal"),
    ],
)
def test_pods_on_their_way_out_since_suspension_are_ignored_after_resuming(
    policy: str, left: dict[str, Any]
) -> None:
    passes = Passes(manifest("W1", restart=policy, run_policy={"suspend": True}))
    passes.go(*pods(worker="R"))
    passes.edit(manifest("W1", restart=policy, run_policy={"suspend": False, "backoffLimit": 0}))
    going = a_pod("worker", 0, deleted=0, **left)
    for seconds in (3, 4):
        plan = passes.go(going, now=at(seconds))
        assert (plan.creates, plan.deletes) == ([], [])
        assert passes.conditions == ["Created", "Suspended=F"]
        workers = passes.job.status.of("Worker")
        assert (workers.active, workers.succeeded, workers.failed) == (0, 0, 0)
    assert created_names(passes.go(now=at(5)), "Pod") == ["j-worker-0"]


@pytest.mark.scenario("R13")
def test_a_pod_made_and_suspended_within_one_second_does_not_fail_the_job() -> None:
    passes = Passes(manifest("W1", run_policy={"suspend": True}))
    passes.go(now=at(0.2))
    passes.edit(manifest("W1", run_policy={"suspend": False}))
    passes.go(now=at(0.4))
    passes.edit(manifest("W1", run_policy={"suspend": True}))
    passes.go(a_pod("worker", 0, created=0), now=at(0.6))
    passes.edit(manifest("W1", run_policy={"suspend": False}))
    going = a_pod("worker", 0, created=0, deleted=0)
    passes.go(going, now=at(0.8))
    passes.go(going, now=at(0.9))
    assert passes.conditions == ["Created", "Suspended=F"]


@pytest.mark.scenario("R13")
def test_after_many_suspensions_the_last_one_takes_effect_and_no_restart_is_counted() -> None:
    passes = Passes(manifest("W2", restart="OnFailure", run_policy={"backoffLimit": 1}))
    for turn in range(10):
        passes.edit(manifest("W2", restart="OnFailure", run_policy={"suspend": True}))
        passes.go(*pods(worker="RR"), now=at(turn))
        passes.edit(manifest("W2", restart="OnFailure", run_policy={"backoffLimit": 1}))
        passes.go(*pods(worker="TT"), now=at(turn + 0.5))
    assert passes.conditions == ["Created", "Suspended=F"]
    assert passes.job.status.restarts == 0
    passes.edit(manifest("W2", restart="OnFailure", run_policy={"suspend": True}))
    plan = passes.go(*pods(worker="RR"), now=at(11))
    assert deleted_names(plan, "Pod") == ["j-worker-0", "j-worker-1"]
    assert passes.conditions == ["Created", "Suspended"]


def test_a_resumption_is_stored_before_any_pod_is_created() -> None:
    passes = Passes(manifest("W1", run_policy={"suspend": True}))
    passes.go()
    passes.edit(manifest("W1", run_policy={"suspend": False}))
    plan = passes.go(now=at(6))
    assert created_names(plan, "Pod") == ["j-worker-0"]
    assert plan.writes_status_first


@pytest.mark.parametrize("created", [-60, 0])
def test_a_pod_that_survived_suspension_is_replaced_at_resumption(created: float) -> None:
    pod = a_pod("worker", 0, created=created)
    passes = Passes(manifest("W1", run_policy={"suspend": True}))
    passes.go(pod)
    passes.edit(manifest("W1", run_policy={"suspend": False}))
    plan = passes.go(pod, now=at(6))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert passes.conditions == ["Created", "Suspended=F"]


def test_no_child_is_deleted_twice_in_one_reconcile() -> None:
    passes = Passes(manifest("W1", run_policy={"suspend": True}))
    passes.go(*pods(worker="RR"))
    passes.edit(manifest("W1", run_policy={"suspend": False}))
    plan = passes.go(*pods(worker="RR"), now=at(6))
    assert sorted(deleted_names(plan, "Pod")) == ["j-worker-0", "j-worker-1"]


@pytest.mark.scenario("R14")
def test_pods_created_after_resuming_follow_the_template_as_it_is_then() -> None:
    passes = Passes(manifest("W1", run_policy={"suspend": True}))
    passes.go()
    given = manifest("W1", run_policy={"suspend": False})
    template = given["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["spec"]["nodeSelector"] = {"zone": "b"}
    passes.edit(given)
    plan = passes.go(now=at(1))
    pod = next(each for each in manifests_of(decoded(given), plan) if each["kind"] == "Pod")
    assert pod["spec"]["nodeSelector"] == {"zone": "b"}
