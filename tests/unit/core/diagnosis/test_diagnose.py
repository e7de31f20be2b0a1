"""The diagnosis that is stored over several reconciles."""

from datetime import datetime
from typing import Any

import pytest

from tests.support.builders import NOW, Passes, a_job, a_pod, at, decide, manifest, pods
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnose import with_old_child, with_refusal
from tfjob.core.diagnosis.diagnosis import Diagnosis, names
from tfjob.core.plan import Plan
from tfjob.k8s import time
from tfjob.k8s.child_types import PodGroup, PodGroupCondition, PodGroupStatus
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, PodCondition, Terminated

QUOTA = 'pods "j-worker-0" is forbidden: exceeded quota: q'


def running(restart: str = "ExitCode", **fields: Any) -> Passes:
    passes = Passes(manifest("W3", restart=restart, **fields))
    passes.go()
    passes.go(*pods(worker="RRR"), now=at(1))
    return passes


def diagnosis(passes: Passes) -> Diagnosis:
    found = passes.job.status.diagnosis
    assert found is not None
    return found


def killed(index: int = 1, **fields: Any) -> Pod:
    return a_pod("worker", index, "Failed", exit_code=137, ran=(-50, 2), **fields)


def followed(index: int, *, seconds: float = 9) -> Pod:
    lost = "UnavailableError: tasks are unhealthy"
    return a_pod("worker", index, "Failed", exit_code=1, ran=(-50, seconds), output=lost)


def waiting(reason: str, message: str) -> Pod:
    return a_pod(phase="Pending", waiting=(reason, message))


def unscheduled(seconds: float = -10, index: int = 0) -> Pod:
    condition = PodCondition(
        type="PodScheduled",
        status="False",
        reason="Unschedulable",
        message="0/3 nodes are available: 3 Insufficient cpu.",
        last_transition_time=at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )
    return a_pod("worker", index, "Pending", node="", conditions=[condition])


def diagnosis_events(plan: Plan) -> list[str]:
    return [each.reason for each in plan.events if each.key.startswith("diagnosis/")]


def test_a_job_that_runs_has_no_diagnosis() -> None:
    assert running().job.status.diagnosis is None


def test_the_killed_worker_is_blamed_and_stays_blamed_after_it_is_gone() -> None:
    passes = running()
    plan = passes.go(*pods(worker="R-R"), killed(output="step 5"), now=at(3))
    found = diagnosis(passes)
    assert (found.cause, found.replica, found.exit_code) == (Cause.KILLED, "worker-1", 137)
    assert (found.since, found.last_lines, found.node) == (at(2), "step 5", "node-1")
    assert plan.writes_status_first
    assert diagnosis_events(plan) == ["Killed"]
    plan = passes.go(*pods(worker="R-R"), now=at(4))
    assert diagnosis(passes) == found
    assert diagnosis_events(plan) == []
    passes.go(*pods(worker="RRR"), now=at(5))
    assert diagnosis(passes) == found


@pytest.mark.parametrize(
    "output",
    [
        pytest.param(f"ValueError: {'x' * 300}", id="long-line"),
        pytest.param(f"{'x' * 500}\n\n{'y' * 1000}", id="empty-line"),
        pytest.param(f"{'x' * 1021}\n\n{'é' * 511}", id="empty-line-at-the-cut"),
    ],
)
def test_what_is_told_of_a_long_output_does_not_change(output: str) -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), killed(output=output), now=at(3))
    found = diagnosis(passes)
    assert passes.go(*pods(worker="R-R"), killed(output=output), now=at(4)).status is None
    passes.go(*pods(worker="R-R"), now=at(5))
    assert diagnosis(passes) == found


def test_the_failure_of_an_init_container_with_a_long_name_is_counted_once() -> None:
    ended = ContainerState(terminated=Terminated(exit_code=1, finished_at="2026-01-01T00:00:00Z"))
    init = ContainerStatus(name="c" * 63, restart_count=1_000, state=ended)
    pod = a_pod(phase="Pending", init=[init], uid="f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
    passes = running("OnFailure")
    for second in range(2, 5):
        passes.go(*pods(worker="-RR"), pod, now=at(second))
        assert diagnosis(passes).incident_count == 1


def test_a_diagnosis_is_stored_before_the_pod_that_proves_it_is_deleted() -> None:
    plan = running().go(*pods(worker="R-R"), killed(), now=at(3))
    assert [each.name for each in plan.deletes] == ["j-worker-1"]
    assert plan.writes_status_first
    assert plan.status is not None
    assert plan.status.diagnosis is not None


def test_survivors_are_counted_as_consequences() -> None:
    passes = running("OnFailure")
    passes.go(killed(), *pods(worker="R-R"), now=at(3))
    passes.go(followed(0), *pods(worker="--R"), now=at(10))
    passes.go(followed(2, seconds=11), *pods(worker="R"), now=at(12))
    found = diagnosis(passes)
    assert (found.replica, found.incident_count) == ("worker-1", 1)
    assert names(found.incidents[0].consequences) == ["worker-0", "worker-2"]


def test_the_cause_outlives_clean_up_and_a_day() -> None:
    policy = {"cleanPodPolicy": "All"}
    passes = Passes(manifest("W1", restart="Never", run_policy=policy))
    passes.go(now=at(0))
    failed = a_pod(phase="Failed", exit_code=3, output="ValueError: no", ran=(-50, 1))
    passes.go(failed, now=at(1))
    found = diagnosis(passes)
    assert (found.cause, found.exit_code) == (Cause.PYTHON_ERROR, 3)
    assert found.last_lines == "ValueError: no"
    passes.go(failed, now=at(2))
    passes.go(now=at(86_400))
    assert diagnosis(passes) == found


def test_an_image_that_cannot_be_pulled_is_told_once() -> None:
    passes = Passes(manifest("W1"))
    passes.go()
    plan = passes.go(waiting("ErrImagePull", "not found"), now=at(1))
    first = diagnosis(passes)
    assert (first.cause, first.replica) == (Cause.IMAGE_NOT_PULLED, "worker-0")
    assert diagnosis_events(plan) == ["ImageNotPulled"]
    for second in range(2, 8):
        reason = "ImagePullBackOff" if second % 2 else "ErrImagePull"
        plan = passes.go(waiting(reason, f"text {second}"), now=at(second))
        assert plan.status is None
        assert diagnosis(passes) == first


def test_replicas_that_wait_for_the_same_are_one_event() -> None:
    passes = Passes(manifest("W3"))
    passes.go()
    events = []
    for started in range(3):
        rest = [unscheduled(index=index) for index in range(started, 3)]
        plan = passes.go(*pods(worker="R" * started), *rest, now=at(started + 1))
        assert diagnosis(passes).replica == f"worker-{started}"
        events += diagnosis_events(plan)
    assert events == ["InsufficientResources"]


def test_a_wait_is_over_when_the_replica_runs() -> None:
    passes = Passes(manifest("W1"))
    passes.go()
    passes.go(unscheduled(), now=at(1))
    assert diagnosis(passes).cause is Cause.INSUFFICIENT_RESOURCES
    passes.go(*pods(worker="R"), now=at(2))
    assert passes.job.status.diagnosis is None


def test_a_pod_that_is_placed_at_the_next_attempt_is_not_mentioned() -> None:
    passes = Passes(manifest("W1"))
    passes.go()
    plan = passes.go(unscheduled(0), now=at(1))
    assert passes.job.status.diagnosis is None
    assert plan.requeue_at == at(3)
    passes.go(unscheduled(0), now=at(3))
    assert diagnosis(passes).cause is Cause.INSUFFICIENT_RESOURCES


def test_a_wait_after_an_incident_keeps_the_incident_and_its_lines() -> None:
    passes = running()
    passes.go(*pods(worker="R-R"), killed(output="step 5"), now=at(3))
    pending = a_pod("worker", 1, "Pending", waiting=("ErrImagePull", "x"), uid="next")
    passes.go(*pods(worker="R-R"), pending, now=at(9))
    found = diagnosis(passes)
    assert (found.cause, found.last_lines) == (Cause.IMAGE_NOT_PULLED, "step 5")
    assert [each.cause for each in found.incidents] == [Cause.KILLED]
    passes.go(*pods(worker="RRR"), now=at(10))
    assert diagnosis(passes).cause is Cause.KILLED
    assert diagnosis(passes).last_lines == "step 5"


def test_a_refused_create_is_kept_until_the_pod_exists() -> None:
    passes = Passes(manifest("W1"))
    plan = passes.go()
    job = a_job("W1")
    refused = with_refusal(job, plan, child="j-worker-0", error=QUOTA, is_final=True, now=NOW)
    assert refused.status is not None
    found = refused.status.diagnosis
    assert found is not None
    assert (found.cause, found.replica) == (Cause.QUOTA_EXCEEDED, "worker-0")
    again = with_refusal(job, refused, child="j-worker-0", error=QUOTA, is_final=True, now=at(9))
    assert again is refused


def test_what_a_suspended_job_lacks_is_not_told() -> None:
    passes = Passes(manifest("W1", run_policy={"suspend": True}))
    passes.go()
    job, plan = passes.job, Plan()
    refused = with_refusal(job, plan, child="j-worker-0", error=QUOTA, is_final=True, now=at(9))
    assert refused is plan
    assert with_old_child(job, plan, child="j-worker-0", now=at(9)) is plan


def test_an_outage_is_no_refusal() -> None:
    plan = Plan()
    job = a_job("W1")
    found = with_refusal(
        job, plan, child="j-worker-0", error="etcd has no leader", is_final=False, now=NOW
    )
    assert found is plan


@pytest.mark.parametrize(
    ("policy", "now", "cause"),
    [
        ({"activeDeadlineSeconds": 5}, at(100), Cause.DEADLINE_EXCEEDED),
        ({"backoffLimit": 0}, at(3), Cause.BACKOFF_LIMIT_EXCEEDED),
    ],
)
def test_a_limit_is_named_as_the_cause(policy: dict[str, int], now: datetime, cause: Cause) -> None:
    passes = running("OnFailure", run_policy=policy)
    passes.go(*pods(worker="R-R"), killed(), now=now)
    found = diagnosis(passes)
    assert found.cause is cause
    assert [each.replica for each in found.incidents] == ["worker-1"]


def test_suspension_is_a_cause_until_the_job_is_resumed() -> None:
    given = manifest("W1", run_policy={"suspend": True})
    passes = Passes(given)
    plan = passes.go()
    assert diagnosis(passes).cause is Cause.SUSPENDED
    assert diagnosis_events(plan) == []
    passes.edit(manifest("W1"))
    passes.go(now=at(1))
    assert passes.job.status.diagnosis is None


def test_more_consequences_alone_wait_for_another_write() -> None:
    passes = running("OnFailure")
    passes.go(killed(), *pods(worker="R-R"), now=at(3))
    in_place = a_pod("worker", 0, uid="uid-j-worker-0", restarts=1)
    plan = decide(passes.job, in_place, killed(), *pods(worker="--R"), now=at(10))
    assert plan.status is None or plan.status.diagnosis == diagnosis(passes)


def test_a_gang_that_is_not_admitted_is_named_after_a_moment() -> None:
    from tfjob.dialects.base import Settings  # noqa: PLC0415 - only this test needs it

    passes = Passes(manifest("W2"), Settings(gang_scheduler_name="volcano"))
    created = at(0).strftime("%Y-%m-%dT%H:%M:%SZ")
    refusal = PodGroupCondition(type="Unschedulable", status="True", message="no room")
    group = PodGroup(
        metadata=ObjectMeta(name="j", uid="g", creation_timestamp=created),
        status=PodGroupStatus(phase="Pending", conditions=[refusal]),
    )
    passes.go(pod_group=group, now=at(1))
    assert passes.job.status.diagnosis is None
    passes.go(pod_group=group, now=at(6))
    assert diagnosis(passes).cause is Cause.GANG_INCOMPLETE


def test_events_that_were_not_read_are_read_soon() -> None:
    condition = PodCondition(
        type="PodScheduled", status="True", last_transition_time=time.render(at(-500))
    )
    pod = a_pod(phase="Pending", waiting=("ContainerCreating", ""), conditions=[condition])
    assert decide(a_job("W1"), pod).requeue_at == at(268)
    assert decide(a_job("W1"), pod, has_unread_events=True).requeue_at == at(3)
