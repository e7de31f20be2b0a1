"""An API server with the job's definition in the loop of the test, and a client of it.

Law: no operator and no node; what a test wants to be there it puts there itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.background_cluster import Lines
from tfjob.cli.cluster import Cluster
from tfjob.cli.jobs import stored_dialects
from tfjob.client.config import from_kubeconfig
from tfjob.client.http import Api, Stored
from tfjob.client.resource import Resource
from tfjob.local.apiserver.backend import PodLogs
from tfjob.local.apiserver.server import ApiServer

Json = dict[str, Any]
_CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False)
JOBS = Resource("kubeflow.org", "v1", "tfjobs")


@asynccontextmanager
async def own_cluster(folder: Path, *, logs: PodLogs | None = None) -> AsyncIterator[Cluster]:
    async with (
        ApiServer(folder, tls=False, logs=logs or Lines()) as server,
        Api(from_kubeconfig(server.kubeconfig_path)) as api,
    ):
        for dialect in stored_dialects():
            await api.create(_CRDS.collection(), dialect.crd(), decode=Stored)
        yield Cluster(api=api, namespace="default")


async def put_status(cluster: Cluster, name: str, kind: str, message: str) -> None:
    """What an operator would say of a job."""
    moment = "2026-01-01T00:00:00Z"
    condition = {
        "type": kind,
        "status": "True",
        "reason": f"TFJob{kind}",
        "message": message,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
    }
    path = JOBS.item(name, "default", subresource="status")
    await cluster.api.patch(path, {"status": {"conditions": [condition]}}, decode=Stored)
