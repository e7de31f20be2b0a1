"""Events on the job about its pods."""

from typing import Any

import pytest

from tests.support.builders import a_job, a_pod, events_of
from tfjob.core import pod_problems
from tfjob.core.job import Job
from tfjob.core.observe import Children, ReplicaInstance, observe
from tfjob.core.plan import JobEvent, Plan
from tfjob.k8s.pod import (
    ContainerState,
    ContainerStatus,
    Pod,
    PodCondition,
    Terminated,
    Waiting,
)

JOB = a_job("W1", restart="OnFailure")


def instances_of(job: Job, *found: Pod) -> list[ReplicaInstance]:
    return observe(job, Children(pods=found)).all_instances()


def problems_of(pod: Pod, job: Job = JOB) -> list[JobEvent]:
    return list(pod_problems.problems(job, instances_of(job, pod)))


def shown(events: list[JobEvent]) -> list[tuple[str, str, str]]:
    return events_of(Plan(events=events))


def ended(name: str, code: int, **fields: Any) -> ContainerStatus:
    state = ContainerState(terminated=Terminated(exit_code=code, **fields))
    return ContainerStatus(name=name, restart_count=2, state=state)


def waits(name: str, reason: str, message: str) -> ContainerStatus:
    return ContainerStatus(
        name=name, state=ContainerState(waiting=Waiting(reason=reason, message=message))
    )


def condition(kind: str, status: str, when: str | None, **fields: str) -> PodCondition:
    return PodCondition(type=kind, status=status, last_transition_time=when, **fields)


def test_a_failed_container_is_reported_with_its_exit_code_and_message() -> None:
    pod = a_pod(others=[ended("proxy", 3, reason="OOMKilled", message="too much")], uid="u")
    (event,) = problems_of(pod)
    text = "Error pod j-worker-0 container proxy exitCode: 3 terminated message: too much"
    assert shown([event]) == [("Warning", "OOMKilled", text)]
    assert event.key == "pod/u/OOMKilled/proxy/2"


def test_succeeded_container_is_no_problem() -> None:
    assert problems_of(a_pod(others=[ended("proxy", 0, reason="Completed")])) == []


def test_a_container_that_waits_with_a_message_is_reported() -> None:
    pod = a_pod(phase="Pending", waiting=("ImagePullBackOff", "no such image"), uid="u")
    (event,) = problems_of(pod)
    text = "Error pod j-worker-0 container tensorflow waiting message: no such image"
    assert shown([event]) == [("Warning", "ImagePullBackOff", text)]
    assert event.key == "pod/u/ImagePullBackOff/tensorflow"


def test_container_that_waits_without_a_message_is_no_problem() -> None:
    assert problems_of(a_pod(phase="Pending", waiting=("ContainerCreating", ""))) == []


def test_an_empty_reason_becomes_unknown() -> None:
    (event,) = problems_of(a_pod(phase="Pending", waiting=("", "why")))
    assert event.reason == "Unknown"


def test_every_container_is_reported() -> None:
    others = [waits("a", "A", "1"), waits("b", "B", "2")]
    assert [each.reason for each in problems_of(a_pod(others=others))] == ["A", "B"]


def test_init_containers_are_reported_only_before_the_others() -> None:
    init = [ended("init", 1, reason="Error")]
    assert [each.reason for each in problems_of(a_pod(phase="Pending", init=init))] == ["Error"]
    beside = a_pod(phase="Pending", init=init, others=[waits("x", "Other", "m")])
    assert [each.reason for each in problems_of(beside)] == ["Other"]


def test_newest_condition_is_reported_without_container_statuses() -> None:
    conditions = [
        condition(
            "PodScheduled",
            "False",
            "2026-01-02T03:04:05Z",
            reason="Unschedulable",
            message="0/3 nodes",
        ),
        condition("Initialized", "True", "2026-01-02T03:00:00Z"),
        condition("Other", "False", None, reason="Old"),
    ]
    (event,) = problems_of(a_pod(phase="Pending", conditions=conditions, uid="u"))
    text = "Error pod j-worker-0 condition message: 0/3 nodes"
    assert shown([event]) == [("Warning", "Unschedulable", text)]
    assert event.key == "pod/u/Unschedulable/PodScheduled"


@pytest.mark.parametrize("status", ["True", None])
def test_newest_condition_that_is_true_or_absent_is_no_problem(status: str | None) -> None:
    older = condition("PodScheduled", "False", "2026-01-02T03:00:00Z", reason="Old")
    newer = condition("Ready", "True", "2026-01-02T03:04:05Z")
    conditions = [] if status is None else [older, newer]
    assert problems_of(a_pod(phase="Pending", conditions=conditions)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"phase": "Succeeded"},
        {"phase": "Failed"},
        {"deleted": -5},
    ],
)
def test_ended_or_terminating_pods_are_no_problem(fields: dict[str, Any]) -> None:
    assert problems_of(a_pod(others=[waits("x", "R", "m")], **fields)) == []


def test_replica_without_a_current_pod_has_no_problem() -> None:
    (instance,) = instances_of(JOB, a_pod(exit_code=1, others=[waits("x", "R", "m")]))
    instance.is_obsolete = True
    assert list(pod_problems.problems(JOB, [instance])) == []
    assert list(pod_problems.exits(JOB, [instance])) == []
    empty = instances_of(JOB)
    assert list(pod_problems.problems(JOB, empty)) == []
    assert list(pod_problems.exits(JOB, empty)) == []


def test_an_exit_is_reported_with_namespace_pod_and_code() -> None:
    pod = a_pod(phase="Failed", exit_code=3, uid="u", ran=(0, 5))
    (event,) = pod_problems.exits(JOB, instances_of(JOB, pod))
    assert shown([event]) == [("Normal", "ExitedWithCode", "Pod: n.j-worker-0 exited with code 3")]
    assert event.key == "exited/u/2026-01-02T03:04:05Z"


def test_running_containers_and_sidecars_have_no_exit() -> None:
    assert list(pod_problems.exits(JOB, instances_of(JOB, a_pod(others=[ended("proxy", 1)])))) == []


def test_a_stored_success_is_not_reported_again() -> None:
    job = a_job("W1", status={"replicaStatuses": {"Worker": {"completedIndexes": "0"}}})
    instances = instances_of(job, a_pod(phase="Succeeded", exit_code=0))
    assert list(pod_problems.exits(job, instances)) == []


def test_pod_without_a_problem_does_not_hide_the_next() -> None:
    job = a_job("W4", status={"replicaStatuses": {"Worker": {"completedIndexes": "0"}}})
    found = [
        a_pod("worker", 0, "Succeeded", exit_code=0),
        a_pod("worker", 1),
        a_pod("worker", 3, exit_code=1, others=[waits("x", "R", "m")]),
    ]
    instances = instances_of(job, *found)
    assert [each.message for each in pod_problems.exits(job, instances)] == [
        "Pod: n.j-worker-3 exited with code 1"
    ]
    job = a_job("W4", restart="OnFailure")
    instances = instances_of(job, *found)
    assert [each.reason for each in pod_problems.problems(job, instances)] == ["Error", "R"]
