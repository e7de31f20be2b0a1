"""Scenarios: disrupted pods, whatever their exit code, and how long a failed pod is kept."""

import msgspec
import pytest

from tests.support.builders import (
    Passes,
    a_pod,
    at,
    created_names,
    deleted_names,
    manifest,
    pods,
)
from tfjob.k8s.pod import Pod, PodCondition

TARGET = PodCondition(type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI")
RESTARTED = ["OnFailure", "Always", "ExitCode"]


def kubelets_last_word(pod: Pod, *, seconds: float) -> Pod:
    """The pod as a kubelet leaves it: the deletion moved to now, without any grace."""
    gone = a_pod("worker", 0, deleted=seconds, grace=0).metadata
    meta = msgspec.structs.replace(
        pod.metadata,
        deletion_timestamp=gone.deletion_timestamp,
        deletion_grace_period_seconds=0,
    )
    return msgspec.structs.replace(pod, metadata=meta)


@pytest.mark.scenario(142)
@pytest.mark.parametrize("policy", RESTARTED)
@pytest.mark.parametrize("phase", ["Running", "Succeeded"])
@pytest.mark.parametrize("is_last_word_seen", [True, False])
def test_a_deleted_worker_that_exits_0_is_replaced_and_not_done(
    policy: str, phase: str, is_last_word_seen: bool
) -> None:
    passes = Passes(manifest("W2", restart=policy))
    passes.go(*pods(worker="RR"))
    passes.go(*pods(worker="TR"), now=at(1))
    over = a_pod("worker", 0, phase, exit_code=0, deleted=-5, ran=(-50, 2))
    over = kubelets_last_word(over, seconds=4) if is_last_word_seen else over
    passes.go(over, *pods(worker="-R"), now=at(4))
    assert passes.conditions == ["Created", "Restarting"]
    assert passes.job.status.of("Worker").completed == frozenset()
    plan = passes.go(*pods(worker="-R"), now=at(5))
    assert created_names(plan, "Pod") == ["j-worker-0"]
    assert passes.job.status.restarts == 0


@pytest.mark.scenario(149)
@pytest.mark.parametrize("policy", RESTARTED)
@pytest.mark.parametrize("skew", [-600, 0, 600])
def test_who_saw_the_deletion_first_trusts_no_clock(policy: str, skew: float) -> None:
    passes = Passes(manifest("W2", restart=policy))
    passes.go(*pods(worker="RR"))
    passes.go(*pods(worker="TR"), now=at(1))
    over = a_pod("worker", 0, "Failed", exit_code=1, deleted=-5, ran=(-50 + skew, 2 + skew))
    passes.go(over, *pods(worker="-R"), now=at(4))
    assert passes.conditions == ["Created", "Restarting"]
    assert passes.job.status.restarts == 0


@pytest.mark.scenario(142)
@pytest.mark.parametrize("policy", RESTARTED)
def test_a_worker_marked_for_disruption_that_exits_0_is_replaced(policy: str) -> None:
    passes = Passes(manifest("W2", restart=policy))
    over = a_pod("worker", 0, "Succeeded", exit_code=0, conditions=[TARGET])
    plan = passes.go(over, *pods(worker="-R"))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert passes.conditions == ["Created", "Restarting"]
    assert passes.job.status.of("Worker").completed == frozenset()


@pytest.mark.scenario(143)
def test_under_never_exit_0_after_a_deletion_is_a_deletion() -> None:
    passes = Passes(manifest("W2", restart="Never"))
    over = a_pod("worker", 0, "Succeeded", exit_code=0, deleted=-5, ran=(-50, -2))
    passes.go(over, *pods(worker="-R"))
    assert passes.conditions[-1] == "Failed"
    assert passes.job.status.of("Worker").completed == frozenset()


@pytest.mark.scenario(144)
@pytest.mark.parametrize("policy", [*RESTARTED, "Never"])
def test_a_success_that_came_before_the_deletion_is_kept(policy: str) -> None:
    passes = Passes(manifest("W2", restart=policy, successPolicy="AllWorkers"))
    over = a_pod("worker", 1, "Succeeded", exit_code=0, deleted=-5, ran=(-50, -9))
    passes.go(*pods(worker="R"), over)
    assert passes.job.status.of("Worker").completed == {1}


@pytest.mark.parametrize("skew", [-600, 0, 600])
def test_a_success_that_is_stored_is_kept_whatever_the_times_say(skew: float) -> None:
    passes = Passes(manifest("W2", restart="OnFailure", successPolicy="AllWorkers"))
    passes.go(*pods(worker="RS"))
    over = a_pod("worker", 1, "Succeeded", exit_code=0, deleted=-5 + skew)
    passes.go(*pods(worker="R"), over, now=at(1))
    assert passes.job.status.of("Worker").completed == {1}
    assert passes.conditions == ["Created", "Running"]


def test_a_pending_worker_that_fails_while_it_is_deleted_is_waited_for_under_never() -> None:
    passes = Passes(manifest("W2", restart="Never"))
    passes.go(*pods(worker="R"), a_pod("worker", 1, "Pending", deleted=-5))
    passes.go(*pods(worker="R"), a_pod("worker", 1, "Failed", exit_code=137, deleted=-5))
    assert passes.conditions == ["Created", "Running"]
    assert created_names(passes.go(*pods(worker="R"), now=at(9)), "Pod") == ["j-worker-1"]


@pytest.mark.scenario(145)
def test_a_worker_that_is_evicted_again_and_again_never_waits() -> None:
    passes = Passes(manifest("W1", restart="ExitCode"))
    for turn in range(6):
        evicted = a_pod("worker", 0, "Failed", pod_reason="Evicted", uid=f"w{turn}")
        assert deleted_names(passes.go(evicted, now=at(turn)), "Pod") == ["j-worker-0"]
        assert created_names(passes.go(now=at(turn)), "Pod") == ["j-worker-0"]
    assert passes.job.status.restarts == 0


def test_an_eviction_between_failures_neither_waits_nor_ends_their_streak() -> None:
    passes = Passes(manifest("W1", restart="ExitCode"))
    for turn in range(2):
        passes.go(a_pod("worker", 0, "Failed", exit_code=137, uid=f"w{turn}"), now=at(turn))
    evicted = a_pod("worker", 0, "Failed", pod_reason="Evicted", uid="evicted")
    assert deleted_names(passes.go(evicted, now=at(20)), "Pod") == ["j-worker-0"]
    assert created_names(passes.go(now=at(20)), "Pod") == ["j-worker-0"]
    plan = passes.go(a_pod("worker", 0, "Failed", exit_code=137, uid="w3"), now=at(21))
    assert plan.requeue_at == at(41)


@pytest.mark.scenario(146)
def test_a_failed_pod_stays_with_its_log_until_its_successor_is_due() -> None:
    passes = Passes(manifest("W1", restart="ExitCode"))
    passes.go(a_pod("worker", 0, "Failed", exit_code=137, uid="first"))
    failed = a_pod("worker", 0, "Failed", exit_code=137, uid="second")
    plan = passes.go(failed, now=at(1))
    assert (plan.deletes, plan.requeue_at) == ([], at(11))
    assert passes.job.status.restarts == 2
    assert passes.go(failed, now=at(10)).is_empty
    plan = passes.go(failed, now=at(11))
    assert [each.uid for each in plan.deletes] == ["second"]
    assert created_names(passes.go(now=at(12)), "Pod") == ["j-worker-0"]
    assert passes.job.status.restarts == 2


@pytest.mark.scenario(147)
@pytest.mark.parametrize("policy", RESTARTED)
def test_a_count_is_stored_before_the_pod_that_proves_it_goes(policy: str) -> None:
    passes = Passes(manifest("W2", restart=policy))
    plan = passes.go(*pods(worker="RK"))
    assert plan.deletes
    assert plan.writes_status_first


def test_restarts_in_place_stay_counted_when_their_pod_vanishes_or_is_disrupted() -> None:
    limits = {"backoffLimit": 9}
    passes = Passes(manifest("W2", restart="OnFailure", run_policy=limits))
    passes.go(a_pod("worker", 0, restarts=2), a_pod("worker", 1, restarts=3))
    passes.go(a_pod("worker", 1, "Failed", restarts=3, pod_reason="Evicted"), now=at(1))
    assert passes.job.status.restarts == 5
    fresh = [a_pod("worker", index, uid=f"new-{index}") for index in (0, 1)]
    passes.go(*fresh, now=at(2))
    assert passes.job.status.restarts == 5
    assert passes.go(*fresh, now=at(3)).is_empty


def test_restarts_in_place_cost_no_write_where_no_limit_counts_them() -> None:
    passes = Passes(manifest("W1", restart="OnFailure"))
    passes.go(a_pod("worker", 0))
    assert passes.go(a_pod("worker", 0, restarts=4), now=at(1)).status is None


@pytest.mark.scenario(148)
@pytest.mark.parametrize("policy", [*RESTARTED, "Never"])
@pytest.mark.parametrize("skew", [-600, 0, 600])
@pytest.mark.parametrize("created", [-60, 1])
def test_pods_of_the_run_before_a_resume_are_nobodys_failure(
    policy: str, skew: float, created: float
) -> None:
    running, resting = (
        manifest("W1", restart=policy, run_policy={"suspend": each}) for each in (False, True)
    )
    passes = Passes(running)
    passes.go(a_pod("worker", 0, created=created))
    passes.edit(resting)
    passes.go(a_pod("worker", 0, created=created), now=at(1))
    passes.edit(running)
    passes.go(a_pod("worker", 0, created=created, deleted=1), now=at(1.5))
    over = a_pod("worker", 0, "Failed", exit_code=143, created=created, deleted=1)
    passes.go(kubelets_last_word(over, seconds=3 + skew), now=at(3))
    assert passes.conditions == ["Created", "Running=F", "Suspended=F"]
    assert passes.job.status.of("Worker").failed == 0
    assert created_names(passes.go(now=at(4)), "Pod") == ["j-worker-0"]
    assert passes.job.status.of("Worker").records == ()


def test_a_pod_of_the_run_before_a_resume_is_deleted_again_after_a_crash() -> None:
    running, resting = (manifest("W1", run_policy={"suspend": each}) for each in (False, True))
    passes = Passes(running)
    passes.go(*pods(worker="R"))
    passes.edit(resting)
    passes.go(*pods(worker="R"), now=at(1))
    passes.edit(running)
    passes.go(*pods(worker="R"), now=at(2))
    assert deleted_names(passes.go(*pods(worker="R"), now=at(3)), "Pod") == ["j-worker-0"]


def test_what_still_runs_is_counted_where_the_success_is_stored() -> None:
    passes = Passes(manifest("C1 P2"))
    found = pods(chief="S", ps="RR")
    passes.go(*found)
    servers = passes.job.status.of("PS")
    assert (servers.active, servers.succeeded) == (0, 2)
    assert passes.go(*found, now=at(1)).is_empty
