"""Deadlocks: jobs that hold nodes and wait for those of another job."""

import pytest

from tests.support.builders import Passes, a_pod, at, events_of, manifest
from tfjob.core.diagnosis import deadlock
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.observe import HalfPlaced
from tfjob.k8s import time
from tfjob.k8s.pod import Pod, PodCondition

RIVAL = HalfPlaced(name="other", placed=2, waiting=2, since=at(0))


NO_ROOM = "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."


def refused(index: int, message: str = NO_ROOM) -> Pod:
    condition = PodCondition(
        type="PodScheduled",
        status="False",
        reason="Unschedulable",
        message=message,
        last_transition_time=time.render(at(0)),
    )
    return a_pod("worker", index, "Pending", node="", conditions=[condition])


HALF = [a_pod("worker", 0), a_pod("worker", 1), refused(2), refused(3)]


def test_two_jobs_that_each_hold_half_are_named_to_each_other() -> None:
    passes = Passes(manifest("W4"))
    plan = passes.go(*HALF, now=at(5))
    assert plan.requeue_at == at(30)
    found = passes.job.status.diagnosis
    assert found is not None
    assert found.cause is Cause.INSUFFICIENT_RESOURCES
    plan = passes.go(*HALF, now=at(30), rivals=[RIVAL])
    found = passes.job.status.diagnosis
    assert found is not None
    assert found.cause is Cause.DEADLOCKED
    assert "other has nodes for 2 pods and none for 2" in found.message
    told = [message for _, reason, message in events_of(plan) if reason == "Deadlocked"]
    assert len(told) == 1
    assert passes.go(*HALF, now=at(60), rivals=[RIVAL]).status is None


def test_a_job_that_is_half_placed_alone_is_not_deadlocked() -> None:
    passes = Passes(manifest("W4"))
    plan = passes.go(*HALF, now=at(40))
    found = passes.job.status.diagnosis
    assert found is not None
    assert found.cause is Cause.INSUFFICIENT_RESOURCES
    assert plan.requeue_at is None


def test_a_job_without_any_node_holds_nothing() -> None:
    assert deadlock.half_placed("j", [refused(0), refused(1)]) is None
    assert deadlock.half_placed("j", [a_pod("worker", 0)]) is None
    ended = a_pod("worker", 0, "Succeeded", exit_code=0)
    assert deadlock.half_placed("j", [ended, refused(1)]) is None
    assert deadlock.half_placed("j", HALF) == HalfPlaced(name="j", placed=2, waiting=2, since=at(0))


@pytest.mark.parametrize(
    "message",
    [
        "0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
        "0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector.",
    ],
)
def test_a_pod_that_waits_for_something_else_waits_for_no_other_job(message: str) -> None:
    assert deadlock.half_placed("j", [a_pod("worker", 0), refused(1, message)]) is None


def test_one_pod_is_told_as_one() -> None:
    passes = Passes(manifest("W2"))
    rival = HalfPlaced(name="other", placed=1, waiting=1, since=at(0))
    passes.go(a_pod("worker", 0), refused(1), now=at(40), rivals=[rival])
    found = passes.job.status.diagnosis
    assert found is not None
    assert "j has nodes for 1 pod and none for 1; other has nodes for 1 pod and" in found.message
