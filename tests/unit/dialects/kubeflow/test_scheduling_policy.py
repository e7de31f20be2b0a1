"""schedulingPolicy for Volcano and for scheduler-plugins."""

from typing import Any

import pytest

from tests.support.builders import decide, decoded, manifest
from tests.unit.dialects.rendering import children_of
from tfjob.core.job import Job
from tfjob.dialects.base import Settings

POLICY: dict[str, Any] = {
    "minAvailable": 3,
    "queue": "fast",
    "priorityClass": "high",
    "minResources": {"cpu": "2"},
    "scheduleTimeoutSeconds": 60,
}


def gang_job(scheduler: str, roles: str = "P1 W2", **policy: Any) -> Job:
    given = manifest(roles, run_policy={"schedulingPolicy": policy}, annotations={"a": "b"})
    return decoded(given, Settings(gang_scheduler_name=scheduler))


def group_of(job: Job) -> dict[str, Any]:
    return children_of(job, "PodGroup")["j"]


@pytest.mark.parametrize("scheduler", ["", "none", "None", "NONE"])
def test_gang_scheduling_can_be_off(scheduler: str) -> None:
    assert gang_job(scheduler).gang is None


@pytest.mark.parametrize("scheduler", ["volcano", "Volcano", "VOLCANO"])
def test_volcano_group_carries_its_four_fields(scheduler: str) -> None:
    group = group_of(gang_job(scheduler, **POLICY))
    assert group["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert group["spec"] == {
        "minMember": 3,
        "queue": "fast",
        "priorityClassName": "high",
        "minResources": {"cpu": "2"},
    }


def test_scheduler_plugins_group_carries_its_three_fields() -> None:
    group = group_of(gang_job("my-sched", **POLICY))
    assert group["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert group["spec"] == {
        "minMember": 3,
        "minResources": {"cpu": "2"},
        "scheduleTimeoutSeconds": 60,
    }


@pytest.mark.parametrize("scheduler", ["volcano", "my-sched"])
def test_group_is_named_owned_and_annotated_like_its_job(scheduler: str) -> None:
    metadata = group_of(gang_job(scheduler))["metadata"]
    owner = decoded(manifest()).owner.reference()
    assert metadata == {"name": "j", "annotations": {"a": "b"}, "ownerReferences": [owner]}


def test_absent_policy_means_all_replicas_and_the_default_queue() -> None:
    assert group_of(gang_job("volcano"))["spec"] == {"minMember": 3, "queue": "default"}
    assert group_of(gang_job("my-sched"))["spec"] == {"minMember": 3}


@pytest.mark.parametrize("least", [0, 1, 10])
def test_least_number_of_members_is_taken_as_it_is(least: int) -> None:
    assert group_of(gang_job("volcano", minAvailable=least))["spec"]["minMember"] == least


def test_volcano_holds_pods_back_and_marks_them() -> None:
    job = gang_job("volcano")
    assert job.gang is not None
    assert job.gang.waits_for_admission
    assert [each.kind for each in decide(job).creates] == ["PodGroup"]
    spec: dict[str, Any] = {}
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    job.gang.mark(spec, labels=labels, annotations=annotations, role="ps")
    assert spec == {"schedulerName": "volcano"}
    assert labels == {}
    assert annotations == {"scheduling.k8s.io/group-name": "j", "volcano.sh/task-spec": "ps"}


def test_scheduler_plugins_pods_come_at_once_and_are_marked() -> None:
    pods = children_of(gang_job("my-sched"), "Pod")
    assert len(pods) == 3
    for pod in pods.values():
        assert pod["spec"]["schedulerName"] == "my-sched"
        assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == "j"
        assert "annotations" not in pod["metadata"]
