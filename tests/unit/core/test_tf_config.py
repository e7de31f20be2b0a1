"""TF_CONFIG byte for byte."""

import json
from typing import Any

import msgspec
import pytest

from tests.support.builders import a_job, container, decoded, manifest, replica_spec
from tfjob.core.job import Job
from tfjob.core.tf_config import ClusterSpec
from tfjob.dialects.base import Settings

WITH_EVALUATOR = Settings(has_evaluator_in_cluster=True)


def text(job: Job, kind: str, index: int = 0) -> str | None:
    replica = next(each for each in job.replicas if each.type == kind)
    return ClusterSpec(job).text(replica, index)


def formed(job: Job, **form: Any) -> Job:
    return msgspec.structs.replace(job, tf_config=msgspec.structs.replace(job.tf_config, **form))


@pytest.mark.scenario(31)
@pytest.mark.parametrize("domain", ["", "tf.training.org"])
def test_a_pair_of_server_and_worker_sees_the_worked_string(domain: str) -> None:
    job = a_job("P1 W1", Settings(cluster_domain=domain))
    end = f".{domain}:2222" if domain else ":2222"
    cluster = f'{{"ps":["j-ps-0.n.svc{end}"],"worker":["j-worker-0.n.svc{end}"]}}'
    for kind, task in (("PS", "ps"), ("Worker", "worker")):
        expected = (
            f'{{"cluster":{cluster},"task":{{"type":"{task}","index":0}},"environment":"cloud"}}'
        )
        assert text(job, kind) == expected


@pytest.mark.scenario(32)
def test_an_evaluator_put_into_the_cluster_comes_first() -> None:
    settings = Settings(cluster_domain="tf.training.io", has_evaluator_in_cluster=True)
    assert text(a_job("W1 P1 E1", settings), "Worker") == (
        '{"cluster":{"evaluator":["j-evaluator-0.n.svc.tf.training.io:2222"],'
        '"ps":["j-ps-0.n.svc.tf.training.io:2222"],'
        '"worker":["j-worker-0.n.svc.tf.training.io:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )
    assert text(a_job("W1 P1 E1", WITH_EVALUATOR), "Worker") == (
        '{"cluster":{"evaluator":["j-evaluator-0.n.svc:2222"],'
        '"ps":["j-ps-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


def test_an_evaluator_is_otherwise_left_out_and_keeps_its_own_task() -> None:
    assert text(a_job("W1 P1 E1"), "Evaluator") == (
        '{"cluster":{"ps":["j-ps-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222"]},'
        '"task":{"type":"evaluator","index":0},"environment":"cloud"}'
    )


@pytest.mark.scenario(33)
@pytest.mark.parametrize(
    ("roles", "is_there"),
    [
        ("W1", False),
        ("W1 P1", True),
        ("P1", False),
        ("C1 W1", True),
        ("W2", True),
        ("C1 W0", False),
    ],
)
def test_only_a_distributed_job_has_a_tf_config(roles: str, is_there: bool) -> None:
    job = a_job(roles)
    assert (text(job, job.replicas[0].type) is not None) is is_there


@pytest.mark.scenario(35)
def test_all_replicas_see_one_cluster_and_differ_by_their_task_alone() -> None:
    job = a_job("C1 P2 W2 E1", WITH_EVALUATOR)
    found = [
        json.loads(text(job, replica.type, index) or "")
        for replica in job.replicas
        for index in range(replica.count)
    ]
    assert {kind: len(each) for kind, each in found[0]["cluster"].items()} == {
        "chief": 1,
        "evaluator": 1,
        "ps": 2,
        "worker": 2,
    }
    assert all(each["cluster"] == found[0]["cluster"] for each in found)
    assert [(each["task"]["type"], each["task"]["index"]) for each in found] == [
        ("chief", 0),
        ("ps", 0),
        ("ps", 1),
        ("worker", 0),
        ("worker", 1),
        ("evaluator", 0),
    ]


BOTH_SERVERS = '"j-ps-0.n.svc:2222","j-ps-1.n.svc:2222"'


@pytest.mark.scenario(36)
@pytest.mark.parametrize(
    ("kind", "index", "worker", "servers"),
    [
        ("Worker", 0, '"0":"j-worker-0.n.svc:2222"', BOTH_SERVERS),
        ("Worker", 1, '"1":"j-worker-1.n.svc:2222"', BOTH_SERVERS),
        ("PS", 0, "", '"j-ps-0.n.svc:2222"'),
        ("PS", 1, "", BOTH_SERVERS),
        ("Chief", 0, "", ""),
        ("Evaluator", 0, "", ""),
    ],
)
def test_with_dynamic_workers_each_sees_only_what_it_needs(
    kind: str, index: int, worker: str, servers: str
) -> None:
    job = a_job("C1 P2 W2 E1", enableDynamicWorker=True)
    assert text(job, kind, index) == (
        f'{{"cluster":{{"worker":{{{worker}}},"ps":[{servers}]}},'
        f'"task":{{"type":"{kind.lower()}","index":{index}}}}}'
    )


@pytest.mark.scenario(37)
def test_with_dynamic_workers_and_no_servers_their_list_is_empty() -> None:
    assert text(a_job("W2", enableDynamicWorker=True), "Worker", 1) == (
        '{"cluster":{"worker":{"1":"j-worker-1.n.svc:2222"},"ps":[]},'
        '"task":{"type":"worker","index":1}}'
    )


def test_a_single_dynamic_worker_is_ready_to_be_joined() -> None:
    assert text(a_job("W1", enableDynamicWorker=True), "Worker") == (
        '{"cluster":{"worker":{"0":"j-worker-0.n.svc:2222"},"ps":[]},'
        '"task":{"type":"worker","index":0}}'
    )


@pytest.mark.scenario(39)
def test_each_types_addresses_carry_its_own_port() -> None:
    given = manifest("W1")
    port = {"name": "tfjob-port", "containerPort": 3333}
    given["spec"]["tfReplicaSpecs"]["PS"] = replica_spec(1, containers=[container(ports=[port])])
    assert text(decoded(given), "Worker") == (
        '{"cluster":{"ps":["j-ps-0.n.svc:3333"],"worker":["j-worker-0.n.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


def test_a_type_without_replicas_is_listed_empty_or_left_out() -> None:
    job = a_job("P0 W2")
    found = json.loads(text(job, "Worker") or "")
    assert found["cluster"]["ps"] == []
    short = json.loads(text(formed(job, lists_empty_types=False), "Worker") or "")
    assert list(short["cluster"]) == ["worker"]


def test_without_an_environment_the_task_comes_last() -> None:
    job = formed(a_job("W2"), environment=None)
    assert text(job, "Worker", 1) == (
        '{"cluster":{"worker":["j-worker-0.n.svc:2222","j-worker-1.n.svc:2222"]},'
        '"task":{"type":"worker","index":1}}'
    )


def test_another_environment_is_named() -> None:
    found = text(formed(a_job("W2"), environment="lab"), "Worker")
    assert found is not None
    assert found.endswith('"environment":"lab"}')


def test_a_job_that_wants_none_has_none() -> None:
    assert text(formed(a_job("W2"), is_enabled=False), "Worker") is None
