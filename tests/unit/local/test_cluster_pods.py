"""What pods have on the local cluster: namespace, API server, token, bound claim, events."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cluster_in_process import object_once
from tests.support.seeds import published
from tfjob.client.errors import ApiError, NotFound
from tfjob.local.cluster import LocalCluster

Json = dict[str, Any]
CORE = "/api/v1/namespaces/kubeflow"
CLAIM: Json = {
    "metadata": {"name": "azurefile"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "5Gi"}}},
}


def pod(script: str, name: str = "p", **spec: Any) -> Json:
    container = {"name": "c", "image": "a", "command": ["sh", "-c", script]}
    return {
        "metadata": {"name": name},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


async def ended(cluster: LocalCluster, name: str = "p") -> Json:
    path = f"{CORE}/pods/{name}"
    return await object_once(
        cluster, path, lambda each: each.get("status", {}).get("phase") in {"Succeeded", "Failed"}
    )


async def test_namespace_of_a_file_is_created_with_its_first_object(
    local_cluster: LocalCluster,
) -> None:
    await local_cluster.api.create(f"{CORE}/persistentvolumeclaims", CLAIM, decode=dict)
    found: Json = await local_cluster.api.get("/api/v1/namespaces/kubeflow", decode=dict)
    assert found["status"]["phase"] == "Active"


async def test_dry_run_needs_and_creates_no_namespace(local_cluster: LocalCluster) -> None:
    path = f"{CORE}/persistentvolumeclaims"
    made: Json = await local_cluster.api.create(path, CLAIM, decode=dict, dry_run=True)
    assert made["metadata"]["namespace"] == "kubeflow"
    with pytest.raises(NotFound):
        await local_cluster.api.get("/api/v1/namespaces/kubeflow", decode=dict)


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(
    ("kind", "meta"),
    [
        (
            "configmaps",
            {"ownerReferences": [{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u"}]},
        ),
        ("events", {}),
    ],
)
async def test_objects_of_controllers_do_not_recreate_a_namespace(
    local_cluster: LocalCluster, kind: str, meta: Json, *, dry_run: bool
) -> None:
    body: Json = {"metadata": {"name": "a", **meta}, "involvedObject": {"namespace": "kubeflow"}}
    if kind != "events":
        del body["involvedObject"]
    with pytest.raises(ApiError):
        await local_cluster.api.create(f"{CORE}/{kind}", body, decode=dict, dry_run=dry_run)
    with pytest.raises(NotFound):
        await local_cluster.api.get("/api/v1/namespaces/kubeflow", decode=dict)


async def test_seed_003_line_151_claim_is_bound_once_a_pod_uses_it(
    local_cluster: LocalCluster,
) -> None:
    claims = f"{CORE}/persistentvolumeclaims"
    made: Json = await local_cluster.api.create(claims, CLAIM, decode=dict)
    assert made["status"]["phase"] == "Pending"
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "azurefile"}}]
    await local_cluster.api.create(f"{CORE}/pods", pod("true", volumes=volumes), decode=dict)
    await ended(local_cluster)
    claim: Json = await local_cluster.api.get(f"{claims}/azurefile", decode=dict)
    assert claim["status"]["phase"] == "Bound"
    assert claim["status"]["capacity"] == {"storage": "5Gi"}
    assert re.fullmatch(r"pvc-[-0-9a-f]{36}", claim["spec"]["volumeName"])


async def test_seed_002_line_157_token_in_a_pod_opens_the_api_server(
    local_cluster: LocalCluster, tmp_path: Path
) -> None:
    folder = "/var/run/secrets/kubernetes.io/serviceaccount"
    script = (
        f"cat {folder}/token > token; cat {folder}/namespace > namespace; cat {folder}/ca.crt > ca;"
        " echo https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT > url"
    )
    await local_cluster.api.create(f"{CORE}/pods", pod(script), decode=dict)
    assert (await ended(local_cluster))["status"]["phase"] == "Succeeded"
    assert (tmp_path / "namespace").read_text() == "kubeflow"
    assert (tmp_path / "url").read_text().strip() == local_cluster.url
    assert (tmp_path / "token").read_text() in local_cluster.kubeconfig.read_text()
    assert (tmp_path / "ca").read_text().startswith("-----BEGIN CERTIFICATE-----")


async def test_seed_000_line_548_pod_has_the_usual_events_but_for_pulled(
    local_cluster: LocalCluster,
) -> None:
    await local_cluster.api.create(f"{CORE}/pods", pod("sleep 60"), decode=dict)
    running = f"{CORE}/pods/p"
    await object_once(
        local_cluster, running, lambda each: each.get("status", {}).get("phase") == "Running"
    )
    await local_cluster.api.delete(running)
    await object_once(local_cluster, running, lambda each: not each)

    def reasons(events: Json) -> dict[str, str]:
        return {each["reason"]: each["message"] for each in events["items"]}

    expected = {
        "Created": "Created container: c",
        "Started": "Started container c",
        "Killing": "Stopping container c",
    }
    found = await object_once(
        local_cluster, f"{CORE}/events", lambda each: expected.items() <= reasons(each).items()
    )
    assert reasons(found).keys() == {"Scheduled", *expected}


async def test_seed_001_line_259_tensorboard_that_cannot_start_says_why_in_the_status(
    local_cluster: LocalCluster,
) -> None:
    container = {"name": "tensorflow", "image": "a", "command": ["sleep", "60"]}
    board = {
        "logDir": "/logs",
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "nowhere"}}],
        "volumeMounts": [{"name": "v", "mountPath": "/logs"}],
    }
    job = {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": "j"},
        "spec": {
            "RuntimeId": "rid",
            "replicaSpecs": [{"template": {"spec": {"containers": [container]}}}],
            "tensorboard": board,
        },
    }
    path = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"
    await local_cluster.api.create(path, job, decode=dict)
    found = await object_once(
        local_cluster,
        f"{path}/j",
        lambda each: "TensorBoard" in each.get("status", {}).get("reason", ""),
    )
    assert found["status"]["reason"] == (
        "TensorBoard tensorboard-rid cannot start: CreateContainerConfigError:"
        ' volume "v": persistentvolumeclaim "nowhere" not found'
    )


async def test_seed_004_line_130_tensorboard_without_its_claim_says_why_in_the_status(
    local_cluster: LocalCluster,
) -> None:
    job = published("004-tensorboard")
    (container,) = job["spec"]["replicaSpecs"][0]["template"]["spec"]["containers"]
    container["command"] = ["sleep", "60"]
    path = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/tensorflowtrainingjobs"
    await local_cluster.api.create(path, job, decode=dict)

    def note(found: Json) -> str:
        note = found.get("status", {}).get("tensorboard", {}).get("note", "")
        return str(note)

    found = await object_once(
        local_cluster, f"{path}/tensorflow-example", lambda each: "not ready: " in note(each)
    )
    assert note(found).endswith('persistentvolumeclaim "tensorflow-tensorboard-pvc" not found')
