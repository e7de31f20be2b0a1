"""Pods on a node, from the API to processes and back."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.unit.local.node.fake_api import FakeApi, pod, until
from tfjob.local.node.agent import NodeAgent
from tfjob.local.node.machine import NodeSettings, base_environment
from tfjob.local.node.network import PortLocks
from tfjob.local.node.process import start_time_of
from tfjob.local.node.restarts import Backoff

EAGER = Backoff(base=0.01, limit=0.05, reset_after=600)


def settings(folder: Path, **changes: Any) -> NodeSettings:
    defaults: dict[str, Any] = {
        "data": folder / "data",
        "workdir": folder,
        "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "50"},
        "environ": base_environment(os.environ, python_folder=str(Path(sys.executable).parent)),
        "backoff": EAGER,
        "retry_seconds": 0.01,
        "memory_interval": 0.02,
    }
    return NodeSettings(**{**defaults, **changes})


@asynccontextmanager
async def node(api: FakeApi, folder: Path, **changes: Any) -> AsyncIterator[NodeAgent]:
    agent = NodeAgent(
        api, settings(folder, **changes), locks=PortLocks(folder / f"locks-{id(api)}")
    )
    task = asyncio.create_task(agent.run())
    try:
        yield agent
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await agent.stop()


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[FakeApi]:
    fake = FakeApi()
    async with node(fake, tmp_path):
        yield fake


async def finished(api: FakeApi, name: str = "p") -> str:
    await until(lambda: api.phase(name) in ("Succeeded", "Failed"), f"{name} to finish")
    return api.phase(name)


def log_of(folder: Path, one: dict[str, Any], *, run: int = 0, container: str = "c0") -> str:
    base = folder / "data" / "pods" / one["metadata"]["uid"] / "containers" / container
    path = base / f"{run}.log"
    lines = path.read_text().splitlines() if path.exists() else []
    return "\n".join(line.split(" ", 3)[3] for line in lines)


async def test_a_pod_is_placed_run_and_reported(api: FakeApi, tmp_path: Path) -> None:
    one = pod("p", "echo hello; exit 0")
    api.create(one)
    assert await finished(api) == "Succeeded"
    assert log_of(tmp_path, one) == "hello"
    ended = api.container("p")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert one["spec"]["nodeName"] == "local"
    assert {"Scheduled", "Started"} <= api.reasons()
    assert api.nodes[0]["metadata"]["name"] == "local"


async def test_phases_pass_through_running(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "until [ -e go ]; do sleep 0.01; done"))
    await until(lambda: api.phase("p") == "Running")
    assert api.container("p")["ready"] is True
    (tmp_path / "go").touch()
    assert await finished(api) == "Succeeded"


async def test_a_failing_container_fails_a_pod_that_is_never_restarted(api: FakeApi) -> None:
    api.create(pod("p", "exit 3", "exit 0"))
    assert await finished(api) == "Failed"
    assert (api.exit_code("p", 0), api.exit_code("p", 1)) == (3, 0)


async def test_a_failing_container_is_restarted_until_it_succeeds(
    api: FakeApi, tmp_path: Path
) -> None:
    script = 'echo x >> runs; [ "$(wc -l < runs)" -ge 4 ]'
    one = pod("p", script, policy="OnFailure")
    api.create(one)
    assert await finished(api) == "Succeeded"
    shown = api.container("p")
    assert shown["restartCount"] == 3
    assert shown["lastState"]["terminated"]["exitCode"] == 1
    assert (tmp_path / "runs").read_text() == "x\n" * 4


async def test_a_container_that_keeps_failing_waits_longer_and_longer(tmp_path: Path) -> None:
    api = FakeApi()
    async with node(api, tmp_path, backoff=Backoff(base=3600, limit=7200)):
        one = pod("p", "exit 1", policy="Always")
        api.create(one)
        await until(lambda: api.waiting("p")[0] == "CrashLoopBackOff")
        assert api.waiting("p")[1] == (
            f"back-off 60m0s restarting failed container=c0 pod=p_ns({one['metadata']['uid']})"
        )
        assert api.container("p")["restartCount"] == 1
        assert api.phase("p") == "Running"
        assert "BackOff" in api.reasons()


async def test_init_containers_run_in_order_before_the_others(api: FakeApi, tmp_path: Path) -> None:
    init = [
        {"name": "i0", "command": ["sh", "-c", "echo i0 >> order"]},
        {"name": "i1", "command": ["sh", "-c", "echo i1 >> order"]},
    ]
    api.create(pod("p", "echo main >> order", initContainers=init))
    assert await finished(api) == "Succeeded"
    assert (tmp_path / "order").read_text().split() == ["i0", "i1", "main"]
    assert [c["ready"] for c in api.pods["p"]["status"]["initContainerStatuses"]] == [True, True]


async def test_a_failed_init_container_keeps_the_others_from_starting(
    api: FakeApi, tmp_path: Path
) -> None:
    init = [{"name": "i0", "command": ["sh", "-c", "exit 9"]}]
    api.create(pod("p", "touch started", initContainers=init))
    assert await finished(api) == "Failed"
    assert not (tmp_path / "started").exists()


async def test_a_deleted_pod_is_stopped_and_leaves_nothing(api: FakeApi, tmp_path: Path) -> None:
    one = pod("p", "sleep 60 & echo $! > pid; wait")
    api.create(one)
    await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    child = int((tmp_path / "pid").read_text())
    api.delete("p")
    await until(lambda: api.phase("p") == "gone")
    assert start_time_of(child) is None
    assert not (tmp_path / "data" / "pods" / one["metadata"]["uid"]).exists()
    last = [status for name, status in api.statuses if name == "p"][-1]
    assert last["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_grace_can_be_cut_short(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "trap '' TERM; touch ready; while :; do sleep 0.01; done"))
    await until((tmp_path / "ready").exists)
    api.delete("p", grace=3600)
    await until(lambda: "Killing" in api.reasons())
    api.delete("p", grace=0)
    await until(lambda: api.phase("p") == "gone")


async def test_a_pod_removed_by_force_is_killed(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "trap '' TERM; echo $$$$ > pid; while :; do sleep 0.01; done"))
    await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    process = int((tmp_path / "pid").read_text())
    api.remove("p")
    await until(lambda: start_time_of(process) is None)


async def test_a_pod_missing_from_a_new_list_is_killed(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "echo $$$$ > pid; sleep 60"))
    await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    del api.pods["p"]
    api.relist()
    process = int((tmp_path / "pid").read_text())
    await until(lambda: start_time_of(process) is None)


async def test_a_pod_recreated_under_its_name_is_another_pod(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("p", "echo $$$$ > pid; sleep 60"))
    await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    process = int((tmp_path / "pid").read_text())
    api.create(pod("p", "exit 4"))
    assert await finished(api) == "Failed"
    assert api.exit_code("p") == 4
    await until(lambda: start_time_of(process) is None)


async def test_a_container_without_a_command_is_refused(api: FakeApi) -> None:
    api.create(pod("p", containers=[{"name": "c0", "image": "tensorflow:2"}]))
    assert await finished(api) == "Failed"
    status = api.pods["p"]["status"]
    assert status["reason"] == "NoCommand"
    assert "images are not run on this machine" in status["message"]
    assert "set `command`" in status["message"]
    assert api.waiting("p")[0] == "NoCommand"


async def test_a_command_that_does_not_exist_is_127(api: FakeApi) -> None:
    api.create(pod("p", containers=[{"name": "c0", "command": ["no-such-thing"]}]))
    assert await finished(api) == "Failed"
    ended = api.container("p")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (127, "StartError")
    assert "no-such-thing" in ended["message"]


async def test_a_pod_that_does_not_fit_waits_and_says_why(api: FakeApi, tmp_path: Path) -> None:
    def greedy(name: str, command: str) -> dict[str, Any]:
        one = pod(name, command)
        one["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1500m"}}
        return one

    api.create(greedy("first", "until [ -e go ]; do sleep 0.01; done"))
    await until(lambda: api.phase("first") == "Running")
    api.create(greedy("second", "true"))
    await until(lambda: "FailedScheduling" in api.reasons())
    (condition,) = api.pods["second"]["status"]["conditions"]
    assert condition["message"].startswith("0/1 nodes are available: 1 Insufficient cpu.")
    (tmp_path / "go").touch()
    assert await finished(api, "second") == "Succeeded"


async def test_a_gated_pod_is_not_placed(api: FakeApi) -> None:
    api.create(pod("p", "true", schedulingGates=[{"name": "wait"}]))
    await until(lambda: api.pods["p"]["status"].get("conditions"))
    assert api.pods["p"]["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert "nodeName" not in api.pods["p"]["spec"]


async def test_a_missing_config_map_is_waited_for(api: FakeApi, tmp_path: Path) -> None:
    one = pod("p", "echo $GREETING")
    reference = {"configMapKeyRef": {"name": "cfg", "key": "word"}}
    one["spec"]["containers"][0]["env"] = [{"name": "GREETING", "valueFrom": reference}]
    api.create(one)
    await until(
        lambda: api.waiting("p") == ("CreateContainerConfigError", 'configmap "cfg" not found')
    )
    api.config_maps["ns/cfg"] = {"data": {"word": "hello"}}
    assert await finished(api) == "Succeeded"
    assert log_of(tmp_path, one) == "hello"
    assert api.container("p")["restartCount"] == 0


async def test_volumes_are_reached_by_their_mount_paths(api: FakeApi, tmp_path: Path) -> None:
    api.claims["ns/data"] = {}
    api.secrets["ns/sec"] = {"data": {"key": "Z2VoZWlt"}}
    one = pod(
        "p",
        "cat /etc/secret/key > /data/out; cp /data/out $SCRATCH/copy; pwd",
        volumes=[
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "s", "secret": {"secretName": "sec"}},
            {"name": "e", "emptyDir": {}},
        ],
    )
    one["spec"]["containers"][0] |= {
        "env": [{"name": "SCRATCH", "value": "/scratch"}],
        "workingDir": "/data",
        "volumeMounts": [
            {"name": "d", "mountPath": "/data"},
            {"name": "s", "mountPath": "/etc/secret"},
            {"name": "e", "mountPath": "/scratch"},
        ],
    }
    api.create(one)
    assert await finished(api) == "Succeeded", log_of(tmp_path, one)
    folder = tmp_path / "data" / "volumes" / "ns" / "data"
    assert (folder / "out").read_text() == "geheim"
    assert log_of(tmp_path, one) == str(folder)
    api.delete("p")
    await until(lambda: api.phase("p") == "gone")
    assert (folder / "out").exists()


async def test_peers_agree_on_ports_whoever_starts_first(api: FakeApi, tmp_path: Path) -> None:
    config = '{"cluster":{"worker":["w-0.ns.svc:2222","w-1.ns.svc:2222"]}}'
    for name in ("w-0", "w-1"):
        one = pod(name, f"echo $TF_CONFIG > {name}.out")
        one["spec"]["containers"][0] |= {
            "env": [{"name": "TF_CONFIG", "value": config}],
            "ports": [{"containerPort": 2222}],
        }
        api.create(one)
    assert (await finished(api, "w-0"), await finished(api, "w-1")) == ("Succeeded", "Succeeded")
    first, second = (tmp_path / "w-0.out").read_text(), (tmp_path / "w-1.out").read_text()
    assert first == second
    assert first.count("127.0.0.1:") == 2
    assert "svc" not in first
    assert api.pods["w-0"]["spec"]["containers"][0]["env"][0]["value"] == config


async def test_this_python_comes_first_and_the_pod_knows_its_name(
    api: FakeApi, tmp_path: Path
) -> None:
    one = pod("p", "python -c 'import sys; print(sys.prefix)'; echo $HOSTNAME")
    one["spec"]["containers"][0]["env"] = [{"name": "PATH", "value": "/usr/bin:/bin"}]
    api.create(one)
    assert await finished(api) == "Succeeded"
    assert log_of(tmp_path, one).split() == [sys.prefix, "p"]


async def test_too_much_memory_is_an_out_of_memory_kill(api: FakeApi) -> None:
    code = "import time; x = bytearray(b'x' * (80 << 20)); time.sleep(60)"
    container = {
        "name": "c0",
        "command": ["python", "-c", code],
        "resources": {"limits": {"memory": "40Mi"}},
    }
    api.create(pod("p", containers=[container]))
    assert await finished(api) == "Failed"
    ended = api.container("p")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "OOMKilled")


async def test_a_pod_over_its_deadline_has_failed(api: FakeApi) -> None:
    api.create(pod("p", "sleep 60", activeDeadlineSeconds=1, terminationGracePeriodSeconds=5))
    assert await finished(api) == "Failed"
    assert api.pods["p"]["status"]["reason"] == "DeadlineExceeded"
    await until(lambda: api.exit_code("p") == 143)


async def test_gpus_are_shared_out(tmp_path: Path) -> None:
    api = FakeApi()
    sizes = {"cpu": "2", "memory": "4Gi", "pods": "50", "nvidia.com/gpu": "2"}
    async with node(api, tmp_path, gpus=("4", "7"), allocatable=sizes):
        hold = "echo $CUDA_VISIBLE_DEVICES > {0}.gpu; until [ -e go ]; do sleep 0.01; done"
        for name in ("a", "b", "none"):
            one = pod(name, hold.format(name))
            limits = {} if name == "none" else {"nvidia.com/gpu": 1}
            one["spec"]["containers"][0]["resources"] = {"limits": limits}
            api.create(one)
        await until(lambda: all((tmp_path / f"{n}.gpu").exists() for n in ("a", "b", "none")))
        (tmp_path / "go").touch()
        for name in ("a", "b", "none"):
            assert await finished(api, name) == "Succeeded"
    given = {(tmp_path / f"{name}.gpu").read_text().strip() for name in ("a", "b")}
    assert given == {"4", "7"}
    assert (tmp_path / "none.gpu").read_text().strip() == "-1"


async def test_last_words_become_the_message(api: FakeApi) -> None:
    one = pod("p", "echo because > /dev/termination-log; exit 1", "echo from the log; exit 1")
    one["spec"]["containers"][1]["terminationMessagePolicy"] = "FallbackToLogsOnError"
    api.create(one)
    assert await finished(api) == "Failed"
    assert api.container("p", 0)["state"]["terminated"]["message"] == "because\n"
    assert api.container("p", 1)["state"]["terminated"]["message"] == "from the log\n"


async def test_what_has_no_effect_here_is_named_once(api: FakeApi) -> None:
    one = pod("p", "true", nodeSelector={"gpu": "yes"})
    one["spec"]["containers"][0]["livenessProbe"] = {"exec": {}}
    api.create(one)
    await finished(api)
    told = [message for _, reason, message in api.events if reason == "LeftOut"]
    assert told == ["without effect on this machine: livenessProbe, spec.nodeSelector"]


async def test_an_unwritable_log_folder_is_said_and_others_go_on(
    api: FakeApi, tmp_path: Path
) -> None:
    blocked = pod("blocked", "true")
    folder = tmp_path / "data" / "pods" / blocked["metadata"]["uid"]
    folder.mkdir()
    (folder / "containers").write_text("a file where a folder should be")
    api.create(blocked)
    await until(lambda: api.waiting("blocked")[0] == "CreateContainerError")
    assert "this machine refused" in api.waiting("blocked")[1]
    api.create(pod("p", "true"))
    assert await finished(api) == "Succeeded"
    (folder / "containers").unlink()
    assert await finished(api, "blocked") == "Succeeded"


async def test_an_api_server_that_is_away_is_waited_for(api: FakeApi) -> None:
    api.create(pod("p", "sleep 0.05"))
    await until(lambda: api.phase("p") == "Running")
    api.is_down = True
    await until(lambda: "FailedSync" in api.reasons())
    api.is_down = False
    assert await finished(api) == "Succeeded"


async def test_pods_of_other_nodes_are_left_alone(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("foreign", "touch foreign", nodeName="elsewhere"))
    api.create(pod("p", "true"))
    await finished(api)
    assert api.phase("foreign") == "Pending"
    assert not (tmp_path / "foreign").exists()


async def test_a_stopped_node_leaves_no_process_and_the_next_one_restarts(tmp_path: Path) -> None:
    api = FakeApi()
    one = pod("p", "echo $$$$ >> pids; until [ -e go ]; do sleep 0.01; done", policy="OnFailure")
    async with node(api, tmp_path):
        api.create(one)
        await until(lambda: (tmp_path / "pids").exists() and (tmp_path / "pids").read_text())
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


async def test_pods_deleted_while_the_node_was_away_are_cleaned_up(tmp_path: Path) -> None:
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
