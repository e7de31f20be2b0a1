"""The node and a real API server, over a socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_api import FakeApi as ScriptedApi
from tests.support.fake_api import refusal, whole
from tests.unit.local.node.cluster import Cluster
from tests.unit.local.node.fake_api import pod
from tests.unit.local.node.whole_node import settings
from tfjob.client.config import Config
from tfjob.client.credentials import StaticHeader
from tfjob.client.events import EventRecorder
from tfjob.client.http import Api
from tfjob.local.apiserver.server import ApiServer
from tfjob.local.node.agent import NodeAgent
from tfjob.local.node.api import PodGoneError, UnavailableError
from tfjob.local.node.client_api import ClientApi
from tfjob.local.node.pod_logs import PodLogs
from tfjob.local.node.port_allocator import PortLocks


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    sizes = settings(tmp_path)
    server = ApiServer(tmp_path / "api", tls=False, logs=PodLogs(sizes.pods_folder))
    async with server:
        config = Config(server=server.url, credentials=StaticHeader(f"Bearer {server.token}"))
        async with Api(config) as api:
            recorder = EventRecorder(api, component="node")
            port = ClientApi(api, recorder)
            agent = NodeAgent(port, sizes, locks=PortLocks(tmp_path / "locks"))
            tasks = [asyncio.create_task(agent.run()), asyncio.create_task(recorder.run())]
            yield Cluster(api)
            tasks[0].cancel()
            with suppress(asyncio.CancelledError):
                await tasks[0]
            await agent.stop()
            await recorder.close()
            await tasks[1]


async def test_a_pod_runs_and_is_deleted_through_the_api(cluster: Cluster) -> None:
    await cluster.create(pod("p", "echo hello; sleep 60"))
    await cluster.until_phase("p", "Running")
    path = "/api/v1/namespaces/default/pods/p"

    async def has_log() -> bool:
        return bool(await cluster.api.read(f"{path}/log"))

    async def is_gone() -> bool:
        return not (await cluster.get("namespaces/default/pods"))["items"]

    await cluster.until("the pod has a log", has_log)
    assert await cluster.api.read(f"{path}/log") == b"hello\n"
    await cluster.api.delete(path, grace_seconds=5)
    await cluster.until("the pod is gone", is_gone)


async def test_the_node_is_registered_and_events_are_recorded(cluster: Cluster) -> None:
    await cluster.create(pod("p", "exit 0"))
    await cluster.until_phase("p", "Succeeded")
    node = await cluster.get("nodes/local")
    assert node["status"]["allocatable"]["cpu"] == "2"

    async def are_told() -> bool:
        events = await cluster.get("namespaces/default/events")
        reasons = [event["reason"] for event in events["items"]]
        return reasons == ["Scheduled", "Created", "Started"]

    await cluster.until("the events are recorded, and listed in order", are_told)


async def test_an_object_is_returned_or_none_if_it_is_missing(cluster: Cluster) -> None:
    body = {"metadata": {"name": "cfg"}, "data": {"a": "1"}}
    await cluster.api.create("/api/v1/namespaces/default/configmaps", body, decode=dict[str, Any])
    found = await cluster.port.config_map("default", "cfg")
    assert found is not None
    assert found["data"] == {"a": "1"}
    assert await cluster.port.secret("default", "none") is None
    assert await cluster.port.claim("default", "none") is None


async def test_another_pod_of_the_same_name_is_not_touched(cluster: Cluster) -> None:
    made = await cluster.create(pod("p", "sleep 60"))
    await cluster.until_phase("p", "Running")
    meta = {"namespace": "default", "name": "p", "uid": "another"}
    with pytest.raises(PodGoneError):
        await cluster.port.delete_pod({"metadata": meta})
    with pytest.raises(PodGoneError):
        await cluster.port.patch_status({"metadata": meta}, {"phase": "Failed"})
    assert await cluster.phase("p") == "Running"
    assert made["metadata"]["uid"] != "another"


async def test_a_binding_assigns_a_pod_to_the_node() -> None:
    one = pod("p", "true")
    answers = [whole({}, status=201), refusal(409, "Conflict"), refusal(403, "Forbidden")]
    async with ScriptedApi(answers) as server, Api(Config(server=server.url)) as api:
        port = ClientApi(api, EventRecorder(api, component="node"))
        await port.bind(one, "local")
        (asked,) = server.asked
        assert (asked.method, asked.path) == ("POST", "/api/v1/namespaces/ns/pods/p/binding")
        assert asked.json["target"] == {"apiVersion": "v1", "kind": "Node", "name": "local"}
        assert asked.json["metadata"]["uid"] == one["metadata"]["uid"]
        with pytest.raises(PodGoneError):
            await port.bind(one, "local")
        with pytest.raises(UnavailableError):
            await port.bind(one, "local")


async def test_an_unreachable_api_server_is_a_retryable_error() -> None:
    async with Api(Config(server="http://127.0.0.1:1")) as api:
        port = ClientApi(api, EventRecorder(api, component="node"))
        with pytest.raises(UnavailableError):
            await port.config_map("default", "cfg")
