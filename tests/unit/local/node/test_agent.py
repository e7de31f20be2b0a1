"""The node agent: new, deleted and earlier pods."""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from tests.unit.local.node.cluster import Cluster
from tests.unit.local.node.fake_api import FakeApi, pod, until
from tests.unit.local.node.whole_node import finished, node, text_in
from tfjob.client.config import Config
from tfjob.client.credentials import StaticHeader
from tfjob.client.http import Api
from tfjob.local.apiserver.server import ApiServer
from tfjob.local.node.process import start_time_of


async def test_a_pod_missing_from_a_new_list_is_killed(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "echo $$$$ > pid; sleep 60"))
    await until(lambda: text_in(tmp_path / "pid"))
    del api.pods["p"]
    api.relist()
    process = int((tmp_path / "pid").read_text())
    await until(lambda: start_time_of(process) is None)


async def test_a_pod_recreated_under_its_name_is_another_pod(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "echo $$$$ > pid; sleep 60"))
    await until(lambda: text_in(tmp_path / "pid"))
    process = int((tmp_path / "pid").read_text())
    api.create(pod("p", "exit 4"))
    assert await finished(api) == "Failed"
    assert api.exit_code("p") == 4
    await until(lambda: start_time_of(process) is None)


async def test_the_node_waits_for_an_api_server_that_is_down(api: FakeApi) -> None:
    api.create(pod("p", "sleep 0.05"))
    await until(lambda: api.phase("p") == "Running")
    api.is_down = True
    await until(lambda: "FailedSync" in api.reasons())
    api.is_down = False
    assert await finished(api) == "Succeeded"


async def test_a_stopped_node_leaves_no_process_and_the_next_one_restarts(tmp_path: Path) -> None:
    api = FakeApi()
    one = pod("p", "echo $$$$ >> pids; until [ -e go ]; do sleep 0.01; done", policy="OnFailure")
    async with node(api, tmp_path):
        api.create(one)
        await until(lambda: text_in(tmp_path / "pids"))
    first = int((tmp_path / "pids").read_text())
    assert start_time_of(first) is None
    (tmp_path / "go").touch()
    async with node(api, tmp_path):
        assert await finished(api) == "Succeeded"
    assert api.container("p")["restartCount"] == 1
    assert api.container("p")["lastState"]["terminated"]["reason"] == "NodeShutdown"


async def test_a_pod_that_is_never_restarted_fails_when_its_node_stops(tmp_path: Path) -> None:
    api = FakeApi()
    async with node(api, tmp_path):
        api.create(pod("p", "sleep 60"))
        await until(lambda: api.phase("p") == "Running")
    async with node(api, tmp_path):
        assert await finished(api) == "Failed"
    assert api.exit_code("p") == 137


async def test_pods_deleted_while_the_node_was_down_are_cleaned_up(tmp_path: Path) -> None:
    api = FakeApi()
    one = pod("p", "sleep 60")
    async with node(api, tmp_path):
        api.create(one)
        await until(lambda: api.phase("p") == "Running")
    folder = tmp_path / "data" / "pods" / one["metadata"]["uid"]
    assert folder.exists()
    del api.pods["p"]
    async with node(api, tmp_path):
        await until(lambda: not folder.exists())


async def test_a_finished_pod_is_deleted_without_a_change_of_its_verdict(tmp_path: Path) -> None:
    api = FakeApi()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(node(api, tmp_path))
        api.create(pod("p", "true"))
        assert await finished(api) == "Succeeded"
    seen = len(api.statuses)
    async with node(api, tmp_path):
        api.delete("p")
        await until(lambda: api.phase("p") == "gone")
    assert {status["phase"] for _, status in api.statuses[seen:]} <= {"Succeeded"}


async def test_a_killed_node_leaves_no_process_and_the_next_one_continues(tmp_path: Path) -> None:
    script = (
        "setsid sleep 60 & echo $! >> pids; echo x >> runs; "
        '[ "$(wc -l < runs)" -ge 3 ] || sleep 60; exit 0'
    )
    async with ApiServer(tmp_path / "api", tls=False) as server:
        config = Config(server=server.url, credentials=StaticHeader(f"Bearer {server.token}"))
        async with Api(config) as client:
            cluster = Cluster(client)
            await cluster.create(pod("p", script, policy="OnFailure"))
            for run in (1, 2):
                await _kill_node_at_run(run, server, tmp_path)
            node_process = await _start_node(server, tmp_path)
            await cluster.until_phase("p", "Succeeded")
            node_process.kill()
            await node_process.wait()
            shown = await cluster.get("namespaces/default/pods/p")
    (container,) = shown["status"]["containerStatuses"]
    assert container["restartCount"] == 2
    assert container["lastState"]["terminated"]["exitCode"] == 137
    left = [start_time_of(int(pid)) for pid in text_in(tmp_path / "pids").split()]
    assert left == [None, None, None]


async def _start_node(server: ApiServer, folder: Path) -> asyncio.subprocess.Process:
    program = "tests.unit.local.node.node_process"
    root = Path(__file__).parents[4]
    arguments = (server.url, server.token, str(folder))
    return await asyncio.create_subprocess_exec(sys.executable, "-m", program, *arguments, cwd=root)


async def _kill_node_at_run(run: int, server: ApiServer, folder: Path) -> None:
    node_process = await _start_node(server, folder)
    await until(lambda: len(text_in(folder / "runs").split()) == run)
    node_process.kill()
    await node_process.wait()


async def test_a_stopped_node_starts_no_more_containers(tmp_path: Path) -> None:
    api = FakeApi()
    async with node(api, tmp_path) as agent:
        await until(lambda: api.nodes)
        await agent.stop()
        api.create(pod("late", "touch late", nodeName="local"))
        api.create(pod("p", "true"))
    assert not (tmp_path / "late").exists()
    assert api.phase("late") == "Pending"
