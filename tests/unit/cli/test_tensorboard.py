from typing import Any

from tests.support.other_jobs import old_job
from tests.support.tfjobs import Json
from tfjob.cli import tensorboard
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import PODS
from tfjob.sdk.apply import apply_all
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import ClusterJob

READY = {"conditions": [{"type": "Ready", "status": "True"}]}
URL = "http://127.0.0.1:7007/"


async def a_job(cluster: Cluster, **spec: Any) -> ClusterJob:
    job = old_job(**spec)
    return await apply_all(cluster, [job], job=job)


async def put_pod(
    cluster: Cluster, name: str = "tensorboard-76no-abc", *, status: Json, url: str = ""
) -> None:
    metadata: Json = {"name": name, "labels": {"app": "tensorboard", "tf_job_name": "j"}}
    if url:
        metadata["annotations"] = {tensorboard.URL: url}
    body = {"metadata": metadata, "spec": {"containers": [{"name": "tb", "image": "x"}]}}
    await cluster.api.create(PODS.collection("default"), body, decode=PartialObjectMetadata)
    path = PODS.item(name, "default", subresource="status")
    await cluster.api.patch(path, {"status": status}, decode=PartialObjectMetadata)


async def test_a_job_without_a_tensorboard_has_no_address(bare_cluster: Cluster) -> None:
    assert await tensorboard.address_of(bare_cluster, await a_job(bare_cluster)) == ""


async def test_a_tensorboard_that_does_not_run_yet_is_reported(bare_cluster: Cluster) -> None:
    found = await a_job(bare_cluster, tensorboard={"logDir": "/logs"})
    assert await tensorboard.address_of(bare_cluster, found) == "tensorboard-76no has no pod"
    await put_pod(bare_cluster, status={"phase": "Pending"})
    assert await tensorboard.address_of(bare_cluster, found) == "tensorboard-76no is not ready yet"


async def test_a_tensorboard_that_cannot_run_is_reported_with_the_reason(
    bare_cluster: Cluster,
) -> None:
    found = await a_job(bare_cluster, tensorboard={"logDir": "/logs"})
    why = 'command "tensorboard" was not found on this machine'
    ended = {"terminated": {"exitCode": 127, "reason": "StartError", "message": f"{why}\nat all"}}
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}}
    container = {"name": "tb", "state": waiting, "lastState": ended}
    await put_pod(bare_cluster, status={"phase": "Running", "containerStatuses": [container]})
    assert await tensorboard.address_of(bare_cluster, found) == f"tb does not run: {why}"


async def test_tensorboard_of_another_controller_is_shown_from_the_status(
    bare_cluster: Cluster,
) -> None:
    found = await a_job(bare_cluster, tensorboard={"logDir": "/logs"})
    found.manifest["status"] = {"tensorboard": {"note": "TensorBoard [x] is ready"}}
    assert await tensorboard.address_of(bare_cluster, found) == "TensorBoard [x] is ready"


async def test_a_tensorboard_on_this_machine_has_an_address(bare_cluster: Cluster) -> None:
    found = await a_job(bare_cluster, tensorboard={"logDir": "/logs"})
    await put_pod(bare_cluster, status=READY, url=URL)
    assert await tensorboard.address_of(bare_cluster, found) == URL


async def test_a_tensorboard_on_a_cluster_is_reached_by_port_forwarding(
    bare_cluster: Cluster,
) -> None:
    found = await a_job(bare_cluster, tensorboard={"logDir": "/logs"})
    await put_pod(bare_cluster, status=READY)
    assert await tensorboard.address_of(bare_cluster, found) == (
        "kubectl port-forward -n default service/tensorboard-76no 6006:80,"
        " then http://127.0.0.1:6006/"
    )


async def test_a_tensorboard_of_another_owner_is_ignored(bare_cluster: Cluster) -> None:
    found = await a_job(bare_cluster, tensorboard={"logDir": "/logs"})
    await put_pod(bare_cluster, "stranger-abc", status=READY, url=URL)
    assert await tensorboard.address_of(bare_cluster, found) == "tensorboard-76no has no pod"
