"""Jobs with a sole decisive replica, recreated pods and a backoffLimit that only stops restarts."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    NOW,
    a_job,
    a_pod,
    a_service,
    at,
    conditions_of,
    created_names,
    decide,
    deleted_names,
    pods,
    services_of,
    status_after,
    stored,
)
from tfjob.core.exit_codes import ExitCodes
from tfjob.core.job import Companion, Job, ReplicaType, RestartPolicy, SuccessCriterion
from tfjob.core.status import ReplicaStatus
from tfjob.k8s.child_types import CompanionObject
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerState, ContainerStatus, Running

CODES = ExitCodes(retryable=frozenset({130, 137, 138, 143}))


def a_replica(found: ReplicaType) -> ReplicaType:
    return msgspec.structs.replace(
        found,
        pod_restart_policy="Never",
        restarts_on_success=found.restart is RestartPolicy.ALWAYS,
    )


def master_job(roles: str, restart: str = "OnFailure", **fields: Any) -> Job:
    """A job as the dialect with a master reads it."""
    job = a_job(roles, restart=restart, **fields)
    kinds = [replica.type for replica in job.replicas]
    semantics = msgspec.structs.replace(
        job.semantics,
        success_criterion=SuccessCriterion(
            types=("Chief" if "Chief" in kinds else "Worker",), index=0
        ),
        exit_codes=CODES,
        only_decisive_replica_fails_job=True,
        backoff_limit_fails_job=False,
        backoff_limit_counts_container_restarts=False,
        never_policy_survives_disruption=True,
        success_before_deadline=True,
        success_before_suspension=True,
        suspend_keeps_services=True,
        counts_evictions=True,
        max_restart_delay=timedelta(seconds=360),
    )
    return msgspec.structs.replace(
        job, semantics=semantics, replicas=[a_replica(each) for each in job.replicas]
    )


def conditions_after(job: Job, **letters: str) -> list[str]:
    return conditions_of(status_after(job, decide(job, *pods(**letters))))


def test_the_end_of_worker_0_ends_a_job_without_chief() -> None:
    assert conditions_after(master_job("W2"), worker="SR") == ["Created", "Succeeded"]


def test_beside_a_chief_worker_0_decides_nothing() -> None:
    job = master_job("C1 W2", "Never")
    assert conditions_after(job, chief="R", worker="SR") == ["Created", "Running"]
    assert conditions_after(job, chief="R", worker="FF") == ["Created", "Running"]


@pytest.mark.parametrize("policy", ["Never", "ExitCode"])
def test_a_permanent_failure_of_the_master_fails_the_job(policy: str) -> None:
    job = master_job("W2", policy)
    plan = decide(job, *pods(worker="FR"))
    assert status_after(job, plan).is_true("Failed")
    assert status_after(job, plan).restarts == 0
    assert plan.deletes == []


@pytest.mark.parametrize("policy", ["Never", "ExitCode"])
def test_a_permanent_failure_of_another_leaves_the_job_running(policy: str) -> None:
    job = master_job("W3", policy)
    plan = decide(job, *pods(worker="RRF"))
    assert (plan.deletes, created_names(plan, "Pod")) == ([], [])
    job = stored(job, plan)
    assert conditions_of(job.status) == ["Created", "Running"]
    job = stored(job, decide(job, *pods(worker="SRF")))
    assert conditions_of(job.status) == ["Created", "Running=F", "Succeeded"]


@pytest.mark.parametrize(
    ("code", "is_restarted"),
    [(130, True), (137, True), (138, True), (143, True), (1, False), (134, False), (255, False)],
)
def test_only_four_exit_codes_are_worth_a_restart(code: int, is_restarted: bool) -> None:
    plan = decide(master_job("W1", "ExitCode"), a_pod("worker", 0, "Failed", exit_code=code))
    assert bool(plan.deletes) is is_restarted


def test_a_failed_pod_is_recreated_and_counted_once() -> None:
    job = master_job("W2")
    failed = a_pod("worker", 0, "Failed", exit_code=1, uid="old", restarts=5)
    plan = decide(job, failed, *pods(worker="-R"))
    assert plan.writes_status_first
    assert [(each.name, each.uid) for each in plan.deletes] == [("j-worker-0", "old")]
    job = stored(job, plan)
    assert job.status.of("Worker").restarts == 1
    again = decide(job, failed, *pods(worker="-R"), now=at(1))
    assert deleted_names(again, "Pod") == ["j-worker-0"]
    assert status_after(job, again).of("Worker").restarts == 1
    assert again.replaced == 0
    plan = decide(job, *pods(worker="-R"), now=at(2))
    assert created_names(plan, "Pod") == ["j-worker-0"]


def test_a_plan_without_a_new_status_is_not_status_first() -> None:
    job = master_job("W1")
    job = stored(job, decide(job, *pods(worker="R")))
    assert not decide(job, *pods(worker="R")).writes_status_first


def test_the_shared_backoff_limit_stops_restarts_and_then_the_master_fails_the_job() -> None:
    job = master_job("W4", run_policy={"backoffLimit": 2})
    for turn, letters in enumerate(["RFRR", "R-RR", "RRFR", "RR-R"]):
        plan = decide(job, *pods(worker=letters), now=at(100 * turn))
        job = stored(job, plan)
        if "F" in letters:
            assert deleted_names(plan, "Pod") == [f"j-worker-{letters.index('F')}"]
    plan = decide(job, *pods(worker="RRRF"), now=at(500))
    assert plan.deletes == []
    job = stored(job, plan)
    assert conditions_of(job.status) == ["Created", "Running"]
    plan = decide(job, *pods(worker="FRRF"), now=at(600))
    job = stored(job, plan)
    assert conditions_of(job.status) == ["Created", "Running=F", "Failed"]
    assert (job.status.restarts, plan.deletes) == (2, [])


def test_a_backoff_limit_of_0_allows_no_restart() -> None:
    job = master_job("W1", run_policy={"backoffLimit": 0})
    plan = decide(job, *pods(worker="F"))
    assert plan.deletes == []
    assert status_after(job, plan).is_true("Failed")


def test_restarts_in_place_do_not_count_towards_backoff_limit() -> None:
    job = master_job("W1", run_policy={"backoffLimit": 1})
    plan = decide(job, a_pod("worker", 0, "Failed", exit_code=1, restarts=7))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]


def test_under_always_a_worker_that_succeeded_is_recreated_but_the_master_ends_the_job() -> None:
    job = master_job("W2", "Always", run_policy={"backoffLimit": 3})
    plan = decide(job, *pods(worker="RS"))
    assert deleted_names(plan, "Pod") == ["j-worker-1"]
    job = stored(job, plan)
    assert job.status.restarts == 1
    plan = decide(job, *pods(worker="R-"), now=at(1))
    assert created_names(plan, "Pod") == ["j-worker-1"]
    job = stored(job, decide(job, *pods(worker="SR"), now=at(2)))
    assert job.status.is_true("Succeeded")
    assert job.status.restarts == 1


def test_under_always_a_success_at_the_backoff_limit_stays() -> None:
    job = master_job("W2", "Always", run_policy={"backoffLimit": 0})
    plan = decide(job, *pods(worker="RS"))
    assert plan.deletes == []
    assert conditions_of(status_after(job, plan)) == ["Created", "Running"]


def test_a_container_that_ended_beside_a_sidecar_is_recreated() -> None:
    sidecar = ContainerStatus(name="proxy", state=ContainerState(running=Running()))
    plan = decide(master_job("W1"), a_pod("worker", 0, exit_code=1, others=[sidecar]))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]


def test_an_evicted_worker_is_restarted_and_counted() -> None:
    job = master_job("W2", "ExitCode")
    plan = decide(job, *pods(worker="R"), a_pod("worker", 1, "Failed", pod_reason="Evicted"))
    assert deleted_names(plan, "Pod") == ["j-worker-1"]
    assert status_after(job, plan).restarts == 1


def test_an_evicted_master_under_never_fails_the_job() -> None:
    job = master_job("W2", "Never")
    plan = decide(job, a_pod("worker", 0, "Failed", pod_reason="Evicted"), *pods(worker="-R"))
    assert status_after(job, plan).is_true("Failed")


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "ExitCode", "Always"])
@pytest.mark.parametrize("index", [0, 1])
def test_a_pod_that_somebody_else_deleted_is_recreated_and_not_counted(
    policy: str, index: int
) -> None:
    job = master_job("W2", policy)
    rest = pods(worker="RR")[1 - index]
    job = stored(job, decide(job, rest, a_pod("worker", index, deleted=-5)))
    killed = a_pod("worker", index, "Failed", exit_code=143, deleted=-5, ran=(-50, -2))
    job = stored(job, decide(job, rest, killed, now=at(1)))
    plan = decide(job, rest, now=at(2))
    assert created_names(plan, "Pod") == [f"j-worker-{index}"]
    job = stored(job, plan)
    assert (job.status.restarts, job.status.is_finished) == (0, False)


def test_the_delay_between_restarts_grows_to_six_minutes() -> None:
    job = master_job("W2")
    moment, delays = 0.0, []
    for turn in range(9):
        failed = a_pod("worker", 1, "Failed", exit_code=1, uid=f"pod-{turn}")
        job = stored(job, decide(job, *pods(worker="R"), failed, now=at(moment)))
        plan = decide(job, *pods(worker="R"), now=at(moment))
        delay = 0.0 if plan.requeue_at is None else (plan.requeue_at - at(moment)).total_seconds()
        delays.append(delay)
        moment += delay
    assert delays == [0, 10, 20, 40, 80, 160, 320, 360, 360]


def overdue(**fields: Any) -> Job:
    """A job whose sixty seconds ended ten seconds ago."""
    started = {"startTime": "2026-01-02T03:02:55Z"}
    return master_job("W2", run_policy={"activeDeadlineSeconds": 60, **fields}, status=started)


def test_at_the_deadline_the_job_fails_and_what_runs_goes() -> None:
    job = overdue()
    plan = decide(job, *pods(worker="RS"))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert status_after(job, plan).is_true("Failed")


@pytest.mark.parametrize(
    ("finished", "end"), [(-15, "Succeeded"), (-10, "Succeeded"), (-8, "Failed")]
)
def test_a_success_within_the_time_counts_although_it_is_seen_later(
    finished: float, end: str
) -> None:
    job = overdue()
    done = a_pod("worker", 0, "Succeeded", exit_code=0, ran=(-60, finished))
    status = status_after(job, decide(job, done, *pods(worker="-R")))
    assert conditions_of(status) == ["Created", end]


@pytest.mark.parametrize("letters", ["RS", "sR", "-R", "FR"])
def test_nothing_else_counts_after_the_deadline(letters: str) -> None:
    job = overdue()
    status = status_after(job, decide(job, *pods(worker=letters)))
    assert conditions_of(status) == ["Created", "Failed"]
    assert status.conditions[-1].message.endswith("longer than specified deadline")


def test_a_success_whose_pod_has_vanished_has_no_time_to_count_by() -> None:
    job = overdue()
    known = msgspec.structs.replace(
        job.status, replicas={"Worker": ReplicaStatus(completed=frozenset({0}))}
    )
    job = msgspec.structs.replace(job, status=known)
    assert status_after(job, decide(job, *pods(worker="-R"))).is_true("Failed")


def test_where_nobody_decides_alone_the_deadline_holds() -> None:
    job = overdue()
    semantics = msgspec.structs.replace(
        job.semantics, success_criterion=SuccessCriterion(types=("Worker",))
    )
    job = msgspec.structs.replace(job, semantics=semantics)
    done = [a_pod("worker", index, "Succeeded", exit_code=0, ran=(-60, -20)) for index in (0, 1)]
    assert status_after(job, decide(job, *done)).is_true("Failed")


@pytest.mark.parametrize(("roles", "kind"), [("C1 W1", "chief"), ("W2", "worker")])
def test_a_job_created_paused_has_services_and_companions_but_no_pods(
    roles: str, kind: str
) -> None:
    board = Companion(kind="Deployment", name="board", manifest={})
    job = msgspec.structs.replace(
        master_job(roles, run_policy={"suspend": True}), companions=[board]
    )
    plan = decide(job)
    assert created_names(plan, "Pod") == []
    assert f"j-{kind}-0" in created_names(plan, "Service")
    assert created_names(plan, "Deployment") == ["board"]
    assert conditions_of(status_after(job, plan)) == ["Created", "Suspended"]


def test_pausing_deletes_all_pods_and_keeps_services_and_counters() -> None:
    job = master_job(
        "W3", run_policy={"suspend": True}, status={"replicaStatuses": {"Worker": {"restarts": 2}}}
    )
    plan = decide(job, *pods(worker="RFS"))
    assert deleted_names(plan, "Pod") == ["j-worker-0", "j-worker-1", "j-worker-2"]
    assert deleted_names(plan, "Service") == []
    assert plan.creates == []
    assert status_after(job, plan).restarts == 2


def test_resuming_makes_pods_for_all_indexes_and_counts_no_restart() -> None:
    paused = master_job("W2", run_policy={"suspend": True})
    paused = stored(paused, decide(paused, *pods(worker="RR")))
    job = msgspec.structs.replace(master_job("W2"), status=paused.status)
    services = services_of(pods(worker="RR"))
    plan = decide(job, now=at(5), services=services)
    assert created_names(plan, "Pod") == ["j-worker-0", "j-worker-1"]
    assert created_names(plan, "Service") == []
    assert status_after(job, plan).restarts == 0


def test_the_masters_success_comes_before_a_pause() -> None:
    job = master_job("W2", run_policy={"suspend": True})
    plan = decide(job, *pods(worker="SR"))
    assert conditions_of(status_after(job, plan)) == ["Created", "Succeeded"]
    assert plan.deletes == []


def test_a_success_after_the_deadline_does_not_come_before_a_pause() -> None:
    job = overdue(suspend=True)
    late = a_pod("worker", 0, "Succeeded", exit_code=0, ran=(-60, -1))
    status = status_after(job, decide(job, late, *pods(worker="-R")))
    assert conditions_of(status) == ["Created", "Suspended"]


def test_a_master_that_exits_well_because_of_the_pause_has_not_succeeded() -> None:
    job = master_job("W1", run_policy={"suspend": True})
    job = stored(job, decide(job, *pods(worker="R")))
    stopped = a_pod("worker", 0, "Succeeded", exit_code=0, deleted=0)
    plan = decide(job, stopped, now=at(5), services=[a_service()])
    assert conditions_of(status_after(job, plan)) == ["Created", "Suspended"]


def test_only_the_master_shows_whether_the_job_runs() -> None:
    assert conditions_after(master_job("W2"), worker="PR") == ["Created"]
    assert conditions_after(master_job("W2"), worker="RP") == ["Created", "Running"]


def test_a_companion_that_is_there_is_not_recreated() -> None:
    board = Companion(kind="Deployment", name="board", manifest={})
    job = msgspec.structs.replace(master_job("W1"), companions=[board])
    there = {("Deployment", "board"): CompanionObject(metadata=ObjectMeta(name="board"))}
    assert created_names(decide(job), "Deployment") == ["board"]
    assert created_names(decide(job, companions=there), "Deployment") == []
    assert status_after(job, decide(job)).start_time == NOW
