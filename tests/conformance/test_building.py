"""The pods and services of a job, as the API server stores them."""

import json
from typing import Any

import pytest

from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture, counts_of
from tests.support.tfjobs import container, of_types, replica, tfjob

Json = dict[str, Any]
LABELS = "training.kubeflow.org"


def tensorflow_of(pod: Json) -> Json:
    found: Json = next(each for each in pod["spec"]["containers"] if each["name"] == "tensorflow")
    return found


def env_of(pod: Json, name: str = "tensorflow") -> Json:
    containers = [each for each in pod["spec"]["containers"] if each["name"] == name]
    return {each["name"]: each["value"] for each in containers[0].get("env", [])}


def ports_of(item: Json, number: str = "containerPort") -> list[tuple[str, int]]:
    ports = item["spec"]["ports"] if "ports" in item["spec"] else tensorflow_of(item)["ports"]
    return [(each["name"], each[number]) for each in ports]


def identity(role: str, index: int) -> Json:
    return {
        f"{LABELS}/operator-name": "tfjob-controller",
        f"{LABELS}/job-name": "j",
        f"{LABELS}/replica-type": role,
        f"{LABELS}/replica-index": str(index),
    }


@pytest.mark.scenario(1)
async def test_key_in_capitals_means_worker_and_stays_as_stored(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.create(of_types(WORKER=replica(2)))
    await fixture.children("j-worker-0", "j-worker-1")
    job = await fixture.until("two run", lambda job: counts_of(job) == {"active": 2})
    assert list(job["spec"]["tfReplicaSpecs"]) == ["WORKER"]
    assert list(job["status"]["replicaStatuses"]) == ["Worker"]


@pytest.mark.scenario(2, 3, 4)
async def test_absent_replicas_policy_and_port_become_one_never_and_2222(
    fixture: JobFixture,
) -> None:
    await fixture.create(of_types(Worker=replica(None)))
    await fixture.children("j-worker-0")
    pod = (await fixture.pods())["j-worker-0"]
    assert pod["spec"]["restartPolicy"] == "Never"
    assert ports_of(pod) == [("tfjob-port", 2222)]
    stored = await fixture.job()
    assert "replicas" not in stored["spec"]["tfReplicaSpecs"]["Worker"]


@pytest.mark.scenario(5, 29)
async def test_other_ports_stay_and_an_unnamed_one_is_published_by_its_number(
    fixture: JobFixture,
) -> None:
    ports = [{"name": "custom-port", "containerPort": 1234}, {"containerPort": 8000}]
    own = replica(1, containers=[container(ports=ports)])
    await fixture.create(of_types(Worker=own, PS=replica(1)))
    await fixture.children("j-worker-0", "j-ps-0")
    service = (await fixture.services())["j-worker-0"]
    published = {("custom-port", 1234), ("port-8000", 8000), ("tfjob-port", 2222)}
    assert set(ports_of(service, "port")) == published
    config = json.loads(env_of((await fixture.pods())["j-ps-0"])["TF_CONFIG"])
    assert config["cluster"]["worker"] == [f"j-worker-0.{fixture.namespace}.svc:2222"]


@pytest.mark.scenario(22, 26, 27)
async def test_every_replica_has_a_pod_and_a_service_owned_by_the_job(fixture: JobFixture) -> None:
    job = await fixture.submit("C1 P2 W3 E1")
    names = ["j-chief-0", "j-ps-0", "j-ps-1", "j-worker-0", "j-worker-1", "j-worker-2"]
    await fixture.children(*names, "j-evaluator-0")
    owner = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "name": "j",
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    pods = await fixture.pods()
    for child in (*pods.values(), *(await fixture.services()).values()):
        assert child["metadata"]["ownerReferences"] == [owner]
    role = f"{LABELS}/job-role"
    masters = [name for name, pod in pods.items() if pod["metadata"]["labels"].get(role)]
    assert masters == ["j-chief-0"]


@pytest.mark.scenario(23, 24)
async def test_template_labels_reach_the_pod_beside_the_operators(fixture: JobFixture) -> None:
    specs = {}
    for key, policy in (
        ("Chief", "ExitCode"),
        ("PS", "Never"),
        ("Worker", "Always"),
        ("Evaluator", "OnFailure"),
    ):
        specs[key] = replica(1, restart=policy)
        specs[key]["template"]["metadata"] = {
            "labels": {"label1": "1"},
            "annotations": {"annotation1": "1"},
        }
    await fixture.create(of_types(**specs))
    await fixture.children("j-chief-0", "j-ps-0", "j-worker-0", "j-evaluator-0")
    pods = await fixture.pods()
    policies = {name: pod["spec"]["restartPolicy"] for name, pod in pods.items()}
    assert policies == {
        "j-chief-0": "Never",
        "j-ps-0": "Never",
        "j-worker-0": "Always",
        "j-evaluator-0": "OnFailure",
    }
    worker = pods["j-worker-0"]["metadata"]
    assert worker["labels"] == {"label1": "1", **identity("worker", 0)}
    assert worker["annotations"] == {"annotation1": "1"}


@pytest.mark.scenario(25)
async def test_restart_policy_inside_the_template_is_overruled_with_a_warning(
    fixture: JobFixture,
) -> None:
    await fixture.create(of_types(Worker=replica(1, restartPolicy="OnFailure")))
    await fixture.children("j-worker-0")
    assert (await fixture.pods())["j-worker-0"]["spec"]["restartPolicy"] == "Never"
    await fixture.event(
        "SetPodTemplateRestartPolicy",
        "Restart policy in pod template will be overwritten by restart policy in replica spec",
        kind="Warning",
    )


@pytest.mark.scenario(26)
async def test_worker_0_alone_is_master_without_a_chief(fixture: JobFixture) -> None:
    await fixture.submit("P1 W2")
    await fixture.children("j-ps-0", "j-worker-0", "j-worker-1")
    role = f"{LABELS}/job-role"
    roles = {
        name: pod["metadata"]["labels"].get(role) for name, pod in (await fixture.pods()).items()
    }
    assert roles == {"j-ps-0": None, "j-worker-0": "master", "j-worker-1": None}


@pytest.mark.scenario(28)
async def test_service_is_headless_and_selects_its_replica_alone(fixture: JobFixture) -> None:
    await fixture.submit("W1")
    await fixture.children("j-worker-0")
    service = (await fixture.services())["j-worker-0"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert service["spec"]["selector"] == identity("worker", 0)
    assert service["metadata"]["labels"] == identity("worker", 0)
    assert service["spec"]["ports"] == [
        {"name": "tfjob-port", "port": 2222, "protocol": "TCP", "targetPort": 2222}
    ]


@pytest.mark.scenario(30, 33)
@pytest.mark.parametrize(
    ("roles", "is_there"), [("W1", False), ("P1", False), ("C1 W1", True), ("P1 W1", True)]
)
async def test_tf_config_is_there_exactly_when_the_job_is_distributed(
    fixture: JobFixture, roles: str, is_there: bool
) -> None:
    await fixture.submit(roles)
    await fixture.until("started", lambda job: "startTime" in job.get("status", {}))
    for pod in (await fixture.pods()).values():
        assert ("TF_CONFIG" in env_of(pod)) == is_there


@pytest.mark.scenario(34)
async def test_tf_config_of_the_published_mnist_job_comes_out_byte_for_byte(
    fixture: JobFixture,
) -> None:
    name = "dist-mnist-for-e2e-test"
    await fixture.submit("P1 W1", name=name)
    await fixture.children(f"{name}-ps-0", f"{name}-worker-0")
    domain = f"{fixture.namespace}.svc:2222"
    for role, pod in (("ps", f"{name}-ps-0"), ("worker", f"{name}-worker-0")):
        assert env_of((await fixture.pods())[pod])["TF_CONFIG"] == (
            f'{{"cluster":{{"ps":["{name}-ps-0.{domain}"],'
            f'"worker":["{name}-worker-0.{domain}"]}},'
            f'"task":{{"type":"{role}","index":0}},"environment":"cloud"}}'
        )


@pytest.mark.scenario("R33")
async def test_evaluator_is_in_nobodys_cluster_and_has_its_own_task(fixture: JobFixture) -> None:
    await fixture.submit("C1 P1 W1 E1")
    await fixture.children("j-chief-0", "j-ps-0", "j-worker-0", "j-evaluator-0")
    for name, pod in (await fixture.pods()).items():
        config = json.loads(env_of(pod)["TF_CONFIG"])
        assert sorted(config["cluster"]) == ["chief", "ps", "worker"]
        assert f"j-{config['task']['type']}-{config['task']['index']}" == name


@pytest.mark.scenario(36, 37)
async def test_dynamic_worker_sees_itself_and_every_ps(fixture: JobFixture) -> None:
    await fixture.submit("P2 W2", enableDynamicWorker=True)
    await fixture.submit("W2", name="k", enableDynamicWorker=True)
    names = [f"j-{role}-{index}" for role in ("ps", "worker") for index in range(2)]
    await fixture.children(*names, "k-worker-0", "k-worker-1")
    pods = await fixture.pods()
    domain = f"{fixture.namespace}.svc:2222"
    assert env_of(pods["j-worker-1"])["TF_CONFIG"] == (
        f'{{"cluster":{{"worker":{{"1":"j-worker-1.{domain}"}},'
        f'"ps":["j-ps-0.{domain}","j-ps-1.{domain}"]}},"task":{{"type":"worker","index":1}}}}'
    )
    assert env_of(pods["j-ps-0"])["TF_CONFIG"] == (
        f'{{"cluster":{{"worker":{{}},"ps":["j-ps-0.{domain}"]}},"task":{{"type":"ps","index":0}}}}'
    )
    assert json.loads(env_of(pods["k-worker-1"])["TF_CONFIG"])["cluster"]["ps"] == []


@pytest.mark.scenario(38)
async def test_tf_config_comes_last_and_into_the_tensorflow_container_alone(
    fixture: JobFixture,
) -> None:
    env = [{"name": "TF_CONFIG", "value": "mine"}, {"name": "A", "value": "a"}]
    beside = container("sidecar", env=[{"name": "B", "value": "b"}])
    own = replica(2, containers=[beside, container(env=env)])
    await fixture.create(of_types(Worker=own))
    await fixture.children("j-worker-0", "j-worker-1")
    pod = (await fixture.pods())["j-worker-0"]
    entries = tensorflow_of(pod)["env"]
    assert [each["name"] for each in entries] == ["TF_CONFIG", "A", "TF_CONFIG"]
    assert entries[0]["value"] == "mine"
    assert env_of(pod, "sidecar") == {"B": "b"}


@pytest.mark.scenario(39)
async def test_each_type_is_reached_at_its_own_port(fixture: JobFixture) -> None:
    port = {"name": "tfjob-port", "containerPort": 3333}
    own = replica(1, containers=[container(ports=[port])])
    await fixture.create(of_types(PS=own, Worker=replica(1)))
    await fixture.children("j-ps-0", "j-worker-0")
    config = json.loads(env_of((await fixture.pods())["j-ps-0"])["TF_CONFIG"])
    assert config["cluster"] == {
        "ps": [f"j-ps-0.{fixture.namespace}.svc:3333"],
        "worker": [f"j-worker-0.{fixture.namespace}.svc:2222"],
    }


@pytest.mark.scenario(31, 32, 35, "R32")
async def test_domain_legacy_labels_and_evaluator_follow_the_flags_of_the_operator(
    fixture: JobFixture,
) -> None:
    fixture.env.operator.kill()
    other = fixture.env.new_operator(
        "--evaluator-in-cluster",
        "--legacy-labels",
        name="flags",
        CUSTOM_CLUSTER_DOMAIN="tf.training.io",
    )
    other.start()
    await fixture.submit("P1 W1 E1")
    await fixture.children("j-ps-0", "j-worker-0", "j-evaluator-0")
    other.close()
    pod = (await fixture.pods())["j-worker-0"]
    domain = f"{fixture.namespace}.svc.tf.training.io:2222"
    assert env_of(pod)["TF_CONFIG"] == (
        f'{{"cluster":{{"evaluator":["j-evaluator-0.{domain}"],"ps":["j-ps-0.{domain}"],'
        f'"worker":["j-worker-0.{domain}"]}},"task":{{"type":"worker","index":0}},'
        f'"environment":"cloud"}}'
    )
    legacy = {"group-name": "kubeflow.org", "job-name": "j", "replica-type": "worker"}
    assert legacy.items() <= pod["metadata"]["labels"].items()


@pytest.mark.scenario(49)
async def test_jobs_with_similar_names_never_mix_their_children(fixture: JobFixture) -> None:
    fixture.kubelet.script("j-worker-*", runs)
    for name in ("j", "j-worker", "jj"):
        await fixture.create(tfjob("W1", name=name))
    await fixture.children("j-worker-0", "j-worker-worker-0", "jj-worker-0")
    await fixture.reaches("Created", "Running", name="j")
    await fixture.settled()
    assert counts_of(await fixture.job("jj")) == {}
    owners = {
        name: pod["metadata"]["ownerReferences"][0]["name"]
        for name, pod in (await fixture.pods()).items()
    }
    assert owners == {"j-worker-0": "j", "j-worker-worker-0": "j-worker", "jj-worker-0": "jj"}
