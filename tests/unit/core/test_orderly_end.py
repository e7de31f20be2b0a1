"""Parameter servers end after the chief and the workers that use them."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    Passes,
    a_batch_job,
    a_job,
    a_pod,
    at,
    created_names,
    decide,
    deleted_names,
    manifest,
    pods,
    status_after,
)
from tfjob.core import orderly_end
from tfjob.core.job import Workload
from tfjob.core.plan import Rule
from tfjob.core.status import ConditionType
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, Running

MARGIN = orderly_end.MARGIN.total_seconds()
REFUSED = orderly_end.REFUSED_AFTER.total_seconds()
RECHECK = orderly_end.RECHECK.total_seconds()
DONE = {"conditions": [{"type": "Failed", "status": "True", "reason": "r", "message": "m"}]}


def a_suspended_job(roles: str = "C1 P2 W1", **fields: Any) -> Any:
    return a_job(roles, run_policy={"suspend": True}, **fields)


@pytest.mark.scenario("R44")
def test_suspension_deletes_chief_and_workers_first() -> None:
    plan = decide(a_suspended_job(), *pods(chief="R", ps="RR", worker="R"))
    assert deleted_names(plan, "Pod") == ["j-chief-0", "j-worker-0"]
    assert deleted_names(plan, "Service") == []


def test_a_suspended_job_counts_the_parameter_servers_that_still_run() -> None:
    job = a_suspended_job()
    status = status_after(job, decide(job, *pods(chief="R", ps="RR", worker="R")))
    assert status.is_true(ConditionType.SUSPENDED)
    assert {kind: each.active for kind, each in status.replicas.items()} == {
        "Chief": 0,
        "PS": 2,
        "Worker": 0,
    }


@pytest.mark.scenario("R44")
def test_parameter_servers_wait_for_the_grace_of_the_chief_and_a_margin() -> None:
    """The deletion of the chief was requested 5 seconds ago, with a grace period of 30."""
    plan = decide(a_suspended_job(), *pods(chief="T", ps="RR"))
    assert deleted_names(plan, "Pod") == []
    assert plan.requeue_at == at(25 + MARGIN)


@pytest.mark.scenario("R44")
def test_a_chief_that_is_stuck_does_not_keep_them_for_ever() -> None:
    now = at(25 + MARGIN)
    plan = decide(a_suspended_job(), *pods(chief="T", ps="RR"), now=now)
    assert deleted_names(plan, "Pod") == ["j-ps-0", "j-ps-1"]
    assert "j-ps-0" in deleted_names(plan, "Service")


def test_the_longest_grace_counts() -> None:
    chief = a_pod("chief", deleted=-5, grace=100)
    plan = decide(a_suspended_job(), chief, *pods(ps="RR", worker="T"))
    assert plan.requeue_at == at(95 + MARGIN)


@pytest.mark.parametrize("letter", ["P", "S", "F", "K"])
def test_nothing_waits_for_a_chief_that_does_not_run(letter: str) -> None:
    plan = decide(a_suspended_job(), *pods(chief=letter, ps="RR"))
    assert deleted_names(plan, "Pod") == ["j-chief-0", "j-ps-0", "j-ps-1"]


def test_a_chief_whose_training_has_ended_is_not_awaited_although_a_sidecar_runs() -> None:
    chief = a_pod("chief", exit_code=143, deleted=-5)
    plan = decide(a_suspended_job(), chief, *pods(ps="RR"))
    assert deleted_names(plan, "Pod") == ["j-ps-0", "j-ps-1"]


def test_a_container_that_waits_for_its_restart_is_not_awaited() -> None:
    chief = a_pod("chief", waiting=("CrashLoopBackOff", ""), restarts=3)
    plan = decide(a_suspended_job(), chief, *pods(ps="RR"))
    assert deleted_names(plan, "Pod") == ["j-chief-0", "j-ps-0", "j-ps-1"]


def test_a_running_container_is_awaited() -> None:
    plain = a_pod("chief", deleted=-5)
    own = ContainerStatus(name="tensorflow", state=ContainerState(running=Running()))
    status = msgspec.structs.replace(plain.status, container_statuses=[own])
    chief = Pod(metadata=plain.metadata, spec=plain.spec, status=status)
    assert deleted_names(decide(a_suspended_job(), chief, *pods(ps="RR")), "Pod") == []


def test_parameter_servers_that_have_ended_do_not_wait() -> None:
    plan = decide(a_suspended_job(), *pods(chief="R", ps="FR"))
    assert deleted_names(plan, "Pod") == ["j-chief-0", "j-ps-0"]


def test_an_evaluator_does_not_use_parameter_servers() -> None:
    plan = decide(a_suspended_job("C1 P1 E1"), *pods(ps="R", evaluator="R"))
    assert deleted_names(plan, "Pod") == ["j-ps-0", "j-evaluator-0"]


def test_without_parameter_servers_everything_ends_at_once() -> None:
    plan = decide(a_suspended_job("C1 W2"), *pods(chief="R", worker="RR"))
    assert deleted_names(plan, "Pod") == ["j-chief-0", "j-worker-0", "j-worker-1"]
    assert len(deleted_names(plan, "Service")) == 3


def test_a_deadline_ends_the_workers_first_and_counts_what_still_runs() -> None:
    start = {"startTime": time.render(at(-100)), "replicaStatuses": {"PS": {"active": 1}}}
    policy = {"activeDeadlineSeconds": 10}
    job = a_job("C1 P1", run_policy=policy, status=start)
    plan = decide(job, *pods(chief="R", ps="R"))
    assert [(each.name, each.rule) for each in plan.deletes] == [
        ("j-chief-0", Rule.ACTIVE_DEADLINE)
    ]
    after = status_after(job, plan)
    assert after.is_true(ConditionType.FAILED)
    assert (after.of("Chief").active, after.of("PS").active) == (0, 1)


def test_a_finished_job_deletes_its_parameter_servers_when_the_workers_have_ended() -> None:
    job = a_job("C1 P1 W1", run_policy={"cleanPodPolicy": "Running"}, status=DONE)
    first = decide(job, *pods(chief="F", ps="R", worker="R"))
    assert deleted_names(first, "Pod") == ["j-worker-0"]
    last = decide(job, *pods(chief="F", ps="R", worker="F"))
    assert deleted_names(last, "Pod") == ["j-ps-0"]


def test_an_expired_job_is_deleted_only_when_it_has_ended_in_order() -> None:
    policy = {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 0}
    status = {**DONE, "completionTime": time.render(at(-1))}
    job = a_job("C1 P1", run_policy=policy, status=status)
    waiting = decide(job, *pods(chief="T", ps="R"))
    assert (waiting.deletes_job, waiting.requeue_at) == (False, at(25 + MARGIN))
    assert decide(job, *pods(ps="R")).deletes_job


def test_batch_jobs_of_parameter_servers_end_after_those_of_the_others() -> None:
    job = a_job("C1 P1 W1", run_policy={"cleanPodPolicy": "All"}, status=DONE)
    job = msgspec.structs.replace(job, workload=Workload.JOB)
    batch_jobs = [a_batch_job(role) for role in ("chief", "ps", "worker")]
    owned = {role: a_pod(role, owner=f"uid-j-{role}-0") for role in ("ps", "worker")}
    first = decide(job, *owned.values(), jobs=batch_jobs)
    assert deleted_names(first, "Pod") == ["j-worker-0"]
    assert deleted_names(first, "Job") == ["j-chief-0", "j-worker-0"]
    last = decide(job, owned["ps"], jobs=[a_batch_job("ps")])
    assert (deleted_names(last, "Pod"), deleted_names(last, "Job")) == (["j-ps-0"], ["j-ps-0"])


@pytest.mark.parametrize("worker", ["R", "T"])
def test_a_resume_does_not_disturb_the_end_of_the_run_before(worker: str) -> None:
    running, resting = manifest("C1 P1 W1"), manifest("C1 P1 W1", run_policy={"suspend": True})
    passes = Passes(running)
    passes.go()
    passes.go(*pods(chief="R", ps="R", worker="R"), now=at(1))
    passes.edit(resting)
    passes.go(*pods(chief="R", ps="R", worker="R"), now=at(2))
    passes.edit(running)
    for seconds in (3, 4):  # stored with the resumption, and later
        plan = passes.go(*pods(chief="T", ps="R", worker=worker), now=at(seconds))
        assert deleted_names(plan, "Pod") == (["j-worker-0"] if worker == "R" else [])
        assert created_names(plan, "Pod") == []
    plan = passes.go(*pods(ps="R"), now=at(9))
    assert [(each.name, each.rule) for each in plan.deletes] == [("j-ps-0", Rule.SUPERSEDED)]
    assert created_names(plan, "Pod") == ["j-chief-0", "j-worker-0"]
    fresh = [a_pod("chief", uid="new-chief"), a_pod("worker", uid="new-worker")]
    assert created_names(passes.go(*fresh, now=at(10)), "Pod") == ["j-ps-0"]


def test_a_pod_whose_deletion_is_refused_does_not_keep_them_for_ever() -> None:
    """A finished job, of which the API server refuses to delete the worker."""
    policy = {"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 60}
    status = {**DONE, "completionTime": time.render(at(0))}
    job = a_job("C1 P1 W1", run_policy=policy, status=status)
    found = pods(chief="F", ps="R", worker="R")
    assert decide(job, *found, now=at(60)).requeue_at == at(60 + RECHECK)
    waiting = decide(job, *found, now=at(REFUSED - 1))
    assert (waiting.deletes_job, waiting.requeue_at) == (False, at(REFUSED))
    assert deleted_names(waiting, "Pod") == ["j-chief-0", "j-worker-0"]
    assert decide(job, *found, now=at(REFUSED)).deletes_job


def test_a_suspended_job_does_not_keep_them_for_ever_either() -> None:
    given = manifest("C1 P1", run_policy={"suspend": True})
    passes = Passes(given)
    for seconds, expected in (
        (0, ["j-chief-0"]),
        (REFUSED - 1, ["j-chief-0"]),
        (REFUSED, ["j-chief-0", "j-ps-0"]),
    ):
        plan = passes.go(*pods(chief="R", ps="R"), now=at(seconds))
        assert deleted_names(plan, "Pod") == expected
    # A suspension long after an earlier one is awaited as the first one was.
    passes.edit(manifest("C1 P1"))
    passes.go(now=at(2 * REFUSED))
    passes.edit(given)
    plan = passes.go(*pods(chief="R", ps="R"), now=at(9 * REFUSED))
    assert deleted_names(plan, "Pod") == ["j-chief-0"]


def test_a_pod_whose_deletion_has_begun_is_awaited_however_late() -> None:
    status = {**DONE, "completionTime": time.render(at(-2 * REFUSED))}
    job = a_job("C1 P1", run_policy={"cleanPodPolicy": "All"}, status=status)
    assert deleted_names(decide(job, *pods(chief="T", ps="R")), "Pod") == []
