import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.support.local_apiserver.serving import (
    api_server_in_loop,
    ended,
    put_status,
    running,
)
from tests.support.patience import PATIENCE
from tests.support.tfjobs import tfjob
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import PODS
from tfjob.sdk.apply import apply_all
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job_logs import LogOptions, followed
from tfjob.sdk.jobs import ClusterJob

Json = dict[str, Any]


class Runs:
    """One line for each run of a container; the log of a running one ends when the test says so."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        status = pod["status"]["containerStatuses"][0]
        if "waiting" in status["state"] or options.get("container") != status["name"]:
            raise LookupError("this container has no log")
        yield f"run {status['restartCount']}\n".encode()
        if options.get("follow") and "running" in status["state"]:
            await self.over.wait()


@pytest.fixture
def logs() -> Runs:
    return Runs()


@pytest.fixture
async def cluster(tmp_path: Path, logs: Runs) -> AsyncIterator[Cluster]:
    async with api_server_in_loop(tmp_path, logs=logs) as cluster:
        yield cluster


@pytest.fixture
async def job(cluster: Cluster) -> ClusterJob:
    manifest = tfjob("W1", name="mnist")
    return await apply_all(cluster, [manifest], job=manifest)


async def put_pod(cluster: Cluster, job: ClusterJob, status: Json) -> None:
    prefix = "training.kubeflow.org"
    labels = {"job-name": job.name, "replica-type": "worker", "replica-index": "0"}
    owner = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "name": job.name,
        "uid": job.job.owner.uid,
        "controller": True,
    }
    body = {
        "metadata": {
            "name": "mnist-worker-0",
            "labels": {f"{prefix}/{key}": value for key, value in labels.items()},
            "ownerReferences": [owner],
        },
        "spec": {"containers": [{"name": "tensorflow", "image": "x"}]},
    }
    await cluster.api.create(PODS.collection("default"), body, decode=PartialObjectMetadata)
    await set_status(cluster, status)


async def set_status(cluster: Cluster, status: Json, *, restarts: int = 0) -> None:
    status["containerStatuses"][0]["restartCount"] = restarts
    path = PODS.item("mnist-worker-0", "default", subresource="status")
    await cluster.api.patch(path, {"status": status}, decode=PartialObjectMetadata)


async def test_a_container_that_is_restarted_is_followed_again(
    cluster: Cluster, job: ClusterJob, logs: Runs
) -> None:
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(followed(cluster, job, LogOptions())) as lines,
    ):
        first = asyncio.create_task(anext(lines))  # before there is a pod
        await put_pod(cluster, job, running())
        assert str(await first) == "[worker-0] run 0"
        logs.over.set()
        await set_status(cluster, ended(0), restarts=1)
        assert (await anext(lines)).text == "run 1"
        await put_status(cluster, job.name, "Succeeded", "done")
        assert [each async for each in lines] == []


async def test_a_container_that_still_waits_is_read_once_it_runs(
    cluster: Cluster, job: ClusterJob, logs: Runs
) -> None:
    polls = asyncio.Queue[ClusterJob]()
    logs.over.set()
    waiting = running()
    waiting["containerStatuses"][0]["state"] = {"waiting": {"reason": "PodInitializing"}}
    await put_pod(cluster, job, waiting)
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(followed(cluster, job, LogOptions(), check=polls.put)) as lines,
    ):
        first = asyncio.create_task(anext(lines))
        await polls.get()  # the waiting container was seen
        await set_status(cluster, running())
        assert (await first).text == "run 0"


async def test_missing_container_is_noted_in_the_log(cluster: Cluster, job: ClusterJob) -> None:
    await put_pod(cluster, job, running())
    await put_status(cluster, job.name, "Succeeded", "done")
    async with asyncio.timeout(PATIENCE):
        found = [each async for each in followed(cluster, job, LogOptions(container="none"))]
    assert [each.is_note for each in found] == [True]


async def test_a_replica_that_runs_on_does_not_keep_the_log_of_a_finished_job_open(
    cluster: Cluster, job: ClusterJob
) -> None:
    await put_pod(cluster, job, running())
    await put_status(cluster, job.name, "Succeeded", "done")
    async with asyncio.timeout(PATIENCE):
        lines = [each.text async for each in followed(cluster, job, LogOptions())]
    assert lines == ["run 0"]


async def test_a_job_that_is_deleted_is_an_error(cluster: Cluster, job: ClusterJob) -> None:
    await cluster.api.delete(job.path)
    with pytest.raises(TFJobError, match="was deleted"):
        async for _ in followed(cluster, job, LogOptions()):
            pass


async def test_a_replica_that_the_job_does_not_have_is_an_error(
    cluster: Cluster, job: ClusterJob
) -> None:
    with pytest.raises(TFJobError, match="has no replica 'worker-7'") as caught:
        async for _ in followed(cluster, job, LogOptions(replica="worker-7")):
            pass
    assert caught.value.remedy == "it has worker-0"
