"""Gangs of kube-scheduler itself: PodGroups of scheduling.k8s.io, which may be unchangeable."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    Passes,
    a_job,
    a_pod,
    at,
    created_names,
    decide,
    decoded,
    deleted_names,
    manifest,
    manifests_of,
)
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.dialects.base import Settings
from tfjob.k8s.child_types import PodGroup
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod, SchedulingGroup


def native(version: str = "v1alpha2") -> Settings:
    return Settings(gang_scheduler_name="kubernetes", pod_group_version=version)


def a_group(size: int, *, is_terminating: bool = False) -> PodGroup:
    deleted = "2026-01-02T03:04:05Z" if is_terminating else None
    return PodGroup(
        metadata=ObjectMeta(name="j", namespace="n", uid="group", deletion_timestamp=deleted),
        spec={"schedulingPolicy": {"gang": {"minCount": size}}},
    )


def member(index: int, phase: str = "Running", *, node: str = "node-1", **fields: Any) -> Pod:
    """A pod in the group."""
    pod = a_pod("worker", index, phase, node=node, **fields)
    spec = msgspec.structs.replace(pod.spec, scheduling_group=SchedulingGroup("j"))
    return msgspec.structs.replace(pod, spec=spec)


def waiting(index: int) -> Pod:
    return member(index, "Pending", node="")


def made(job: Job, plan: Plan, kind: str) -> list[dict[str, Any]]:
    return [each for each in manifests_of(job, plan) if each["kind"] == kind]


def test_the_group_and_the_pods_say_what_kube_scheduler_reads() -> None:
    job = a_job("C1 W2", native())
    plan = decide(job)
    (group,) = made(job, plan, "PodGroup")
    assert group["apiVersion"] == "scheduling.k8s.io/v1alpha2"
    assert group["spec"] == {"schedulingPolicy": {"gang": {"minCount": 3}}}
    assert group["metadata"]["ownerReferences"][0]["uid"] == "U"
    assert made(job, plan, "Pod") == []  # A PodGroup of that name may be somebody else's.
    pods = made(job, decide(job, pod_group=a_group(3)), "Pod")
    assert [each["spec"]["schedulingGroup"] for each in pods] == [{"podGroupName": "j"}] * 3
    assert all("schedulerName" not in each["spec"] for each in pods)


def test_a_template_keeps_its_scheduler_without_a_warning() -> None:
    given = manifest("W1")
    given["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["schedulerName"] = "mine"
    job = decoded(given, native())
    plan = decide(job, pod_group=a_group(1))
    assert [each["spec"]["schedulerName"] for each in made(job, plan, "Pod")] == ["mine"]
    assert plan.events == []


@pytest.mark.parametrize(("least", "expected"), [(0, 1), (2, 2), (9, 9)])
def test_the_least_number_comes_from_the_policy(least: int, expected: int) -> None:
    job = a_job("W3", native(), run_policy={"schedulingPolicy": {"minAvailable": least}})
    (group,) = made(job, decide(job), "PodGroup")
    assert group["spec"]["schedulingPolicy"]["gang"]["minCount"] == expected


def test_a_topology_key_and_a_priority_are_passed_on() -> None:
    given = manifest(
        "W1",
        run_policy={"schedulingPolicy": {"priorityClass": "high"}},
        annotations={"tfjob.dev/topology-key": "rack"},
    )
    job = decoded(given, native())
    plan = decide(job)
    (group,) = made(job, plan, "PodGroup")
    assert group["spec"]["schedulingConstraints"] == {"topology": [{"key": "rack"}]}
    (pod,) = made(job, decide(job, pod_group=a_group(1)), "Pod")
    assert pod["spec"]["priorityClassName"] == "high"


def test_a_gang_that_grows_before_it_has_nodes_is_made_anew() -> None:
    passes = Passes(manifest("W3"), native())
    group, left = a_group(2), [waiting(0), waiting(1)]
    plan = passes.go(*left, pod_group=group)
    assert deleted_names(plan, "PodGroup") == ["j"]
    assert deleted_names(plan, "Pod") == ["j-worker-0", "j-worker-1"]
    assert created_names(plan, "Pod") == []
    assert plan.writes_status_first
    leaving = a_group(2, is_terminating=True)
    assert passes.go(now=at(1), pod_group=leaving).creates == []
    plan = passes.go(now=at(2))
    assert created_names(plan, "PodGroup") == ["j"]
    plan = passes.go(now=at(3), pod_group=a_group(3))
    assert len(created_names(plan, "Pod")) == 3
    assert passes.job.status.restarts == 0


def test_a_running_gang_grows_inside_its_group() -> None:
    job = a_job("W3", native())
    plan = decide(job, member(0), member(1), pod_group=a_group(2))
    assert (plan.deletes, plan.updates) == ([], [])
    (pod,) = made(job, plan, "Pod")
    assert pod["spec"]["schedulingGroup"] == {"podGroupName": "j"}


def test_a_pod_that_its_shrunken_gang_cannot_carry_goes_alone() -> None:
    job = a_job("W3", native())
    plan = decide(job, member(0), member(1), pod_group=a_group(4))
    assert deleted_names(plan, "PodGroup") == []
    (pod,) = made(job, plan, "Pod")
    assert "schedulingGroup" not in pod["spec"]
    assert "tfjob.dev/pod-group" not in (pod["metadata"].get("annotations") or {})


def test_a_member_comes_back_alone_when_others_have_finished() -> None:
    given = manifest("W3", restart="OnFailure")
    given["spec"]["successPolicy"] = "AllWorkers"
    passes = Passes(given, native())
    ended = member(2, "Succeeded", exit_code=0)
    passes.go(member(0), member(1), ended, pod_group=a_group(3))
    plan = passes.go(member(0), ended, now=at(1), pod_group=a_group(3))
    (pod,) = made(passes.job, plan, "Pod")
    assert "schedulingGroup" not in pod["spec"]


def test_a_member_that_restarts_joins_its_group_again() -> None:
    job = a_job("W3", native())
    (pod,) = made(job, decide(job, member(0), member(1), pod_group=a_group(3)), "Pod")
    assert pod["spec"]["schedulingGroup"] == {"podGroupName": "j"}


def test_pods_that_run_outside_the_group_are_not_waited_for() -> None:
    job = a_job("W3", native())
    outside = [a_pod("worker", 0), a_pod("worker", 1)]
    (pod,) = made(job, decide(job, *outside, pod_group=a_group(3)), "Pod")
    assert "schedulingGroup" not in pod["spec"]


def test_a_group_that_can_be_changed_is_changed() -> None:
    job = a_job("W3", native("v1beta1"))
    assert job.gang is not None
    assert job.gang.api_version == "scheduling.k8s.io/v1beta1"
    (update,) = decide(job, member(0), member(1), pod_group=a_group(4)).updates
    assert update.body == {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}


def test_a_resumed_job_waits_until_the_old_group_is_gone() -> None:
    job = a_job("W1", native())
    leaving = a_group(1, is_terminating=True)
    old = member(0, deleted=0)
    assert created_names(decide(job, old, pod_group=leaving), "Pod") == []
    assert decide(job, old, pod_group=leaving).creates == []


def test_a_running_gang_whose_group_somebody_deletes_goes_on() -> None:
    job = a_job("W2", native())
    plan = decide(job, member(0), pod_group=a_group(2, is_terminating=True))
    assert created_names(plan, "Pod") == ["j-worker-1"]


@pytest.mark.parametrize(
    ("phase", "code", "verdict"), [("Succeeded", 0, "Succeeded"), ("Failed", 1, "Failed")]
)
def test_a_verdict_does_not_wait_for_the_group(phase: str, code: int, verdict: str) -> None:
    """All pods have ended, so the group of the scaled job is made anew."""
    given = manifest("W3", restart="ExitCode")
    given["spec"]["successPolicy"] = "AllWorkers"
    passes = Passes(given, native())
    passes.go(*map(member, range(3)), pod_group=a_group(2))
    ended = [member(each, phase, exit_code=code) for each in range(3)]
    plan = passes.go(*ended, now=at(1), pod_group=a_group(2))
    assert verdict in passes.conditions
    assert plan.creates == []
