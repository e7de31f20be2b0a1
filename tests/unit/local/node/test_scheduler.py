"""Scheduling of pending pods."""

from pathlib import Path
from typing import Any

from tests.unit.local.node.fake_api import FakeApi, pod, until
from tests.unit.local.node.whole_node import finished, log_of, node
from tfjob.local.node.overcommit import Overcommit


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


async def test_a_pod_that_does_not_fit_waits_with_the_reason(api: FakeApi, tmp_path: Path) -> None:
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


async def test_gpus_are_assigned_to_pods(tmp_path: Path) -> None:
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


async def test_shared_gpus_are_given_to_several_pods_at_once(tmp_path: Path) -> None:
    api = FakeApi()
    sizes = {"cpu": "2", "memory": "4Gi", "pods": "50", "nvidia.com/gpu": "2"}
    names = ("a", "b", "c", "d")
    shared = Overcommit(gpus=True)
    async with node(api, tmp_path, gpus=("4", "7"), allocatable=sizes, overcommit=shared):
        seen = "echo $CUDA_VISIBLE_DEVICES $TF_FORCE_GPU_ALLOW_GROWTH > {0}.new; mv {0}.new {0}.gpu"
        for name in names:
            one = pod(name, f"{seen.format(name)}; until [ -e go ]; do sleep 0.01; done")
            one["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
            api.create(one)
        await until(lambda: all((tmp_path / f"{name}.gpu").exists() for name in names))
        (tmp_path / "go").touch()
        for name in names:
            assert await finished(api, name) == "Succeeded"
    given = sorted((tmp_path / f"{name}.gpu").read_text().strip() for name in names)
    assert given == ["4 true", "4 true", "7 true", "7 true"]


async def test_a_pod_larger_than_the_machine_runs_where_requests_are_ignored(
    tmp_path: Path,
) -> None:
    api = FakeApi()
    sizes = {"cpu": "2", "memory": "4Gi", "pods": "50", "nvidia.com/gpu": "1"}
    ignored = Overcommit(requests=True)
    async with node(api, tmp_path, gpus=("4",), allocatable=sizes, overcommit=ignored):
        one = pod("large", "echo $CUDA_VISIBLE_DEVICES > gpu")
        limits = {"cpu": "64", "nvidia.com/gpu": 8, "example.com/tpu": 4}
        one["spec"]["containers"][0]["resources"] = {"limits": limits}
        api.create(one)
        assert await finished(api, "large") == "Succeeded"
    assert (tmp_path / "gpu").read_text() == "4\n"


async def test_pods_of_other_nodes_are_left_alone(api: FakeApi, tmp_path: Path) -> None:
    api.create(pod("foreign", "touch foreign", nodeName="elsewhere"))
    api.create(pod("p", "true"))
    await finished(api)
    assert api.phase("foreign") == "Pending"
    assert not (tmp_path / "foreign").exists()
