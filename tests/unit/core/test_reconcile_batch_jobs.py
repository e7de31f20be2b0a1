"""Jobs whose replicas run as batch Jobs and whose chief alone is decisive."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    NOW,
    a_batch_job,
    a_job,
    a_pod,
    a_service,
    at,
    conditions_of,
    created_names,
    decide,
    deleted_names,
    status_after,
    stored,
)
from tfjob.core.exit_codes import ExitCodes
from tfjob.core.job import Job, SuccessCriterion, Workload
from tfjob.core.plan import Plan
from tfjob.k8s.child_types import BatchJob
from tfjob.k8s.pod import Pod

CODES = ExitCodes(at_least=128, permanent_reasons=frozenset({"OOMKilled"}))
ROLES = {"chief": 1, "ps": 2, "worker": 1}
SERVICES = [a_service(role, index) for role, count in ROLES.items() for index in range(count)]


def chief_job(
    roles: str = "C1 P2 W1", *, chief: tuple[str, int] = ("Chief", 0), **fields: Any
) -> Job:
    """A job as the oldest dialect reads it."""
    job = a_job(roles, restart="OnFailure", **fields)
    semantics = msgspec.structs.replace(
        job.semantics,
        success_criterion=SuccessCriterion(types=(chief[0],), index=chief[1]),
        exit_codes=CODES,
        only_decisive_replica_fails_job=True,
    )
    return msgspec.structs.replace(job, semantics=semantics, workload=Workload.JOB)


def jobs_of(**succeeded: int) -> list[BatchJob]:
    """All batch Jobs of C1 P2 W1; those named have succeeded."""
    return [
        a_batch_job(role, index, succeeded=succeeded.get(role, 0))
        for role, count in ROLES.items()
        for index in range(count)
    ]


def look(job: Job, *found: Pod, jobs: list[BatchJob] | None = None, **children: Any) -> Plan:
    jobs = jobs_of() if jobs is None else jobs
    return decide(job, *found, jobs=jobs, **{"services": SERVICES, **children})


def verdict(plan: Plan, job: Job) -> list[str]:
    return conditions_of(status_after(job, plan))


def a_batch_pod(role: str, code: int, reason: str = "", **fields: Any) -> Pod:
    """A pod that a batch Job made, under a name of its own."""
    name = fields.pop("name", f"j-{role}-0-x5x5x")
    return a_pod(role, 0, exit_code=code, reason=reason, name=name, **fields)


def test_a_new_job_gets_batch_jobs_and_services_and_no_pods() -> None:
    plan = look(chief_job(), jobs=[], services=[])
    names = ["j-chief-0", "j-ps-0", "j-ps-1", "j-worker-0"]
    assert created_names(plan, "Job") == names
    assert created_names(plan, "Service") == names
    assert created_names(plan, "Pod") == []


def test_batch_jobs_without_pods_are_running() -> None:
    job = chief_job()
    plan = look(job)
    assert verdict(plan, job) == ["Created", "Running"]
    assert [status_after(job, plan).of(kind).active for kind in ("Chief", "PS", "Worker")] == [
        1,
        2,
        1,
    ]


def test_the_chiefs_success_ends_the_job_and_the_others_stay() -> None:
    job = chief_job()
    plan = look(job, jobs=jobs_of(chief=1))
    assert verdict(plan, job) == ["Created", "Succeeded"]
    job = stored(job, plan)
    assert look(job, jobs=jobs_of(chief=1)).deletes == []


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        pytest.param(1, "Error", ["Created", "Failed"], id="permanent"),
        pytest.param(137, "Error", ["Created", "Running"], id="retryable"),
        pytest.param(137, "OOMKilled", ["Created", "Failed"], id="out-of-memory"),
        pytest.param(0, "Completed", ["Created", "Succeeded"], id="success"),
    ],
)
def test_the_chiefs_end_decides(code: int, reason: str, expected: list[str]) -> None:
    job = chief_job()
    plan = look(job, a_batch_pod("chief", code, reason))
    assert verdict(plan, job) == expected
    assert plan.deletes == []


def test_a_failed_chief_is_counted_and_named() -> None:
    job = chief_job()
    status = status_after(job, look(job, a_batch_pod("chief", 1)))
    assert status.of("Chief").failed == 1
    message = status.conditions[-1].message
    assert message == "TFJob n/j has failed because 1 Chief replica(s) failed."
    assert status.completion_time == NOW


@pytest.mark.parametrize("role", ["worker", "ps"])
def test_the_failure_of_another_replica_is_shown_and_the_job_runs_on(role: str) -> None:
    job = chief_job()
    plan = look(job, a_batch_pod(role, 1))
    assert verdict(plan, job) == ["Created", "Running"]
    assert status_after(job, plan).of({"worker": "Worker", "ps": "PS"}[role]).failed == 1
    assert (plan.creates, plan.deletes, plan.replaced) == ([], [], 0)


def test_the_newest_of_two_pods_of_the_chief_counts() -> None:
    job = chief_job()
    old = a_batch_pod("chief", 137, created=-100, name="old")
    new = a_batch_pod("chief", 100, created=-10, name="new")
    assert verdict(look(job, new, old), job) == ["Created", "Failed"]


def test_a_permanent_end_of_the_chief_counts_although_another_pod_was_created() -> None:
    job = chief_job()
    old = a_batch_pod("chief", 2, created=-100, name="old")
    new = a_pod("chief", 0, name="new", created=-10, restarts=1, waiting=("Starting", ""))
    assert verdict(look(job, old, new), job) == ["Created", "Failed"]


def test_a_chosen_worker_decides_while_another_runs() -> None:
    job = chief_job("W2", chief=("Worker", 1))
    jobs = [a_batch_job("worker", 0), a_batch_job("worker", 1, succeeded=1)]
    assert verdict(look(job, jobs=jobs), job) == ["Created", "Succeeded"]


def test_while_the_chief_is_unknown_nothing_is_said_of_the_job() -> None:
    job = chief_job("W2", chief=("Worker", 0))
    plan = look(job, jobs=[a_batch_job("worker", 1)])
    assert verdict(plan, job) == ["Created"]
    assert created_names(plan, "Job") == ["j-worker-0"]


def test_a_deleted_batch_job_and_a_deleted_service_come_again() -> None:
    plan = look(chief_job(), jobs=jobs_of()[1:], services=SERVICES[1:])
    assert created_names(plan, "Job") == ["j-chief-0"]
    assert created_names(plan, "Service") == ["j-chief-0"]


@pytest.mark.parametrize("phase", ["Running", "Failed"])
def test_pods_left_behind_by_a_deleted_batch_job_mean_nothing(phase: str) -> None:
    job = chief_job()
    leaving = a_pod("chief", 0, phase, exit_code=1, name="left", deleted=-5)
    plan = look(job, leaving, jobs=jobs_of()[1:])
    assert verdict(plan, job) == ["Created"]
    assert [each.reason for each in plan.events] == []


def test_a_pod_of_a_batch_job_on_its_way_out_restarts_nothing() -> None:
    job = chief_job()
    leaving = a_pod("worker", 0, name="j-worker-0-x", deleted=-5, waiting=("Starting", ""))
    plan = look(job, leaving)
    assert verdict(plan, job) == ["Created", "Running"]
    assert (plan.deletes, plan.events) == ([], [])


def test_a_replica_whose_success_was_stored_is_not_run_again() -> None:
    job = chief_job()
    job = stored(job, look(job, jobs=jobs_of(worker=1)))
    plan = look(job, jobs=jobs_of()[:-1], now=at(1))
    assert created_names(plan, "Job") == []
    assert status_after(job, plan).of("Worker").succeeded == 1


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("None", []),
        ("Running", ["j-ps-0", "j-ps-1", "j-worker-0"]),
        ("All", ["j-chief-0", "j-ps-0", "j-ps-1", "j-worker-0"]),
    ],
)
def test_clean_up_takes_batch_jobs_with_their_services(policy: str, expected: list[str]) -> None:
    job = chief_job(run_policy={"cleanPodPolicy": policy})
    jobs = jobs_of(chief=1)
    job = stored(job, look(job, jobs=jobs))
    plan = look(job, jobs=jobs, now=at(1))
    assert deleted_names(plan, "Job") == expected
    assert deleted_names(plan, "Service") == expected


def test_a_suspended_job_owns_no_batch_job() -> None:
    plan = look(chief_job(run_policy={"suspend": True}))
    assert deleted_names(plan, "Job") == ["j-chief-0", "j-ps-0", "j-ps-1", "j-worker-0"]


def test_a_finished_job_gets_nothing_again() -> None:
    job = chief_job()
    job = stored(job, look(job, jobs=jobs_of(chief=1)))
    assert look(job, jobs=[], services=[]).creates == []
