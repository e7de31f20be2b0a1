"""The children of a TfJob: names, addresses, TF_CONFIG, servers, TensorBoard, owners."""

import pytest

from tests.unit.dialects.tensorflow.jobs import (
    built,
    defaults_of,
    entry,
    example,
    set_up,
    stored,
    template,
    tf_config,
    tfjob,
    training,
)
from tfjob.dialects.tensorflow.config import Accelerator

CLUSTER = (
    '{"cluster":{"master":["master-76no-0:2222"],'
    '"ps":["ps-76no-0:2222","ps-76no-1:2222"],'
    '"worker":["worker-76no-0:2222"]},'
)
REPLICAS = ("master-76no-0", "worker-76no-0", "ps-76no-0", "ps-76no-1")


@pytest.mark.scenario("A-01")
def test_published_example_gets_its_jobs_services_and_config_map() -> None:
    expected = {(kind, name) for kind in ("Job", "Service") for name in REPLICAS}
    assert set(built(example())) == {*expected, ("ConfigMap", "cm-ps-76no")}


@pytest.mark.scenario("A-02")
def test_tf_config_byte_for_byte() -> None:
    found = built(example())
    worker, server = found["Job", "worker-76no-0"], found["Job", "ps-76no-1"]
    tail = ',"environment":"cloud"}'
    assert tf_config(worker) == f'{CLUSTER}"task":{{"type":"worker","index":0}}{tail}'
    assert tf_config(server) == f'{CLUSTER}"task":{{"type":"ps","index":1}}{tail}'


def test_lone_master_and_types_without_replicas_are_in_tf_config() -> None:
    job = built(tfjob(entry(), entry("WORKER", 0)))["Job", "master-76no-0"]
    assert tf_config(job) == (
        '{"cluster":{"master":["master-76no-0:2222"],"worker":[]},'
        '"task":{"type":"master","index":0},"environment":"cloud"}'
    )


def test_only_containers_called_tensorflow_get_tf_config_and_it_replaces_a_user_s() -> None:
    given = template("side", "tensorflow")
    for container in given["spec"]["containers"]:
        container["env"] = [{"name": "TF_CONFIG", "value": "mine"}, {"name": "A", "value": "b"}]
    spec = built(tfjob(entry(template=given)))["Job", "master-76no-0"]["spec"]["template"]["spec"]
    side, own = spec["containers"]
    assert side["env"][0]["value"] == "mine"
    assert [each["name"] for each in own["env"]] == ["A", "TF_CONFIG"]


@pytest.mark.scenario("A-03")
def test_server_without_a_template_runs_the_default_one() -> None:
    found = built(example())
    for index in (0, 1):
        assert training(found["Job", f"ps-76no-{index}"])["command"] == [
            "python",
            "/ps-server/grpc_tensorflow_server.py",
            "--cluster_spec",
            "master|master-76no-0:2222,ps|ps-76no-0:2222;ps-76no-1:2222,worker|worker-76no-0:2222",
            "--job_name",
            "ps",
            "--task_id",
            str(index),
        ]
    entries = defaults_of(example())
    assert [each["IsDefaultPS"] for each in entries] == [False, False, True]
    assert entries[2]["template"]["spec"] == {
        "restartPolicy": "OnFailure",
        "volumes": [{"name": "ps-config-volume", "configMap": {"name": "cm-ps-76no"}}],
        "containers": [
            {
                "name": "tensorflow",
                "image": "tensorflow/tensorflow:1.3.0",
                "volumeMounts": [{"name": "ps-config-volume", "mountPath": "/ps-server"}],
            }
        ],
    }


@pytest.mark.scenario("A-04")
def test_template_alone_means_one_master() -> None:
    found = built(tfjob({"template": template()}))
    assert set(found) == {("Job", "master-76no-0"), ("Service", "master-76no-0")}
    (port,) = found["Service", "master-76no-0"]["spec"]["ports"]
    assert port["port"] == 2222


@pytest.mark.scenario("A-05")
def test_each_type_has_its_own_port() -> None:
    given = tfjob(
        entry("MASTER", tfPort=42),
        entry("PS", 2, tfPort=22),
        entry("WORKER", 3, tfPort=40),
        RuntimeId="runtime",
    )
    found = built(given)
    assert tf_config(found["Job", "master-runtime-0"]) == (
        '{"cluster":{"master":["master-runtime-0:42"],'
        '"ps":["ps-runtime-0:22","ps-runtime-1:22"],'
        '"worker":["worker-runtime-0:40","worker-runtime-1:40","worker-runtime-2:40"]},'
        '"task":{"type":"master","index":0},"environment":"cloud"}'
    )
    for name, port in (("master", 42), ("ps", 22), ("worker", 40)):
        service = found["Service", f"{name}-runtime-0"]
        assert service["spec"]["ports"] == [{"name": "tf-port", "port": port}]


@pytest.mark.scenario("A-06")
def test_older_spellings_mean_the_same() -> None:
    usual = tfjob(entry(), tensorboard={"logDir": "d"})
    older = tfjob()
    older["spec"] = {"replica_specs": [entry()], "tensorBoard": {"LogDir": "d"}}
    assert built(older) == built(usual)


def test_labels_are_on_every_child_and_select_its_pods() -> None:
    given = template()
    given["metadata"] = {"labels": {"mine": "yes", "job_type": "no"}}
    found = built(tfjob(entry(template=given)))
    labels = {
        "tensorflow.org": "",
        "job_type": "MASTER",
        "runtime_id": "76no",
        "tf_job_name": "j",
        "task_index": "0",
    }
    job, service = found["Job", "master-76no-0"], found["Service", "master-76no-0"]
    assert job["metadata"]["labels"] == labels
    assert service["metadata"]["labels"] == service["spec"]["selector"] == labels
    assert job["spec"]["template"]["metadata"]["labels"] == {"mine": "yes", **labels}


def test_batch_job_runs_one_pod_for_ever() -> None:
    spec = built(tfjob(entry()))["Job", "master-76no-0"]["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 2147483647)
    assert spec["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_restart_policy_of_the_template_is_kept() -> None:
    given = tfjob(entry(template=template(restartPolicy="Never")))
    spec = built(given)["Job", "master-76no-0"]["spec"]
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


@pytest.mark.parametrize("has_addresses", [True, False])
def test_services_are_headless_unless_the_admin_wants_addresses(has_addresses: bool) -> None:
    found = built(tfjob(entry()), set_up(has_cluster_ips=has_addresses))
    assert ("clusterIP" in found["Service", "master-76no-0"]["spec"]) != has_addresses


@pytest.mark.scenario("A-22")
def test_tensorboard_gets_a_deployment_and_a_service() -> None:
    found = built(example(tensorboard={"logDir": "/tmp/tensorflow"}))  # noqa: S108 - in a pod
    labels = {
        "tensorflow.org": "",
        "runtime_id": "76no",
        "tf_job_name": "example-job",
        "app": "tensorboard",
    }
    service = found["Service", "tensorboard-76no"]
    assert service["metadata"]["labels"] == labels
    assert service["spec"] == {
        "type": "ClusterIP",
        "selector": labels,
        "ports": [{"name": "tb-port", "port": 80, "targetPort": 6006}],
    }
    deployment = found["Deployment", "tensorboard-76no"]
    assert deployment["metadata"]["labels"] == labels
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["selector"] == {"matchLabels": labels}
    assert deployment["spec"]["template"]["metadata"]["labels"] == labels
    assert deployment["spec"]["template"]["spec"]["containers"] == [
        {
            "name": "tensorboard-76no",
            "image": "tensorflow/tensorflow:1.3.0",
            "command": ["tensorboard", "--logdir", "/tmp/tensorflow", "--host", "0.0.0.0"],  # noqa: S104, S108 - in a pod
            "ports": [{"containerPort": 6006}],
        }
    ]


@pytest.mark.scenario("A-23")
def test_tensorboard_s_volumes_and_service_type_pass_through() -> None:
    share = {"secretName": "azure-secret", "shareName": "data", "readOnly": False}
    volumes = [{"name": "azurefile", "azureFile": share}]
    mounts = [{"name": "azurefile", "mountPath": "/logs"}]
    board = {
        "logDir": "/logs",
        "volumes": volumes,
        "volumeMounts": mounts,
        "serviceType": "LoadBalancer",
    }
    found = built(tfjob(entry(), tensorboard=board))
    pod = found["Deployment", "tensorboard-76no"]["spec"]["template"]["spec"]
    assert pod["volumes"] == volumes
    assert pod["containers"][0]["volumeMounts"] == mounts
    assert found["Service", "tensorboard-76no"]["spec"]["type"] == "LoadBalancer"


@pytest.mark.scenario("A-25")
@pytest.mark.parametrize("place", ["limits", "requests"])
def test_accelerator_is_mounted_once_where_it_is_asked_for(place: str) -> None:
    volume = {"name": "cuda-lib", "mountPath": "/usr/local/cuda", "hostPath": "/home/cuda"}
    settings = set_up(accelerators={"nvidia-gpu": Accelerator(volumes=[volume])})
    greedy = template()
    greedy["spec"]["containers"][0]["resources"] = {place: {"nvidia-gpu": 1}}
    given = tfjob(entry(template=greedy), entry("WORKER"))
    found = built(given, settings)
    pod = found["Job", "master-76no-0"]["spec"]["template"]["spec"]
    assert pod["volumes"] == [{"name": "cuda-lib", "hostPath": {"path": "/home/cuda"}}]
    assert pod["containers"][0]["volumeMounts"] == [
        {"name": "cuda-lib", "mountPath": "/usr/local/cuda"}
    ]
    other = found["Job", "worker-76no-0"]["spec"]["template"]["spec"]
    assert "volumes" not in other
    assert "volumeMounts" not in other["containers"][0]
    assert stored(given, settings)["spec"]["replicaSpecs"][0]["template"] == greedy


@pytest.mark.scenario("A-31")
def test_children_named_after_the_job_keep_to_its_first_forty_characters() -> None:
    name, kept = "n" * 50, "n" * 40
    settings = set_up(has_job_in_names=True)
    given = tfjob(entry(), {"tfReplicaType": "PS"}, name=name, tensorboard={"logDir": "d"})
    found = built(given, settings)
    assert set(found) == {
        ("ConfigMap", "cm-ps-76no"),
        ("Job", f"{kept}-master-76no-0"),
        ("Job", f"{kept}-ps-76no-0"),
        ("Service", f"{kept}-master-76no-0"),
        ("Service", f"{kept}-ps-76no-0"),
        ("Service", f"{kept}-tensorboard-76no"),
        ("Deployment", f"{kept}-tensorboard-76no"),
    }
    address = f'"master":["{kept}-master-76no-0:2222"]'
    assert address in tf_config(found["Job", f"{kept}-master-76no-0"])


@pytest.mark.scenario("A-32")
def test_every_child_is_owned_and_controlled_by_its_job() -> None:
    for child in built(example(tensorboard={"logDir": "d"})).values():
        assert child["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "tensorflow.org/v1alpha1",
                "kind": "TfJob",
                "name": "example-job",
                "uid": "U",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]


def test_port_in_other_letters_is_not_hidden_by_the_default_of_the_api_server() -> None:
    given = tfjob(entry(tfPort=2222, tfport=42))
    (port,) = built(given)["Service", "master-76no-0"]["spec"]["ports"]
    assert port["port"] == 42
