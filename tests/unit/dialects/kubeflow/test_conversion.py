"""Conversion between the versions moves fields and loses none."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from tests.support.builders import manifest, replica_spec
from tfjob.dialects.kubeflow.conversion import down, up
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.kubeflow.v1beta1 import KubeflowV1beta1

V1_ONLY = "training.kubeflow.org/v1-only-fields"
SPECS = {"Worker": replica_spec()}


def old(**spec: Any) -> dict[str, Any]:
    return manifest(**spec) | {"apiVersion": "kubeflow.org/v1beta1"}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1alpha2"])
def test_absent_clean_policy_of_an_older_version_is_made_explicit(version: str) -> None:
    found = up(manifest() | {"apiVersion": f"kubeflow.org/{version}"})
    assert found["apiVersion"] == "kubeflow.org/v1"
    assert found["spec"]["runPolicy"] == {"cleanPodPolicy": "Running"}


def test_absent_clean_policy_of_v1_stays_absent() -> None:
    assert up(manifest()) == manifest()


def test_policies_move_into_the_run_policy() -> None:
    top = {
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 0,
        "activeDeadlineSeconds": 7,
        "backoffLimit": 3,
    }
    assert up(old(**top))["spec"] == {"tfReplicaSpecs": SPECS, "runPolicy": top}


def test_early_v1_is_brought_up_too() -> None:
    found = up(manifest(cleanPodPolicy="None", backoffLimit=1))
    assert found["spec"]["runPolicy"] == {"cleanPodPolicy": "None", "backoffLimit": 1}


def test_value_of_the_run_policy_wins_and_its_twin_is_dropped() -> None:
    given = old(backoffLimit=1, cleanPodPolicy="All", run_policy={"backoffLimit": 0})
    assert up(given)["spec"] == {
        "tfReplicaSpecs": SPECS,
        "runPolicy": {"backoffLimit": 0, "cleanPodPolicy": "All"},
    }


def test_everything_else_stays_as_it_was() -> None:
    given = old(status={"conditions": [{"type": "Suspended", "status": "True"}]})
    given["metadata"]["labels"] = {"a": "b"}
    given["spec"]["tfReplicaSpecs"] = {"MASTER": replica_spec()}
    before = copy.deepcopy(given)
    found = up(given)
    assert given == before
    assert found["metadata"] == before["metadata"]
    assert found["status"] == before["status"]
    assert list(found["spec"]["tfReplicaSpecs"]) == ["MASTER"]


def test_oldest_name_of_the_counts_is_renamed() -> None:
    counts = {"Worker": {"active": 1}}
    assert up(old(status={"tfReplicaStatuses": counts}))["status"] == {"replicaStatuses": counts}


def test_on_the_way_down_policies_move_to_the_top() -> None:
    policy = {
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 5,
        "activeDeadlineSeconds": 7,
        "backoffLimit": 3,
    }
    found = down(manifest(run_policy=policy))
    assert found["apiVersion"] == "kubeflow.org/v1beta1"
    assert found["spec"] == {"tfReplicaSpecs": SPECS, **policy}


def test_on_the_way_down_an_absent_clean_policy_is_made_explicit() -> None:
    assert down(manifest())["spec"] == {"tfReplicaSpecs": SPECS, "cleanPodPolicy": "None"}


def test_on_the_way_down_fields_of_v1_go_into_an_annotation() -> None:
    policy = {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue"}
    found = down(manifest(successPolicy="AllWorkers", enableDynamicWorker=False, run_policy=policy))
    assert found["spec"] == {"tfReplicaSpecs": SPECS, "cleanPodPolicy": "None"}
    assert json.loads(found["metadata"]["annotations"][V1_ONLY]) == {
        "successPolicy": "AllWorkers",
        "enableDynamicWorker": False,
        "runPolicy": policy,
    }


def test_job_without_fields_of_v1_gets_no_annotation() -> None:
    assert "annotations" not in down(manifest())["metadata"]


@pytest.mark.scenario(138)
def test_job_comes_back_equal() -> None:
    policy = {
        "cleanPodPolicy": "Running",
        "suspend": True,
        "schedulingPolicy": {"minAvailable": 2, "queue": "q", "minResources": {"cpu": 1}},
    }
    given = manifest(
        "C1 W2", run_policy=policy, successPolicy="AllWorkers", annotations={"mine": "stays"}
    )
    before = copy.deepcopy(given)
    assert up(down(given)) == before
    assert given == before


POLICIES = st.fixed_dictionaries(
    {"cleanPodPolicy": st.sampled_from(["All", "Running", "None"])},
    optional={
        "ttlSecondsAfterFinished": st.integers(0, 9),
        "activeDeadlineSeconds": st.integers(0, 9),
        "backoffLimit": st.integers(0, 9),
        "suspend": st.booleans(),
        "managedBy": st.just("kubeflow.org/training-operator"),
        "schedulingPolicy": st.fixed_dictionaries(
            {}, optional={"queue": st.text(), "minAvailable": st.integers(0, 9)}
        ),
    },
)
FIELDS = st.fixed_dictionaries(
    {"runPolicy": POLICIES},
    optional={
        "successPolicy": st.sampled_from(["", "AllWorkers"]),
        "enableDynamicWorker": st.booleans(),
    },
)


@pytest.mark.scenario(138)
@drawn(FIELDS, st.none() | st.dictionaries(st.text(), st.text(), min_size=1, max_size=2))
def test_every_job_comes_back_equal(
    fields: dict[str, Any], annotations: dict[str, str] | None
) -> None:
    job = manifest(annotations=annotations, **fields)
    assert up(down(job)) == job
    assert KubeflowV1beta1().validate(down(job)) == KubeflowV1().validate(job) == []


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"spec": []},
        {"spec": {"runPolicy": []}},
        {"spec": {"runPolicy": None}, "status": 5},
        {"metadata": [], "spec": {}},
        {"metadata": {"annotations": []}, "spec": None},
        {"metadata": {"annotations": {V1_ONLY: 5}}, "spec": {}},
        {"metadata": {"annotations": {V1_ONLY: '{"runPolicy":{"suspend":1}}'}}, "spec": 5},
    ],
)
def test_what_cannot_be_understood_is_passed_on(given: dict[str, Any]) -> None:
    found = up(given)
    assert found["apiVersion"] == "kubeflow.org/v1"
    assert found.get("metadata") == given.get("metadata")


@pytest.mark.parametrize("given", [None, [], "x", 5])
def test_what_is_no_object_is_passed_on(given: Any) -> None:
    assert up(given) == given
