"""One part of a local cluster as a process of its own, so that a test can kill it alone.

`python -m tests.support.local_cluster_part apiserver DATA PORT` or `… node DATA WORKDIR`. The
parts behave as in the whole cluster, except that back-offs are short.
"""

import asyncio
import os
import sys
from pathlib import Path

from tests.support.local_apiserver.process import until_sigterm
from tfjob.client.config import from_kubeconfig
from tfjob.client.errors import AlreadyExists
from tfjob.client.events import EventRecorder
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.local.apiserver.server import ApiServer
from tfjob.local.node.agent import NodeAgent
from tfjob.local.node.client_api import ClientApi
from tfjob.local.node.machine import settings_of_machine
from tfjob.local.node.pod_logs import PodLogs
from tfjob.local.node.restart_policy import Backoff
from tfjob.sdk.jobs import stored_dialects

_CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False)
_SHORT = Backoff(base=0.1, limit=1.0)


async def serve_api(data: Path, port: int) -> None:
    """An API server that knows jobs, until SIGTERM."""
    logs = PodLogs(data / "node" / "pods")
    async with ApiServer(data, port=port, logs=logs) as server:
        async with Api(from_kubeconfig(server.kubeconfig_path)) as api:
            for dialect in stored_dialects():
                try:
                    await api.create(
                        _CRDS.collection(), dialect.crd(), decode=PartialObjectMetadata
                    )
                except AlreadyExists:
                    continue
        await until_sigterm()


async def serve_node(data: Path, workdir: Path) -> None:
    """A node that runs pods, until SIGTERM."""
    settings = settings_of_machine(
        data / "node", workdir=workdir, environ=os.environ, backoff=_SHORT
    )
    async with Api(from_kubeconfig(data / "kubeconfig")) as api:
        recorder = EventRecorder(api, component="node")
        agent = NodeAgent(ClientApi(api, recorder), settings)
        tasks = [asyncio.create_task(each) for each in (agent.run(), recorder.run())]
        await until_sigterm()
        await agent.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    what, where, argument = sys.argv[1:]
    if what == "apiserver":
        asyncio.run(serve_api(Path(where), int(argument)))
    else:
        asyncio.run(serve_node(Path(where), Path(argument)))
