"""v1beta1 is converted to v1, with its own defaults and fields."""

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.support.builders import a_pod, conditions_of, decide, manifest, replica_spec
from tfjob.core.job import CleanPolicy, Job
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.kubeflow.v1beta1 import KubeflowV1beta1

OLD = KubeflowV1beta1()
V1_ONLY = "training.kubeflow.org/v1-only-fields"


def old(roles: str = "W1", *, kept: object = None, **spec: Any) -> dict[str, Any]:
    given = manifest(roles, **spec) | {"apiVersion": "kubeflow.org/v1beta1"}
    if kept is not None:
        text = kept if isinstance(kept, str) else json.dumps(kept)
        given["metadata"]["annotations"] = {V1_ONLY: text, "other": "stays"}
    return given


def read(given: dict[str, Any]) -> Job:
    job = OLD.decode(given, Settings())
    assert isinstance(job, Job), job
    return job


@pytest.mark.scenario(135)
def test_absent_clean_policy_is_running() -> None:
    assert read(old()).policy.clean is CleanPolicy.RUNNING
    assert read(old(cleanPodPolicy="")).policy.clean is CleanPolicy.RUNNING
    assert read(old(cleanPodPolicy=None)).policy.clean is CleanPolicy.RUNNING


def test_operators_default_is_for_v1_alone() -> None:
    job = OLD.decode(old(), Settings(default_clean_pod_policy="All"))
    assert isinstance(job, Job)
    assert job.policy.clean is CleanPolicy.RUNNING


@pytest.mark.scenario(135)
def test_master_decides_in_any_case() -> None:
    job = read(old(tfReplicaSpecs={"MASTER": replica_spec(), "WORKER": replica_spec()}))
    done = [a_pod("master", 0, "Succeeded", exit_code=0), a_pod("worker")]
    plan = decide(job, *done)
    assert plan.status is not None
    assert conditions_of(plan.status) == ["Created", "Succeeded"]
    assert job.owner.api_version == "kubeflow.org/v1"


@pytest.mark.scenario(136)
def test_policies_at_the_top_work_as_those_of_a_run_policy() -> None:
    top = read(old(cleanPodPolicy="All", ttlSecondsAfterFinished=5))
    inside = read(old(run_policy={"cleanPodPolicy": "All", "ttlSecondsAfterFinished": 5}))
    assert (top.policy.clean, top.policy.ttl) == (CleanPolicy.ALL, timedelta(seconds=5))
    assert top.policy == inside.policy


def test_limits_of_v1beta2_are_taken_too() -> None:
    policy = read(old(activeDeadlineSeconds=7, backoffLimit=3)).policy
    assert (policy.deadline, policy.backoff_limit) == (timedelta(seconds=7), 3)


def test_run_policy_wins_over_the_top() -> None:
    assert read(old(cleanPodPolicy="All", run_policy={"cleanPodPolicy": "None"})).policy.clean == (
        CleanPolicy.NONE
    )


def test_fields_of_v1_come_back_from_the_annotation() -> None:
    kept = {
        "successPolicy": "AllWorkers",
        "enableDynamicWorker": True,
        "runPolicy": {"suspend": True, "schedulingPolicy": {"minAvailable": 1}},
    }
    job = read(old("W2", kept=kept))
    assert job.policy.is_suspended
    assert job.semantics.success_criterion.index is None
    assert job.tf_config.is_dynamic
    assert job.annotations == {"other": "stays"}


def test_stored_object_written_as_v1beta1_is_recognised_by_its_annotation() -> None:
    given = old(kept={"runPolicy": {"suspend": True}}) | {"apiVersion": "kubeflow.org/v1"}
    job = KubeflowV1().decode(given, Settings())
    assert isinstance(job, Job)
    assert job.policy.is_suspended


def test_manager_in_the_annotation_keeps_the_job_away_from_us() -> None:
    manager = {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}
    assert read(old(kept=manager)).is_external


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"runPolicy":[]}', "[" * 5000])
def test_unreadable_annotation_is_a_fault_not_a_loss(text: str) -> None:
    (fault,) = OLD.validate(old(kept=text))
    assert fault.path == f"metadata.annotations[{V1_ONLY}]"
    assert "must be a JSON object with the fields that only v1 has" in fault.detail


def test_faults_are_those_of_v1() -> None:
    given = old("C1 M1", name="0")
    new = given | {"apiVersion": "kubeflow.org/v1"}
    assert [each.text for each in OLD.validate(given)] == [
        each.text for each in KubeflowV1().validate(new)
    ]


def test_fault_is_named_where_it_was_written() -> None:
    given = old()
    given["spec"] = {**given["spec"], "cleanPodPolicy": "all", "backoffLimit": -1}
    paths = {each.path for each in OLD.validate(given)}
    assert paths == {"spec.cleanPodPolicy", "spec.backoffLimit"}


def test_status_is_written_as_v1_writes_it() -> None:
    job = read(old())
    plan = decide(job)
    assert plan.status is not None
    shown = OLD.encode_status(job, plan.status, StatusContext())
    assert shown == KubeflowV1().encode_status(job, plan.status, StatusContext())


def test_both_versions_have_one_definition() -> None:
    assert OLD.crd() == KubeflowV1().crd()
