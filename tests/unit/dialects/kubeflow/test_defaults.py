"""Defaults of absent fields, applied in memory."""

import copy
from typing import Any

import pytest

from tests.support.builders import a_job, container, decide, decoded, manifest, replica_spec
from tests.unit.dialects.rendering import pods_of, services_of, tf_configs, training_container
from tfjob.core.job import CleanPolicy, RestartPolicy
from tfjob.dialects.base import Settings, StatusContext
from tfjob.dialects.kubeflow.v1 import KubeflowV1

TRAINING_PORT = {"name": "tfjob-port", "containerPort": 2222}
CUSTOM_PORT = {"name": "custom-port", "containerPort": 1234}


def with_ports(*ports: dict[str, object]) -> dict[str, object]:
    return replica_spec(containers=[container(ports=list(ports))])


@pytest.mark.scenario(1)
@pytest.mark.parametrize("key", ["WORKER", "worker", "wOrKeR"])
def test_type_in_any_case_means_the_canonical_one(key: str) -> None:
    given = manifest()
    given["spec"]["tfReplicaSpecs"] = {key: replica_spec()}
    before = copy.deepcopy(given)
    job = decoded(given)
    plan = decide(job)
    assert [replica.type for replica in job.replicas] == ["Worker"]
    assert list(pods_of(job)) == ["j-worker-0"]
    assert plan.status is not None
    assert list(
        KubeflowV1().encode_status(job, plan.status, StatusContext())["replicaStatuses"]
    ) == ["Worker"]
    assert given == before


@pytest.mark.scenario(2)
def test_absent_values_become_the_defaults_and_given_ones_stay() -> None:
    given = manifest()
    entry = with_ports(TRAINING_PORT) | {"restartPolicy": "Always"}
    del entry["replicas"]
    given["spec"]["tfReplicaSpecs"] = {"Worker": entry}
    job = decoded(given)
    (replica,) = job.replicas
    assert (replica.count, replica.restart) == (1, RestartPolicy.ALWAYS)
    assert job.policy.clean is CleanPolicy.NONE
    assert job.semantics.success_criterion.index == 0
    assert training_container(pods_of(job)["j-worker-0"])["ports"] == [TRAINING_PORT]


@pytest.mark.scenario(3)
@pytest.mark.parametrize("fields", [{}, {"restartPolicy": ""}, {"restartPolicy": None}])
def test_absent_restart_policy_is_never(fields: dict[str, Any]) -> None:
    given = manifest(tfReplicaSpecs={"Worker": replica_spec(**fields)})
    (replica,) = decoded(given).replicas
    assert replica.restart is RestartPolicy.NEVER


@pytest.mark.scenario(4)
@pytest.mark.parametrize("ports", [{}, {"ports": []}, {"ports": None}])
def test_container_without_ports_gets_the_training_port(ports: dict[str, object]) -> None:
    entry = replica_spec(containers=[container(**ports)])
    job = decoded(manifest(tfReplicaSpecs={"Worker": entry}))
    assert training_container(pods_of(job)["j-worker-0"])["ports"] == [TRAINING_PORT]


@pytest.mark.scenario(5)
def test_training_port_comes_after_the_users_own_and_carries_tf_config() -> None:
    specs = {"Worker": with_ports(CUSTOM_PORT) | {"replicas": 2}}
    job = decoded(manifest(tfReplicaSpecs=specs))
    ports = training_container(pods_of(job)["j-worker-0"])["ports"]
    assert ports == [CUSTOM_PORT, TRAINING_PORT]
    assert '"j-worker-0.n.svc:2222"' in str(tf_configs(job)["j-worker-0"])
    assert services_of(job)["j-worker-0"]["spec"]["ports"] == [
        {"name": "custom-port", "port": 1234},
        {"name": "tfjob-port", "port": 2222},
    ]


@pytest.mark.scenario(6)
@pytest.mark.parametrize("policy", ["All", "Running", "None"])
def test_clean_policy_that_is_given_survives_defaulting(policy: str) -> None:
    specs = {"Worker": with_ports(CUSTOM_PORT)}
    job = decoded(manifest(tfReplicaSpecs=specs, run_policy={"cleanPodPolicy": policy}))
    assert job.policy.clean == policy


def test_port_2222_under_another_name_does_not_count() -> None:
    job = decoded(manifest(tfReplicaSpecs={"Worker": with_ports({"containerPort": 2222})}))
    assert training_container(pods_of(job)["j-worker-0"])["ports"] == [
        {"containerPort": 2222},
        TRAINING_PORT,
    ]
    assert services_of(job)["j-worker-0"]["spec"]["ports"] == [{"name": "tfjob-port", "port": 2222}]


def test_only_the_first_training_container_gets_the_port() -> None:
    twins = [container(image="a"), container(image="b")]
    job = decoded(manifest(tfReplicaSpecs={"Worker": replica_spec(containers=twins)}))
    first, second = pods_of(job)["j-worker-0"]["spec"]["containers"]
    assert first["ports"] == [TRAINING_PORT]
    assert "ports" not in second


def test_default_clean_policy_is_a_setting() -> None:
    assert a_job(settings=Settings(default_clean_pod_policy="All")).policy.clean is CleanPolicy.ALL


@pytest.mark.parametrize("value", ["", None])
def test_empty_clean_policy_counts_as_absent(value: str | None) -> None:
    assert a_job(run_policy={"cleanPodPolicy": value}).policy.clean is CleanPolicy.NONE
    both = a_job(run_policy={"cleanPodPolicy": value}, cleanPodPolicy="All")
    assert both.policy.clean is CleanPolicy.ALL


@pytest.mark.parametrize("place", ["runPolicy", "spec"])
def test_stored_clean_policy_that_nobody_knows_deletes_nothing(place: str) -> None:
    fields: dict[str, Any] = {"cleanPodPolicy": "Runing"}
    given = manifest(run_policy=fields) if place == "runPolicy" else manifest(**fields)
    settings = Settings(default_clean_pod_policy="All")
    assert decoded(given, settings).policy.clean is CleanPolicy.NONE
    assert len(KubeflowV1().validate(given)) == 1
