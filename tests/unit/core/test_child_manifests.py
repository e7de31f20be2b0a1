"""The manifests of pods, services and batch Jobs."""

import copy
from typing import Any

import msgspec
import pytest

from tests.support.builders import OWNER, a_job, container, decoded, manifest, replica_spec
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.job import Job
from tfjob.core.plan import Create
from tfjob.dialects.base import Settings

OWNERS = [OWNER]
CONFIG = (
    '{"cluster":{"chief":["j-chief-0.n.svc:2222"],"worker":["j-worker-0.n.svc:2222"]},'
    '"task":{"type":"chief","index":0},"environment":"cloud"}'
)


def labels(role: str, index: int, **more: str) -> dict[str, str]:
    return {
        "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/replica-type": role,
        "training.kubeflow.org/replica-index": str(index),
        **more,
    }


LEADER = {"training.kubeflow.org/job-role": "master"}


def pod(job: Job, place: int = 0, index: int = 0) -> dict[str, Any]:
    return ManifestBuilder(job).pod(job.replicas[place], index)


def worker_of(template: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A job of two workers with this template."""
    given = manifest("W2", **fields)
    given["spec"]["tfReplicaSpecs"]["Worker"] = replica_spec(2, template=template)
    return given


def changed(job: Job, **fields: Any) -> Job:
    """The job with other fields of its only replica type."""
    return msgspec.structs.replace(
        job, replicas=[msgspec.structs.replace(job.replicas[0], **fields)]
    )


@pytest.mark.scenario(22, 23)
def test_the_pod_is_the_worked_object_of_the_contract() -> None:
    given = manifest("C1 W1", restart="ExitCode")
    template = given["spec"]["tfReplicaSpecs"]["Chief"]["template"]
    template["metadata"] = {"labels": {"app": "x"}}
    assert pod(decoded(given)) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "j-chief-0",
            "labels": labels("chief", 0, app="x") | LEADER,
            "ownerReferences": OWNERS,
        },
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {
                    "name": "tensorflow",
                    "image": "img",
                    "ports": [{"name": "tfjob-port", "containerPort": 2222}],
                    "env": [{"name": "TF_CONFIG", "value": CONFIG}],
                    "terminationMessagePolicy": "FallbackToLogsOnError",
                }
            ],
        },
    }


@pytest.mark.scenario(28)
def test_the_service_is_the_worked_object_of_the_contract() -> None:
    job = a_job("C1 W1")
    assert ManifestBuilder(job).service(job.replicas[0], 0) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "j-chief-0",
            "labels": labels("chief", 0),
            "ownerReferences": OWNERS,
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": labels("chief", 0),
            "ports": [{"name": "tfjob-port", "port": 2222}],
        },
    }


def test_a_service_can_have_an_address_of_its_own() -> None:
    job = changed(a_job("W1"), has_cluster_ip=True)
    assert "clusterIP" not in ManifestBuilder(job).service(job.replicas[0], 0)["spec"]


def test_a_services_ports_carry_their_protocol_if_one_is_given() -> None:
    port = {"name": "data", "containerPort": 9, "protocol": "UDP"}
    job = decoded(worker_of({"spec": {"containers": [container(ports=[port])]}}))
    assert ManifestBuilder(job).service(job.replicas[0], 1)["spec"]["ports"] == [
        {"name": "data", "port": 9, "protocol": "UDP"},
        {"name": "tfjob-port", "port": 2222},
    ]


@pytest.mark.scenario(26)
@pytest.mark.parametrize(
    ("roles", "leaders"),
    [
        ("C1 W2", ["j-chief-0"]),
        ("M1 W2", ["j-master-0"]),
        ("W2", ["j-worker-0"]),
        ("P1 W2 E1", ["j-worker-0"]),
        ("C0 W2", ["j-worker-0"]),
    ],
)
def test_only_decisive_pods_have_the_leader_label(roles: str, leaders: list[str]) -> None:
    job = a_job(roles)
    builder = ManifestBuilder(job)
    made = [
        builder.pod(replica, index) for replica in job.replicas for index in range(replica.count)
    ]
    marked = [
        each["metadata"]["name"]
        for each in made
        if each["metadata"]["labels"].get("training.kubeflow.org/job-role") == "master"
    ]
    assert marked == leaders


def test_own_labels_override_the_template_and_default_labels_do_not() -> None:
    given_labels = {
        "training.kubeflow.org/replica-index": "9",
        "training.kubeflow.org/job-role": "mine",
        "job-name": "mine",
        "replica-index": "mine",
        "job-role": "mine",
    }
    template = {
        "metadata": {"labels": given_labels},
        "spec": {"containers": [container()]},
    }
    job = decoded(worker_of(template), Settings(has_legacy_labels=True))
    found = pod(job)["metadata"]["labels"]
    assert found == labels("worker", 0) | LEADER | {
        "group-name": "kubeflow.org",
        "replica-type": "worker",
        "job-name": "mine",
        "replica-index": "mine",
        "job-role": "mine",
    }


def test_default_labels_apply_if_the_template_does_not_set_them() -> None:
    job = a_job("W2", Settings(has_legacy_labels=True))
    weak = {"group-name": "kubeflow.org", "job-name": "j", "replica-type": "worker"}
    found = [pod(job, index=index)["metadata"]["labels"] for index in (0, 1)]
    assert found == [
        labels("worker", 0) | LEADER | weak | {"replica-index": "0", "job-role": "master"},
        labels("worker", 1) | weak | {"replica-index": "1"},
    ]
    service = ManifestBuilder(job).service(job.replicas[0], 0)
    assert service["metadata"]["labels"] == labels("worker", 0)


def test_annotations_and_finalizers_pass_and_other_metadata_does_not() -> None:
    metadata = {
        "name": "mine",
        "namespace": "elsewhere",
        "annotations": {"a": "1"},
        "finalizers": ["x/y"],
        "generateName": "g-",
    }
    job = decoded(worker_of({"metadata": metadata, "spec": {"containers": [container()]}}))
    found = pod(job)["metadata"]
    assert found["annotations"] == {"a": "1"}
    assert found["finalizers"] == ["x/y"]
    assert sorted(found) == ["annotations", "finalizers", "labels", "name", "ownerReferences"]
    assert found["name"] == "j-worker-0"


@pytest.mark.scenario(38)
def test_tf_config_comes_last_in_the_first_training_container_and_in_no_other() -> None:
    env = [{"name": "TF_CONFIG", "value": "mine"}, {"name": "A", "value": "1"}]
    containers = [
        container(name="proxy"),
        container(env=env),
        container(image="second"),
    ]
    job = decoded(worker_of({"spec": {"containers": containers}}))
    proxy, first, second = pod(job)["spec"]["containers"]
    assert "env" not in proxy
    assert "env" not in second
    assert first["env"][:2] == env
    assert [each["name"] for each in first["env"]] == ["TF_CONFIG", "A", "TF_CONFIG"]


def test_a_users_tf_config_may_be_replaced() -> None:
    env = [{"name": "TF_CONFIG", "value": "mine"}, {"name": "A", "value": "1"}]
    job = decoded(worker_of({"spec": {"containers": [container(env=env)]}}))
    form = msgspec.structs.replace(job.tf_config, replaces_user_value=True)
    (found,) = pod(msgspec.structs.replace(job, tf_config=form))["spec"]["containers"]
    assert [each["name"] for each in found["env"]] == ["A", "TF_CONFIG"]
    assert found["env"][1]["value"].startswith('{"cluster":')


def test_every_container_of_the_name_may_get_a_tf_config() -> None:
    containers = [container(), container(name="proxy"), container(image="second")]
    job = decoded(worker_of({"spec": {"containers": containers}}))
    form = msgspec.structs.replace(job.tf_config, is_in_every_training_container=True)
    found = pod(msgspec.structs.replace(job, tf_config=form))["spec"]["containers"]
    assert ["env" in each for each in found] == [True, False, True]


def test_template_of_a_single_replica_is_unchanged() -> None:
    (found,) = pod(a_job("W1"))["spec"]["containers"]
    assert "env" not in found


def test_each_replica_may_have_a_command_of_its_own() -> None:
    job = changed(a_job("W2"), commands=[["a"], ["b", "c"]])
    assert [pod(job, index=index)["spec"]["containers"][0]["command"] for index in (0, 1)] == [
        ["a"],
        ["b", "c"],
    ]


def test_a_command_reaches_a_replica_without_tf_config() -> None:
    (found,) = pod(changed(a_job("W1"), commands=[["a"]]))["spec"]["containers"]
    assert found["command"] == ["a"]
    assert "env" not in found


@pytest.mark.scenario(24)
@pytest.mark.parametrize(
    ("policy", "expected"),
    [("ExitCode", "Never"), ("Never", "Never"), ("Always", "Always"), ("OnFailure", "OnFailure")],
)
def test_the_replicas_policy_becomes_the_pods(policy: str, expected: str) -> None:
    assert pod(a_job("W1", restart=policy))["spec"]["restartPolicy"] == expected


def test_the_rest_of_the_template_passes_untouched_and_is_not_changed() -> None:
    spec = {
        "containers": [container(resources={"limits": {"cpu": 1}})],
        "initContainers": [{"name": "init", "image": "i"}],
        "nodeSelector": {"a": "b"},
        "newField": {"of": ["tomorrow"]},
    }
    given = worker_of({"spec": spec}, run_policy={})
    before = copy.deepcopy(given)
    job = decoded(given, Settings(gang_scheduler_name="volcano"))
    builder = ManifestBuilder(job)
    found = [builder.pod(job.replicas[0], index) for index in (0, 1)]
    assert given == before
    for each in found:
        assert each["spec"]["initContainers"] == spec["initContainers"]
        assert each["spec"]["nodeSelector"] == {"a": "b"}
        assert each["spec"]["newField"] == {"of": ["tomorrow"]}
    values = [each["spec"]["containers"][0]["env"][-1]["value"] for each in found]
    assert values[0] != values[1]


def test_a_batch_job_wraps_the_pod_and_never_gives_up() -> None:
    job = a_job("W2", restart="OnFailure")
    found = ManifestBuilder(job).batch_job(job.replicas[0], 1)
    template = found["spec"].pop("template")
    assert found == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j-worker-1",
            "labels": labels("worker", 1),
            "ownerReferences": OWNERS,
        },
        "spec": {"completions": 1, "parallelism": 1, "backoffLimit": 2147483647},
    }
    assert template["metadata"] == {"labels": labels("worker", 1)}
    assert template["spec"] == pod(job, index=1)["spec"]


@pytest.mark.parametrize(
    ("kind", "expected"), [("Pod", "Pod"), ("Service", "Service"), ("Job", "Job")]
)
def test_what_a_plan_names_is_built(kind: str, expected: str) -> None:
    job = a_job("P1 W2")
    found = ManifestBuilder(job).manifest(Create(kind=kind, name="x", type="Worker", index=1))
    assert (found["kind"], found["metadata"]["name"]) == (expected, "j-worker-1")


def test_body_in_the_plan_is_used_unchanged() -> None:
    body = {"kind": "ConfigMap", "data": {}}
    found = ManifestBuilder(a_job("W1")).manifest(Create(kind="ConfigMap", name="x", body=body))
    assert found == body
