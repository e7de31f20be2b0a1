"""The enums and bounds of the schema are those used for decoding."""

import pytest

from tests.support.builders import manifest
from tfjob.core.job import CleanPolicy, RestartPolicy
from tfjob.dialects.kubeflow import schema
from tfjob.dialects.kubeflow.v1 import KubeflowV1

SPEC = schema.schema()["properties"]["spec"]["properties"]
REPLICA = SPEC["tfReplicaSpecs"]["additionalProperties"]["properties"]
POLICY = SPEC["runPolicy"]["properties"]


def test_policies_are_those_of_the_core_and_the_empty_one() -> None:
    assert set(schema.CLEAN_POLICIES) == {"", *CleanPolicy}
    assert set(schema.RESTART_POLICIES) == {"", *RestartPolicy}


@pytest.mark.parametrize("policy", REPLICA["restartPolicy"]["enum"])
def test_every_restart_policy_of_the_schema_is_read(policy: str) -> None:
    assert KubeflowV1().validate(manifest(restart=policy)) == []


@pytest.mark.parametrize("policy", POLICY["cleanPodPolicy"]["enum"])
def test_every_clean_policy_of_the_schema_is_read(policy: str) -> None:
    assert KubeflowV1().validate(manifest(run_policy={"cleanPodPolicy": policy})) == []
    assert KubeflowV1().validate(manifest(cleanPodPolicy=policy)) == []
    assert SPEC["cleanPodPolicy"]["enum"] == POLICY["cleanPodPolicy"]["enum"]


@pytest.mark.parametrize("policy", SPEC["successPolicy"]["enum"])
def test_every_success_policy_of_the_schema_is_read(policy: str) -> None:
    assert KubeflowV1().validate(manifest(successPolicy=policy)) == []


@pytest.mark.parametrize("manager", POLICY["managedBy"]["enum"])
def test_every_manager_of_the_schema_is_read(manager: str) -> None:
    assert KubeflowV1().validate(manifest(run_policy={"managedBy": manager})) == []


def test_bounds_of_replicas() -> None:
    assert (REPLICA["replicas"]["minimum"], REPLICA["replicas"]["maximum"]) == (0, 5_000)


def test_null_replica_is_kept_so_that_it_can_be_rejected() -> None:
    assert SPEC["tfReplicaSpecs"]["additionalProperties"]["nullable"] is True


def test_default_of_the_older_place_is_the_versions_own() -> None:
    old = schema.schema(clean_pod_policy="Running")["properties"]["spec"]["properties"]
    assert old["cleanPodPolicy"]["default"] == "Running"
    assert "default" not in old["runPolicy"]["properties"]["cleanPodPolicy"]
