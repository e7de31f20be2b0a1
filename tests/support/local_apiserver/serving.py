"""The local API server on a socket, with the CRDs of all jobs, in the test's own process.

It runs in the test's event loop, or in a thread for commands that bring their own loop. There is
no operator and no node: a test creates every object that it needs.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tests.support.controlplane.endpoint import Endpoint
from tests.support.patience import PATIENCE
from tfjob.client.config import from_kubeconfig
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.local.apiserver.backend import PodLogs, PodMetrics
from tfjob.local.apiserver.server import ApiServer
from tfjob.sdk.connection import Cluster
from tfjob.sdk.jobs import stored_dialects

Json = dict[str, Any]
TFJOBS = Resource("kubeflow.org", "v1", "tfjobs")
JOBS = TFJOBS.collection("default")
PODS = "/api/v1/namespaces/default/pods"
_CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False)
_TYPE, _INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"


class Lines:
    """Logs of two lines, the second without a line end; a pending pod has none."""

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        name = pod["metadata"]["name"]
        if pod.get("status", {}).get("phase") == "Pending":
            raise LookupError(f'container "tensorflow" in pod "{name}" is waiting to start')
        if options.get("tailLines") != "1":
            yield f"first of {name}\n\n".encode()
        yield f"last of {name}".encode()


class ThreadedApiServer:
    """A served API server as a test of a command sees it."""

    def __init__(self, endpoint: Endpoint, kubeconfig: Path) -> None:
        self.endpoint = endpoint
        self.kubeconfig = kubeconfig

    @property
    def flags(self) -> list[str]:
        return ["--kubeconfig", str(self.kubeconfig)]

    def put_job(self, job: Json, *conditions: tuple[str, str]) -> Json:
        """Create a job whose status an operator has written."""
        made: Json = self.endpoint.request("POST", JOBS, job)
        if conditions:
            status = {"conditions": [_condition(*each) for each in conditions]}
            path = f"{JOBS}/{made['metadata']['name']}/status"
            made = self.endpoint.request("PATCH", path, {"status": status})
        return made

    def put_pod(
        self,
        job: Json,
        kind: str,
        *,
        index: int = 0,
        status: Json | None = None,
        container: Json | None = None,
    ) -> None:
        """Create a pod of a job as the operator would, with the status that a node reports."""
        meta = job["metadata"]
        labels = {
            "training.kubeflow.org/job-name": meta["name"],
            "training.kubeflow.org/operator-name": "tfjob-controller",
            _TYPE: kind,
            _INDEX: str(index),
        }
        owner = {
            "apiVersion": job["apiVersion"],
            "kind": job["kind"],
            "name": meta["name"],
            "uid": meta["uid"],
            "controller": True,
        }
        name = f"{meta['name']}-{kind}-{index}"
        body = {
            "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "tensorflow", "image": "x", **(container or {})}]},
        }
        self.endpoint.request("POST", PODS, body)
        self.endpoint.request("PATCH", f"{PODS}/{name}/status", {"status": status or running()})

    def job_names(self) -> list[str]:
        items = self.endpoint.request("GET", JOBS)["items"]
        return [each["metadata"]["name"] for each in items]


def running() -> Json:
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    return {"phase": "Running", "containerStatuses": [_container(state)]}


def ended(code: int) -> Json:
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
    phase = "Failed" if code else "Succeeded"
    return {"phase": phase, "containerStatuses": [_container(state)]}


def _container(state: Json) -> Json:
    return {
        "name": "tensorflow",
        "state": state,
        "ready": "running" in state,
        "restartCount": 0,
        "image": "x",
        "imageID": "",
    }


def _condition(kind: str, message: str) -> Json:
    moment = "2026-01-01T00:00:00Z"
    return {
        "type": kind,
        "status": "True",
        "reason": f"TFJob{kind}",
        "message": message,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
    }


@asynccontextmanager
async def api_server_in_loop(
    folder: Path, *, logs: PodLogs | None = None
) -> AsyncIterator[Cluster]:
    """A server in the test's loop, and a client of it as the command line has one."""
    async with (
        ApiServer(folder, tls=False, logs=logs or Lines()) as server,
        Api(from_kubeconfig(server.kubeconfig_path)) as api,
    ):
        for dialect in stored_dialects():
            await api.create(_CRDS.collection(), dialect.crd(), decode=PartialObjectMetadata)
        yield Cluster(api=api, namespace="default")


async def put_status(cluster: Cluster, name: str, kind: str, message: str) -> None:
    """Write a condition of a job, as an operator would."""
    path = TFJOBS.item(name, "default", subresource="status")
    status = {"status": {"conditions": [_condition(kind, message)]}}
    await cluster.api.patch(path, status, decode=PartialObjectMetadata)


@contextmanager
def api_server_in_thread(
    folder: Path, *, metrics: PodMetrics | None = None
) -> Iterator[ThreadedApiServer]:
    """A server in a thread; an error of the server is an error of the test."""
    started, stopping = threading.Event(), asyncio.Event()
    server = ApiServer(folder, logs=Lines())
    server.metrics = metrics

    async def serve() -> None:
        async with server:
            started.set()
            await stopping.wait()

    # Closing the runner also ends callers that are still in their TLS handshake. It gets a loop of
    # its own, else it would become the current loop of this thread, too.
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    thread = threading.Thread(target=runner.run, args=(serve(),))
    thread.start()
    try:
        assert started.wait(PATIENCE), "the API server did not start"
        certificate = server.certificate_path.read_text()
        endpoint = Endpoint(server=server.url, token=server.token, certificate=certificate)
        for dialect in stored_dialects():
            endpoint.request("POST", _CRDS.collection(), dialect.crd())
        yield ThreadedApiServer(endpoint, server.kubeconfig_path)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(PATIENCE)
        runner.close()
