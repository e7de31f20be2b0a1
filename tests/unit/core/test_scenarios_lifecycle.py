"""Scenarios: how a job is created, runs and finishes."""

import pytest

from tests.support.builders import (
    NOW,
    Passes,
    a_job,
    a_pod,
    a_service,
    at,
    conditions_of,
    created_names,
    decide,
    decoded,
    events_of,
    manifest,
    pods,
    replica_spec,
    status_after,
)
from tfjob.core.plan import Plan
from tfjob.core.status import JobStatus, ReplicaStatus

W4_P2 = ["j-ps-0", "j-ps-1", "j-worker-0", "j-worker-1", "j-worker-2", "j-worker-3"]


def both(plan: Plan) -> tuple[list[str], list[str]]:
    """Names of the pods and of the services to create."""
    return created_names(plan, "Pod"), created_names(plan, "Service")


def counts(status: JobStatus) -> dict[str, tuple[int, int, int]]:
    """Active, succeeded and failed pods by type."""
    return {
        kind: (each.active, each.succeeded, each.failed) for kind, each in status.replicas.items()
    }


@pytest.mark.scenario(41)
def test_a_new_job_gets_a_pod_and_a_service_and_is_created() -> None:
    job = a_job("W1")
    plan = decide(job)
    assert both(plan) == (["j-worker-0"], ["j-worker-0"])
    status = status_after(job, plan)
    assert conditions_of(status) == ["Created"]
    selector = status.of("Worker").selector
    assert status.replicas == {"Worker": ReplicaStatus(selector=selector)}


@pytest.mark.scenario(42)
def test_a_new_distributed_job_gets_one_pod_and_one_service_per_replica() -> None:
    job = a_job("W4 P2")
    plan = decide(job)
    assert both(plan) == (W4_P2, W4_P2)
    assert counts(status_after(job, plan)) == {"PS": (0, 0, 0), "Worker": (0, 0, 0)}
    assert plan.deletes == []


@pytest.mark.scenario(43)
def test_pending_pods_make_nothing_new_and_nothing_running() -> None:
    job = a_job("W4 P2")
    plan = decide(job, *pods(worker="PPPP", ps="PP"))
    assert both(plan) == ([], [])
    status = status_after(job, plan)
    assert counts(status) == {"PS": (0, 0, 0), "Worker": (0, 0, 0)}
    assert conditions_of(status) == ["Created"]


@pytest.mark.scenario(44)
def test_running_pods_are_counted_and_make_the_job_running() -> None:
    job = a_job("W4 P2")
    plan = decide(job, *pods(worker="RRRR", ps="RR"))
    assert both(plan) == ([], [])
    status = status_after(job, plan)
    assert counts(status) == {"PS": (2, 0, 0), "Worker": (4, 0, 0)}
    assert conditions_of(status) == ["Created", "Running"]
    running = status.conditions[-1]
    assert (running.reason, running.message) == ("TFJobRunning", "TFJob n/j is running.")
    assert status.start_time == NOW


@pytest.mark.scenario(45)
def test_missing_children_are_created_beside_pending_ones() -> None:
    job = a_job("W4 P2")
    plan = decide(job, *pods(worker="PP", ps="P"))
    missing = ["j-ps-1", "j-worker-2", "j-worker-3"]
    assert both(plan) == (missing, missing)
    assert counts(status_after(job, plan)) == {"PS": (0, 0, 0), "Worker": (0, 0, 0)}


@pytest.mark.scenario(46)
def test_one_running_worker_makes_the_job_running_while_others_are_created() -> None:
    job = a_job("W4 P2")
    plan = decide(job, *pods(worker="PPR", ps="P"))
    assert both(plan) == (["j-ps-1", "j-worker-3"], ["j-ps-1", "j-worker-3"])
    status = status_after(job, plan)
    assert counts(status) == {"PS": (0, 0, 0), "Worker": (1, 0, 0)}
    assert conditions_of(status) == ["Created", "Running"]


@pytest.mark.scenario(47)
def test_a_success_without_exit_status_is_counted_but_does_not_end_the_job() -> None:
    job = a_job("W4 P2")
    plan = decide(job, *pods(worker="sPP", ps="P"))
    assert both(plan) == (["j-ps-1", "j-worker-3"], ["j-ps-1", "j-worker-3"])
    status = status_after(job, plan)
    assert counts(status)["Worker"] == (0, 1, 0)
    assert conditions_of(status) == ["Created"]


@pytest.mark.scenario(48)
def test_when_all_pods_have_succeeded_the_job_has_succeeded() -> None:
    job = a_job("W4 P2")
    plan = decide(job, *pods(worker="ssss", ps="ss"))
    assert both(plan) == ([], [])
    status = status_after(job, plan)
    assert counts(status) == {"PS": (0, 2, 0), "Worker": (0, 4, 0)}
    assert conditions_of(status) == ["Created", "Succeeded"]
    assert status.conditions[-1].reason == "TFJobSucceeded"
    assert status.completion_time == NOW


@pytest.mark.scenario(50)
def test_a_job_of_one_worker_runs_to_its_end_and_tells_about_it() -> None:
    passes = Passes(manifest("W1"))
    assert both(passes.go()) == (["j-worker-0"], ["j-worker-0"])
    assert events_of(passes.go(*pods(worker="R"), now=at(1))) == []
    assert passes.conditions == ["Created", "Running"]
    plan = passes.go(*pods(worker="S"), now=at(9))
    assert passes.conditions == ["Created", "Running=F", "Succeeded"]
    assert events_of(plan) == [
        ("Normal", "ExitedWithCode", "Pod: n.j-worker-0 exited with code 0"),
        ("Normal", "TFJobSucceeded", "TFJob n/j successfully completed."),
    ]
    status = passes.job.status
    assert (status.start_time, status.completion_time) == (NOW, at(9))


@pytest.mark.scenario(50)
def test_the_status_after_success_is_the_worked_object_of_the_contract() -> None:
    passes = Passes(manifest("C1 W1"))
    passes.go()
    passes.go(*pods(chief="R", worker="R"), now=at(1))
    passes.go(*pods(chief="S", worker="S"), now=at(2))
    shown = [
        (each.type, each.status, each.reason, each.message, each.last_update, each.last_transition)
        for each in passes.job.status.conditions
    ]
    done = "TFJob n/j successfully completed."
    assert shown == [
        ("Created", "True", "TFJobCreated", "TFJob j is created.", NOW, NOW),
        ("Running", "False", "TFJobRunning", "TFJob n/j is running.", at(2), at(2)),
        ("Succeeded", "True", "TFJobSucceeded", done, at(2), at(2)),
    ]
    assert counts(passes.job.status) == {"Chief": (0, 1, 0), "Worker": (0, 1, 0)}


@pytest.mark.scenario(51)
def test_a_smoke_job_with_all_roles_succeeds_with_seven_of_each_made() -> None:
    passes = Passes(manifest("C1 P2 W4"))
    created = both(passes.go())
    assert [len(names) for names in created] == [7, 7]
    passes.go(*pods(chief="R", ps="RR", worker="RRRR"), now=at(1))
    passes.go(*pods(chief="S", ps="RR", worker="SSSS"), now=at(2))
    assert passes.conditions == ["Created", "Running=F", "Succeeded"]


@pytest.mark.scenario(52)
def test_three_independent_workers_succeed() -> None:
    passes = Passes(manifest("W3"))
    passes.go()
    passes.go(*pods(worker="RRR"), now=at(1))
    passes.go(*pods(worker="RSS"), now=at(2))
    assert passes.conditions == ["Created", "Running"]
    passes.go(*pods(worker="SSS"), now=at(3))
    assert passes.conditions == ["Created", "Running=F", "Succeeded"]


@pytest.mark.scenario(53)
def test_the_end_of_the_chief_ends_the_job_while_workers_run() -> None:
    given = manifest("C1 W4")
    given["spec"]["tfReplicaSpecs"]["Ps"] = replica_spec(2)
    job = decoded(given)
    status = status_after(job, decide(job, *pods(chief="S", ps="RR", worker="RRRR")))
    assert conditions_of(status) == ["Created", "Succeeded"]
    assert counts(status)["PS"] == (0, 2, 0)


@pytest.mark.scenario(54)
def test_the_end_of_worker_0_ends_a_job_without_chief() -> None:
    job = a_job("P2 W4")
    status = status_after(job, decide(job, *pods(ps="RR", worker="SRRR")))
    assert conditions_of(status) == ["Created", "Succeeded"]


def test_children_are_created_in_a_fixed_order_and_services_before_pods() -> None:
    plan = decide(a_job("E1 W1 P1 C1"))
    order = ["j-chief-0", "j-ps-0", "j-worker-0", "j-evaluator-0"]
    assert [each.kind for each in plan.creates] == ["Service"] * 4 + ["Pod"] * 4
    assert [each.name for each in plan.creates] == order + order


def test_a_service_deleted_by_a_user_is_recreated_while_the_job_runs() -> None:
    found = pods(worker="RR")
    plan = decide(a_job("W2"), *found, services=[a_service("worker", 1)])
    assert both(plan) == ([], ["j-worker-0"])


def test_a_lost_created_condition_comes_back_first() -> None:
    stored = {"conditions": [{"type": "Running", "status": "True", "reason": "TFJobRunning"}]}
    job = a_job("W1", status=stored)
    status = status_after(job, decide(job, *pods(worker="R")))
    assert conditions_of(status) == ["Created", "Running"]


def test_a_reconcile_over_a_settled_job_asks_for_nothing() -> None:
    passes = Passes(manifest("W2 P1"))
    passes.go()
    passes.go(*pods(worker="RR", ps="R"), now=at(1))
    plan = passes.go(*pods(worker="RR", ps="R"), now=at(60))
    assert plan.is_empty
    assert (plan.requeue_at, plan.events) == (None, [])


@pytest.mark.parametrize("roles", ["P2", "E1", "P1 E1"])
def test_a_job_of_servers_and_evaluators_runs_and_ends_with_all_of_them(roles: str) -> None:
    passes = Passes(manifest(roles))
    passes.go()
    kinds = [replica.label for replica in passes.job.replicas]
    counts_by_kind = {replica.label: replica.count for replica in passes.job.replicas}
    passes.go(*pods(**{kinds[0]: "R" * counts_by_kind[kinds[0]]}), now=at(1))
    assert passes.conditions == ["Created", "Running"]
    passes.go(*pods(**{kind: "S" * counts_by_kind[kind] for kind in kinds}), now=at(2))
    assert passes.conditions == ["Created", "Running=F", "Succeeded"]


@pytest.mark.parametrize("roles", ["W0", "C0 P1", "W0 P1"])
def test_a_deciding_type_without_replicas_counts_as_absent(roles: str) -> None:
    job = a_job(roles)
    found = pods(ps="R") if "P1" in roles else []
    status = status_after(job, decide(job, *found))
    assert conditions_of(status) == (["Created", "Running"] if found else ["Created"])


@pytest.mark.scenario("R36")
def test_a_type_without_replicas_gets_no_pod_and_no_service() -> None:
    plan = decide(a_job("W2 P0 E0"))
    assert both(plan) == (["j-worker-0", "j-worker-1"], ["j-worker-0", "j-worker-1"])


def test_a_deleted_job_is_left_to_the_garbage_collector() -> None:
    given = manifest("W1")
    given["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    plan = decide(decoded(given), *pods(worker="F"))
    assert plan == Plan()


def test_an_exit_is_reported_once_per_pod_and_container_start() -> None:
    passes = Passes(manifest("P1 W2", restart="Never"))
    first = passes.go(*pods(ps="R", worker="RS"))
    assert [each.reason for each in first.events] == ["ExitedWithCode"]
    again = passes.go(*pods(ps="R", worker="RS"), now=at(5))
    assert again.events == []


def test_an_exit_code_of_a_failed_pod_keeps_its_key_over_passes() -> None:
    job = a_job("W2", enableDynamicWorker=True)
    found = pods(worker="RF")
    keys = [decide(job, *found, now=at(seconds)).events[0].key for seconds in (0, 30)]
    assert keys[0] == keys[1]
    restarted = a_pod("worker", 1, "Failed", exit_code=1, ran=(-20, -1))
    assert decide(job, found[0], restarted).events[0].key != keys[0]
