"""Scenarios: clean-up of finished and scaled-down jobs, and the TTL."""

from datetime import datetime
from typing import Any

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
    deleted_names,
    manifest,
    pods,
    services_of,
    status_after,
)
from tfjob.core.plan import Plan
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerState, ContainerStatus, Running

W4_P2 = ["j-ps-0", "j-ps-1", "j-worker-0", "j-worker-1", "j-worker-2", "j-worker-3"]


def ended(kind: str = "Succeeded", *, at_time: datetime | None = NOW, **replicas: Any) -> Any:
    """The status of a job that ended then."""
    condition = {
        "type": kind,
        "status": "True",
        "reason": f"TFJob{kind}",
        "lastUpdateTime": time.render(at(1)),
        "lastTransitionTime": time.render(NOW),
    }
    found: dict[str, Any] = {"conditions": [condition], "replicaStatuses": replicas}
    if at_time is not None:
        found["completionTime"] = time.render(at_time)
    return found


def gone(plan: Plan) -> tuple[list[str], list[str]]:
    """Names of the pods and services to delete, sorted."""
    return sorted(deleted_names(plan, "Pod")), sorted(deleted_names(plan, "Service"))


@pytest.mark.scenario("R20", 102)
@pytest.mark.parametrize("policy", ["All", "Running"])
def test_after_success_running_pods_go_with_their_services(policy: str) -> None:
    job = a_job("W4 P2", run_policy={"cleanPodPolicy": policy}, status=ended())
    workers = [name for name in W4_P2 if "worker" in name]
    servers = [name for name in W4_P2 if "ps" in name]
    assert gone(decide(job, *pods(worker="RRRR", ps="RR"))) == (workers, [])
    services = services_of(pods(worker="RRRR", ps="RR"))
    assert gone(decide(job, *pods(ps="RR"), services=services)) == (servers, W4_P2)


@pytest.mark.scenario(103)
@pytest.mark.parametrize("policy", ["Running", "None"])
def test_after_success_pods_that_ended_stay(policy: str) -> None:
    job = a_job("W4 P2", run_policy={"cleanPodPolicy": policy}, status=ended())
    assert gone(decide(job, *pods(worker="SSSS", ps="SS"))) == ([], [])


@pytest.mark.scenario(104)
def test_clean_up_running_keeps_only_what_ended_and_its_service() -> None:
    job = a_job("W2", run_policy={"cleanPodPolicy": "Running"}, status=ended())
    assert gone(decide(job, *pods(worker="SR"))) == (["j-worker-1"], ["j-worker-1"])


@pytest.mark.parametrize("phase", ["Pending", "Unknown", "Mystery"])
def test_clean_up_running_takes_every_pod_that_has_not_ended(phase: str) -> None:
    job = a_job("W1", run_policy={"cleanPodPolicy": "Running"}, status=ended())
    assert gone(decide(job, a_pod("worker", 0, phase))) == (["j-worker-0"], ["j-worker-0"])


@pytest.mark.scenario(105)
def test_after_a_failure_clean_up_none_keeps_everything() -> None:
    job = a_job("W4 P2", status=ended("Failed"))
    plan = decide(job, *pods(worker="FRRR", ps="RR"))
    assert gone(plan) == ([], [])


@pytest.mark.scenario("R10")
def test_after_a_failure_clean_up_running_keeps_the_failed_pod() -> None:
    passes = Passes(manifest("W3", run_policy={"cleanPodPolicy": "Running"}))
    killed = a_pod("worker", 1, "Failed", exit_code=137, reason="OOMKilled")
    verdict = passes.go(*pods(worker="R-P"), killed)
    assert gone(verdict) == ([], [])
    plan = passes.go(*pods(worker="R-P"), killed, now=at(1))
    assert gone(plan) == (["j-worker-0", "j-worker-2"], ["j-worker-0", "j-worker-2"])
    assert passes.job.status.of("Worker").active == 0
    assert passes.job.status.of("Worker").failed == 1


@pytest.mark.scenario(106)
@pytest.mark.parametrize("policy", ["Running", "None", "All"])
def test_suspension_removes_everything_under_every_policy(policy: str) -> None:
    job = a_job("W2", run_policy={"suspend": True, "cleanPodPolicy": policy})
    names = ["j-worker-0", "j-worker-1"]
    assert gone(decide(job, *pods(worker="SR"))) == (names, names)


@pytest.mark.scenario(107)
def test_clean_up_all_leaves_no_pod_after_success() -> None:
    passes = Passes(manifest("C1 P2 W4", run_policy={"cleanPodPolicy": "All"}))
    found = pods(chief="S", ps="RR", worker="SSSS")
    passes.go(*found)
    assert gone(passes.go(*found, now=at(1)))[0] == ["j-chief-0", *W4_P2]


@pytest.mark.scenario(108)
def test_clean_up_running_removes_only_servers_that_never_end() -> None:
    passes = Passes(manifest("C1 P2 W4", run_policy={"cleanPodPolicy": "Running"}))
    found = pods(chief="S", ps="RR", worker="SSSS")
    passes.go(*found)
    assert gone(passes.go(*found, now=at(1)))[0] == ["j-ps-0", "j-ps-1"]


@pytest.mark.scenario(109)
@pytest.mark.parametrize("policy", [{"cleanPodPolicy": "None"}, {}])
def test_clean_up_none_leaves_servers_running_and_counts_them(policy: dict[str, str]) -> None:
    passes = Passes(manifest("C1 P2 W4", run_policy=policy))
    found = pods(chief="S", ps="RR", worker="SSSS")
    passes.go(*found)
    assert gone(passes.go(*found, now=at(1))) == ([], [])
    servers = passes.job.status.of("PS")
    assert (servers.active, servers.succeeded) == (0, 2)
    assert passes.go(*found, now=at(2)).is_empty


def test_a_service_without_its_pod_goes_too_when_pods_are_cleaned_up() -> None:
    job = a_job("W2", run_policy={"cleanPodPolicy": "Running"}, status=ended())
    services = [a_service("worker", 0), a_service("worker", 1)]
    assert gone(decide(job, *pods(worker="S"), services=services)) == ([], ["j-worker-1"])


def test_children_on_their_way_out_are_not_deleted_again() -> None:
    job = a_job("W1", run_policy={"cleanPodPolicy": "All"}, status=ended())
    assert gone(decide(job, *pods(worker="T"))) == ([], [])


def test_a_pod_kept_running_by_a_sidecar_counts_as_running_in_clean_up() -> None:
    job = a_job("W1", run_policy={"cleanPodPolicy": "Running"}, status=ended())
    beside = ContainerStatus(name="sidecar", state=ContainerState(running=Running()))
    kept = a_pod("worker", 0, "Running", exit_code=0, others=[beside])
    assert gone(decide(job, kept))[0] == ["j-worker-0"]


@pytest.mark.scenario(141)
@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ("Running", ended()),
        ("Running", ended("Failed")),
        ("None", {**ended("Failed"), "limitReached": "BackoffLimit"}),
    ],
)
@pytest.mark.parametrize("restart", ["Never", "ExitCode", "OnFailure"])
def test_a_pod_whose_containers_have_ended_stays_though_its_phase_says_running(
    policy: str, status: dict[str, Any], restart: str
) -> None:
    job = a_job("W2", restart=restart, run_policy={"cleanPodPolicy": policy}, status=status)
    over = a_pod("worker", 0, "Running", exit_code=0)
    assert gone(decide(job, over, a_pod("worker", 1)))[0] == ["j-worker-1"]


def test_numbers_of_a_failed_job_stay_but_for_what_clean_up_removes() -> None:
    counts: dict[str, Any] = {"Worker": {"active": 2, "failed": 1}, "PS": {"active": 1}}
    fields = {"run_policy": {"cleanPodPolicy": "None"}, "status": ended("Failed", **counts)}
    job = a_job("W3 P1", **fields)
    plan = decide(job, *pods(worker="RRF", ps="R"))
    assert plan.status is None
    cleaned = a_job("W3 P1", **{**fields, "run_policy": {"cleanPodPolicy": "Running"}})
    status = status_after(cleaned, decide(cleaned, *pods(worker="RRF", ps="R")))
    assert [status.of(kind).active for kind in ("Worker", "PS")] == [0, 1]
    status = status_after(cleaned, decide(cleaned, *pods(worker="--F", ps="R")))
    assert [status.of(kind).active for kind in ("Worker", "PS")] == [0, 0]
    assert status.of("Worker").failed == 1


def test_a_pod_that_clean_up_removes_is_not_active_although_its_service_is_gone() -> None:
    stored = ended("Failed", Worker={"active": 1})
    job = a_job("W1", run_policy={"cleanPodPolicy": "Running"}, status=stored)
    plan = decide(job, *pods(worker="R"), services=[])
    assert status_after(job, plan).of("Worker").active == 0


def test_a_type_that_left_the_spec_of_a_failed_job_has_nothing_active() -> None:
    job = a_job("W1", status=ended("Failed", PS={"active": 2}))
    assert status_after(job, decide(job)).of("PS").active == 0


@pytest.mark.scenario(110, 111, "R11")
@pytest.mark.parametrize("kind", ["Succeeded", "Failed"])
def test_a_finished_job_is_deleted_when_its_ttl_has_expired(kind: str) -> None:
    job = a_job("W1", run_policy={"ttlSecondsAfterFinished": 3}, status=ended(kind))
    early = decide(job, *pods(worker="S"), now=at(2.9))
    assert (early.deletes_job, early.requeue_at) == (False, at(3))
    assert decide(job, *pods(worker="S"), now=at(3)) == Plan(deletes_job=True)
    assert decide(job, now=at(300)).deletes_job


@pytest.mark.scenario(111)
@pytest.mark.parametrize(
    ("policy", "completed", "is_deleted"),
    [
        pytest.param({}, at(-9), False, id="no-time-to-live"),
        pytest.param({"ttlSecondsAfterFinished": 180}, at(-86400), True, id="over-since-long"),
        pytest.param({"ttlSecondsAfterFinished": 0}, NOW, True, id="none-at-all"),
    ],
)
def test_only_a_ttl_that_is_over_deletes_a_finished_job(
    policy: dict[str, int], completed: datetime, is_deleted: bool
) -> None:
    job = a_job("W1", run_policy=policy, status=ended(at_time=completed))
    assert decide(job).deletes_job is is_deleted


@pytest.mark.scenario(111, "R12")
def test_a_suspended_job_with_a_ttl_is_not_deleted() -> None:
    policy = {"ttlSecondsAfterFinished": 10, "suspend": True}
    passes = Passes(manifest("W1", run_policy=policy))
    passes.go(*pods(worker="R"))
    plan = passes.go(now=at(1000))
    assert plan.is_empty
    assert (plan.requeue_at, passes.conditions) == (None, ["Created", "Suspended"])


@pytest.mark.scenario(112)
def test_a_missing_completion_time_is_that_of_the_verdict() -> None:
    policy = {"ttlSecondsAfterFinished": 60}
    job = a_job("W1", run_policy=policy, status=ended(at_time=None))
    plan = decide(job, now=at(5))
    assert status_after(job, plan).completion_time == NOW
    assert plan.requeue_at == at(60)
    assert decide(job, now=at(60)).deletes_job


@pytest.mark.scenario(113)
def test_a_job_is_woken_at_the_end_of_its_ttl_and_only_then() -> None:
    policy = {"ttlSecondsAfterFinished": 5}
    running = a_job("W1", run_policy=policy)
    assert decide(running, *pods(worker="R")).requeue_at is None
    future = a_job("W1", run_policy=policy, status=ended(at_time=at(4)))
    plan = decide(future)
    assert (plan.deletes_job, plan.requeue_at) == (False, at(9))
    endless = a_job("W1", status=ended())
    assert decide(endless).requeue_at is None


def test_a_verdict_is_stored_before_a_ttl_of_0_runs() -> None:
    policy = {"ttlSecondsAfterFinished": 0, "backoffLimit": 0}
    passes = Passes(manifest("W1", restart="OnFailure", run_policy=policy))
    plan = passes.go(*pods(worker="F"))
    assert not plan.deletes_job
    assert passes.conditions == ["Created", "Failed"]
    assert passes.go(*pods(worker="F"), now=at(1)).deletes_job


@pytest.mark.scenario(120, "R35")
@pytest.mark.parametrize("is_dynamic", [True, False])
@pytest.mark.parametrize("surplus", ["R", "K", "T", "S"])
def test_scaling_down_removes_the_surplus_and_nothing_else(surplus: str, is_dynamic: bool) -> None:
    job = a_job("W2", restart="Never", enableDynamicWorker=is_dynamic)
    plan = decide(job, *pods(worker=f"RR{surplus}"))
    expected = [] if surplus == "T" else ["j-worker-2"]
    assert gone(plan) == (expected, expected)
    status = status_after(job, plan)
    assert conditions_of(status) == ["Created", "Running"]
    assert (status.of("Worker").active, status.of("Worker").failed) == (2, 0)


@pytest.mark.scenario(121)
def test_scaling_up_makes_the_missing_workers() -> None:
    job = a_job("W3", enableDynamicWorker=True)
    plan = decide(job, *pods(worker="R"))
    assert created_names(plan, "Pod") == ["j-worker-1", "j-worker-2"]


@pytest.mark.scenario(122)
def test_a_pod_beyond_the_last_index_goes_and_no_gap_is_filled() -> None:
    job = a_job("W3")
    plan = decide(job, *pods(worker="RRR-R"))
    assert gone(plan) == (["j-worker-4"], ["j-worker-4"])
    assert plan.creates == []


def test_children_of_a_type_that_left_the_spec_go() -> None:
    found = pods(worker="R", ps="R")
    plan = decide(a_job("W1"), *found)
    assert gone(plan) == (["j-ps-0"], ["j-ps-0"])


@pytest.mark.scenario("R1")
def test_a_replica_that_succeeded_is_not_run_again_when_its_pod_goes() -> None:
    passes = Passes(manifest("W4", successPolicy="AllWorkers"))
    passes.go(*pods(worker="RRSR"))
    plan = passes.go(*pods(worker="RR-R"), now=at(1))
    assert created_names(plan, "Pod") == []
    assert passes.job.status.of("Worker").succeeded == 1
    passes.go(*pods(worker="SS-S"), now=at(2))
    assert passes.conditions == ["Created", "Running=F", "Succeeded"]


def test_successes_once_stored_end_the_job_although_their_pods_have_vanished() -> None:
    passes = Passes(manifest("P1 W3", successPolicy="AllWorkers"))
    passes.go(*pods(ps="R", worker="SRS"))
    plan = passes.go(*pods(ps="R", worker="-S-"), now=at(1))
    assert created_names(plan, "Pod") == []
    assert passes.conditions == ["Created", "Running=F", "Succeeded"]


def test_a_stored_success_of_worker_0_ends_the_job_although_its_pod_has_vanished() -> None:
    stored = {"replicaStatuses": {"Worker": {"succeeded": 1, "completedIndexes": "0"}}}
    job = a_job("W2", status=stored)
    plan = decide(job, *pods(worker="-R"))
    assert conditions_of(status_after(job, plan)) == ["Created", "Succeeded"]
    assert plan.creates == []


def test_a_deleted_replica_that_had_not_succeeded_is_recreated() -> None:
    passes = Passes(manifest("W2", restart="Never"))
    passes.go(*pods(worker="RR"))
    assert created_names(passes.go(*pods(worker="R"), now=at(1)), "Pod") == ["j-worker-1"]
