"""An API server with the job's definition, beside the test, for verbs that bring their own loop.

Law: no operator and no node; what a test wants to be there it puts there itself. It lives in a
thread and ends with the context.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.controlplane.endpoint import Endpoint
from tfjob.cli.jobs import stored_dialects
from tfjob.local.apiserver.server import ApiServer

Json = dict[str, Any]
JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
PODS = "/api/v1/namespaces/default/pods"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_TYPE, _INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"


class Lines:
    """Two lines of every pod, the second without its end; a pod without them says why."""

    async def read(self, pod: Json, options: Mapping[str, str]) -> AsyncIterator[bytes]:
        name = pod["metadata"]["name"]
        if pod.get("status", {}).get("phase") == "Pending":
            raise LookupError(f'container "tensorflow" in pod "{name}" is waiting to start')
        if options.get("tailLines") != "1":
            yield f"first of {name}\n\n".encode()
        yield f"last of {name}".encode()


class BackgroundCluster:
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

    def put_pod(self, job: Json, kind: str, *, index: int = 0, status: Json | None = None) -> None:
        """Create a pod of a job as the operator would have, in the state that a node reports."""
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
            "spec": {"containers": [{"name": "tensorflow", "image": "x"}]},
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


@contextmanager
def background_cluster(folder: Path) -> Iterator[BackgroundCluster]:
    """Up inside; an error of the server is an error of the test."""
    started, stopping = threading.Event(), asyncio.Event()
    server = ApiServer(folder, logs=Lines())

    async def serve() -> None:
        async with server:
            started.set()
            await stopping.wait()

    # Its end also ends what the server has no hand in: a caller whose TLS is not agreed on yet.
    # The loop is made for it alone: made by itself it would become that of this thread, too.
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    loop = runner.get_loop()
    thread = threading.Thread(target=runner.run, args=(serve(),))
    thread.start()
    try:
        assert started.wait(20), "the API server did not start"
        certificate = server.certificate_path.read_text()
        endpoint = Endpoint(server=server.url, token=server.token, certificate=certificate)
        for dialect in stored_dialects():
            endpoint.request("POST", _CRDS, dialect.crd())
        yield BackgroundCluster(endpoint, server.kubeconfig_path)
    finally:
        loop.call_soon_threadsafe(stopping.set)
        thread.join(20)
        runner.close()
