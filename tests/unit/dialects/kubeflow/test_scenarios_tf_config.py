"""TF_CONFIG byte for byte."""

from typing import Any

import pytest

from tests.support.builders import a_job, container, decoded, manifest, replica_spec
from tests.unit.dialects.rendering import pods_of, tf_config, tf_configs, training_container
from tfjob.core.job import Job
from tfjob.dialects.base import Settings

IN_CLUSTER = Settings(has_evaluator_in_cluster=True)


def in_domain(domain: str, **more: Any) -> Settings:
    return Settings(cluster_domain=domain, **more)


def dynamic(roles: str) -> Job:
    return decoded(manifest(roles, enableDynamicWorker=True))


@pytest.mark.scenario(30)
@pytest.mark.parametrize("domain", ["", "tf.training.com"])
def test_single_worker_gets_no_tf_config(domain: str) -> None:
    assert tf_configs(a_job("W1", in_domain(domain))) == {"j-worker-0": None}


@pytest.mark.scenario(31)
def test_cluster_domain_ends_every_address() -> None:
    assert tf_configs(a_job("W1 P1", in_domain("tf.training.org")))["j-worker-0"] == (
        '{"cluster":{"ps":["j-ps-0.n.svc.tf.training.org:2222"],'
        '"worker":["j-worker-0.n.svc.tf.training.org:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


@pytest.mark.scenario(32)
def test_evaluator_comes_first_where_it_is_put_into_the_cluster() -> None:
    settings = in_domain("tf.training.io", has_evaluator_in_cluster=True)
    assert tf_configs(a_job("W1 P1 E1", settings))["j-worker-0"] == (
        '{"cluster":{"evaluator":["j-evaluator-0.n.svc.tf.training.io:2222"],'
        '"ps":["j-ps-0.n.svc.tf.training.io:2222"],'
        '"worker":["j-worker-0.n.svc.tf.training.io:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )
    assert tf_configs(a_job("W1 P1 E1", IN_CLUSTER))["j-worker-0"] == (
        '{"cluster":{"evaluator":["j-evaluator-0.n.svc:2222"],'
        '"ps":["j-ps-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


def test_evaluator_is_left_out_of_the_cluster_and_keeps_its_task() -> None:
    found = tf_configs(a_job("W1 P1 E1"))
    cluster = '{"cluster":{"ps":["j-ps-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222"]},'
    assert found["j-worker-0"] == (
        cluster + '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )
    assert found["j-evaluator-0"] == (
        cluster + '"task":{"type":"evaluator","index":0},"environment":"cloud"}'
    )


@pytest.mark.scenario(33)
@pytest.mark.parametrize(
    ("roles", "is_there"), [("W1", False), ("W1 P1", True), ("P1", False), ("C1 W1", True)]
)
def test_tf_config_is_there_exactly_when_the_job_is_distributed(roles: str, is_there: bool) -> None:
    for value in tf_configs(a_job(roles)).values():
        assert (value is not None) == is_there


def test_worked_string_of_a_parameter_server() -> None:
    assert tf_configs(a_job("P1 W1"))["j-ps-0"] == (
        '{"cluster":{"ps":["j-ps-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222"]},'
        '"task":{"type":"ps","index":0},"environment":"cloud"}'
    )


@pytest.mark.scenario(35)
def test_all_pods_see_the_same_cluster_and_differ_by_their_task() -> None:
    cluster = (
        '{"cluster":{"chief":["j-chief-0.n.svc:2222"],"evaluator":["j-evaluator-0.n.svc:2222"],'
        '"ps":["j-ps-0.n.svc:2222","j-ps-1.n.svc:2222"],'
        '"worker":["j-worker-0.n.svc:2222","j-worker-1.n.svc:2222"]},'
    )
    tasks = [("chief", 0), ("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1), ("evaluator", 0)]
    assert tf_configs(a_job("C1 P2 W2 E1", IN_CLUSTER)) == {
        f"j-{kind}-{index}": (
            f'{cluster}"task":{{"type":"{kind}","index":{index}}},"environment":"cloud"}}'
        )
        for kind, index in tasks
    }


@pytest.mark.scenario(36)
def test_dynamic_worker_sees_itself_and_all_servers() -> None:
    found = tf_configs(dynamic("P2 W2"))
    servers = '"ps":["j-ps-0.n.svc:2222","j-ps-1.n.svc:2222"]'
    assert found["j-worker-0"] == (
        f'{{"cluster":{{"worker":{{"0":"j-worker-0.n.svc:2222"}},{servers}}},'
        '"task":{"type":"worker","index":0}}'
    )
    assert found["j-worker-1"] == (
        f'{{"cluster":{{"worker":{{"1":"j-worker-1.n.svc:2222"}},{servers}}},'
        '"task":{"type":"worker","index":1}}'
    )
    assert found["j-ps-0"] == (
        '{"cluster":{"worker":{},"ps":["j-ps-0.n.svc:2222"]},"task":{"type":"ps","index":0}}'
    )
    assert found["j-ps-1"] == (
        f'{{"cluster":{{"worker":{{}},{servers}}},"task":{{"type":"ps","index":1}}}}'
    )


@pytest.mark.scenario(37)
def test_dynamic_worker_without_servers_sees_an_empty_list() -> None:
    assert tf_configs(dynamic("W2"))["j-worker-1"] == (
        '{"cluster":{"worker":{"1":"j-worker-1.n.svc:2222"},"ps":[]},'
        '"task":{"type":"worker","index":1}}'
    )


@pytest.mark.parametrize("kind", ["chief", "evaluator"])
def test_dynamic_job_tells_other_types_of_nobody(kind: str) -> None:
    assert tf_configs(dynamic("C1 P1 W1 E1"))[f"j-{kind}-0"] == (
        f'{{"cluster":{{"worker":{{}},"ps":[]}},"task":{{"type":"{kind}","index":0}}}}'
    )


def test_single_dynamic_worker_sees_itself() -> None:
    assert tf_configs(dynamic("W1"))["j-worker-0"] == (
        '{"cluster":{"worker":{"0":"j-worker-0.n.svc:2222"},"ps":[]},'
        '"task":{"type":"worker","index":0}}'
    )


def test_type_without_replicas_is_an_empty_list() -> None:
    assert tf_configs(a_job("C1 P0 W1"))["j-chief-0"] == (
        '{"cluster":{"chief":["j-chief-0.n.svc:2222"],"ps":[],"worker":["j-worker-0.n.svc:2222"]},'
        '"task":{"type":"chief","index":0},"environment":"cloud"}'
    )


@pytest.mark.scenario(38)
def test_tf_config_is_appended_to_the_training_container_alone() -> None:
    own = [{"name": "TF_CONFIG", "value": "mine"}, {"name": "A", "value": "1"}, {"name": "B"}]
    sidecar = {"name": "sidecar", "image": "img", "env": [{"name": "C", "value": "2"}]}
    entry = replica_spec(2, containers=[sidecar, container(env=own), container(env=[])])
    pod = pods_of(decoded(manifest(tfReplicaSpecs={"Worker": entry})))["j-worker-0"]
    untouched, trained, twin = pod["spec"]["containers"]
    assert untouched == sidecar
    assert twin["env"] == []
    assert trained["env"][:-1] == own
    assert trained["env"][-1]["name"] == "TF_CONFIG"
    assert trained["env"][-1]["value"] == tf_config(pod)
    assert trained == training_container(pod)


@pytest.mark.scenario(39)
def test_each_type_has_its_own_port_in_its_addresses() -> None:
    port = {"name": "tfjob-port", "containerPort": 3333}
    given = manifest("W1")
    given["spec"]["tfReplicaSpecs"]["PS"] = replica_spec(containers=[container(ports=[port])])
    assert tf_configs(decoded(given))["j-worker-0"] == (
        '{"cluster":{"ps":["j-ps-0.n.svc:3333"],"worker":["j-worker-0.n.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )
