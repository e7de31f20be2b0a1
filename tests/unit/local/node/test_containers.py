"""Containers of a pod: order, restarts, exits."""

from pathlib import Path

from tests.unit.local.node.fake_api import FakeApi, pod, until
from tests.unit.local.node.whole_node import finished, node
from tfjob.local.node.restart_policy import Backoff


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


async def test_a_container_that_keeps_failing_is_in_crash_loop_back_off(tmp_path: Path) -> None:
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


async def test_a_missing_command_exits_with_127(api: FakeApi) -> None:
    api.create(pod("p", containers=[{"name": "c0", "command": ["no-such-thing"]}]))
    assert await finished(api) == "Failed"
    ended = api.container("p")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (127, "StartError")
    assert "no-such-thing" in ended["message"]
    assert "Started" not in api.reasons()


async def test_a_container_beyond_its_memory_limit_is_killed_as_oom(api: FakeApi) -> None:
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
