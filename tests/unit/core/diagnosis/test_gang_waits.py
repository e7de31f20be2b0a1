"""The diagnosis of a waiting gang."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import Passes, a_job, a_pod, at, decide, events_of, manifest
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.diagnosis import Diagnosis
from tfjob.dialects.base import Settings
from tfjob.k8s import time
from tfjob.k8s.child_types import PodGroup, PodGroupCondition, PodGroupStatus
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod

VOLCANO = Settings(gang_scheduler_name="volcano")
NATIVE = Settings(gang_scheduler_name="kubernetes", pod_group_version="v1alpha2")
FULL = "resource in cluster is overused"


def a_group(phase: str, *said: str) -> PodGroup:
    conditions = [
        PodGroupCondition(type="Unschedulable", status="True", message=each) for each in said
    ]
    return PodGroup(
        metadata=ObjectMeta(name="j", uid="g", creation_timestamp=time.render(at(0))),
        spec={"minMember": 2, "queue": "default"},
        status=PodGroupStatus(phase=phase, conditions=conditions),
    )


def diagnosis(passes: Passes) -> Diagnosis:
    found = passes.job.status.diagnosis
    assert found is not None
    return found


def test_the_words_of_the_scheduler_are_told_once() -> None:
    passes = Passes(manifest("W2"), VOLCANO)
    group = a_group("Pending", FULL)
    passes.go(pod_group=group, now=at(1))
    assert passes.job.status.diagnosis is None
    told = passes.go(pod_group=group, now=at(6))
    assert diagnosis(passes).cause is Cause.GANG_INCOMPLETE
    assert diagnosis(passes).message.endswith(f"(PodGroup j: Pending: {FULL})")
    ((kind, reason, message),) = events_of(told)
    assert (kind, reason) == ("Warning", "GangIncomplete")
    assert FULL in message
    assert events_of(passes.go(pod_group=group, now=at(60))) == []


@pytest.mark.parametrize("phase", ["", "Pending"])
def test_a_group_that_nobody_takes_up_is_told_after_thirty_seconds(phase: str) -> None:
    job = manifest("W2", run_policy={"schedulingPolicy": {"queue": "nosuch"}})
    passes = Passes(job, VOLCANO)
    waits = passes.go(pod_group=a_group(phase), now=at(29))
    assert passes.job.status.diagnosis is None
    assert waits.requeue_at == at(30)
    told = passes.go(pod_group=a_group(phase), now=at(30))
    assert diagnosis(passes).cause is Cause.SCHEDULER_SILENT
    assert "scheduler volcano, queue nosuch" in diagnosis(passes).message
    assert [reason for _, reason, _ in events_of(told)] == ["SchedulerSilent"]


def test_a_pod_that_no_scheduler_takes_up_is_told_after_two_minutes() -> None:
    passes = Passes(manifest("W1"))
    pod = a_pod("worker", 0, "Pending", node="", created=0)
    passes.go(pod, now=at(119))
    assert passes.job.status.diagnosis is None
    passes.go(pod, now=at(120))
    assert (diagnosis(passes).cause, diagnosis(passes).replica) == (
        Cause.SCHEDULER_SILENT,
        "worker-0",
    )


def test_a_pod_from_the_future_is_not_passed_over_yet() -> None:
    """The API server's clock is ahead of the operator's."""
    passes = Passes(manifest("W1"))
    plan = passes.go(a_pod("worker", 0, "Pending", node="", created=100), now=at(0))
    assert passes.job.status.diagnosis is None
    assert plan.requeue_at == at(220)


def test_a_gang_that_runs_waits_for_nothing() -> None:
    plan = decide(a_job("W1", VOLCANO), a_pod(), pod_group=a_group("Running", FULL))
    assert plan.status is not None
    assert plan.status.diagnosis is None


def a_member(*, is_kept: bool) -> Pod:
    """A pod as the API server gives it back, with or without the field that was sent."""
    sent: dict[str, Any] = {
        "metadata": {
            "name": "j-worker-0",
            "uid": "p",
            "labels": {
                "training.kubeflow.org/replica-type": "worker",
                "training.kubeflow.org/replica-index": "0",
            },
            "annotations": {"tfjob.dev/pod-group": "j"},
        },
        "spec": {"nodeName": "n", "schedulingGroup": {"podGroupName": "j"}},
        "status": {"phase": "Running"},
    }
    if not is_kept:
        del sent["spec"]["schedulingGroup"]
    return msgspec.convert(sent, Pod)


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_server_that_drops_the_group_of_a_pod_is_told_of(is_kept: bool) -> None:
    group = PodGroup(
        metadata=ObjectMeta(name="j", uid="g"),
        spec={"schedulingPolicy": {"gang": {"minCount": 1}}},
    )
    passes = Passes(manifest("W1"), NATIVE)
    plan = passes.go(a_member(is_kept=is_kept), pod_group=group)
    reasons = [reason for _, reason, _ in events_of(plan) if reason == "GangNotEnforced"]
    assert bool(reasons) is not is_kept
    found = passes.job.status.diagnosis
    assert (found is not None and found.cause is Cause.GANG_NOT_ENFORCED) is not is_kept


def a_waiting_member(index: int, **status: Any) -> Pod:
    sent: dict[str, Any] = {
        "metadata": {
            "name": f"j-worker-{index}",
            "uid": f"p{index}",
            "creationTimestamp": time.render(at(0)),
            "labels": {
                "training.kubeflow.org/replica-type": "worker",
                "training.kubeflow.org/replica-index": str(index),
            },
            "annotations": {"tfjob.dev/pod-group": "j"},
        },
        "spec": {"schedulingGroup": {"podGroupName": "j"}},
        "status": {"phase": "Pending", **status},
    }
    return msgspec.convert(sent, Pod)


def a_native_group(size: int) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name="j", uid="g"),
        spec={"schedulingPolicy": {"gang": {"minCount": size}}},
    )


def test_a_native_group_that_lacks_members_is_told_of_although_its_scheduler_is_silent() -> None:
    passes = Passes(manifest("W2"), NATIVE)
    pod, group = a_waiting_member(0), a_native_group(2)
    early = passes.go(pod, pod_group=group, now=at(4))
    assert passes.job.status.diagnosis is None
    assert early.requeue_at == at(5)
    told = passes.go(pod, pod_group=group, now=at(5))
    assert diagnosis(passes).cause is Cause.GANG_INCOMPLETE
    assert "PodGroup j asks for 2 pods and has 1" in diagnosis(passes).message
    assert "GangIncomplete" in [reason for _, reason, _ in events_of(told)]


def test_a_native_group_with_all_its_members_waits_for_its_scheduler() -> None:
    passes = Passes(manifest("W2"), NATIVE)
    passes.go(a_waiting_member(0), a_waiting_member(1), pod_group=a_native_group(2), now=at(60))
    assert passes.job.status.diagnosis is None
    passes.go(a_waiting_member(0), a_waiting_member(1), pod_group=a_native_group(2), now=at(120))
    assert diagnosis(passes).cause is Cause.SCHEDULER_SILENT


def test_a_pod_of_which_the_scheduler_speaks_is_told_in_its_words() -> None:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    said |= {"message": "0/3 nodes are available: 3 Insufficient cpu."}
    passes = Passes(manifest("W2"), NATIVE)
    passes.go(a_waiting_member(0, conditions=[said]), pod_group=a_native_group(2), now=at(60))
    assert diagnosis(passes).cause is Cause.INSUFFICIENT_RESOURCES
