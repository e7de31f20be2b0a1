"""The cause of a failure outlives whatever proved it, and a day of operators that come and go."""

import asyncio
from typing import Any

import pytest

from tests.support.fake_kubelet.kubelet import PodLifecycle
from tests.support.simulation import virtual_time
from tests.support.simulation.cluster import SimulatedCluster, simulated
from tests.support.tfjobs import tfjob
from tfjob.dialects.kubeflow.v1 import KubeflowV1

JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
PODS = "/api/v1/namespaces/default/pods"
DAY = 24 * 3600.0
OUTPUT = "step 41\nstep 42\nModuleNotFoundError: No module named 'horovod'"
RESTARTED_EVERY = 5 * 3600.0


async def diagnosis(cluster: SimulatedCluster) -> dict[str, Any]:
    found: dict[str, Any] = (await cluster.ask("GET", f"{JOBS}/j"))["status"].get("diagnosis", {})
    return found


async def until_running(cluster: SimulatedCluster, name: str) -> None:
    while True:
        pods = {each["metadata"]["name"]: each for each in await cluster.server.listed(PODS)}
        if name in pods and pods[name]["status"].get("phase") == "Running":
            return
        await asyncio.sleep(1)


async def a_day_passes(cluster: SimulatedCluster) -> None:
    """Each few hours another operator takes over, and finds only what is stored."""
    loop = asyncio.get_running_loop()
    over = loop.time() + DAY
    while loop.time() < over:
        operator = cluster.operator()
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(min(RESTARTED_EVERY, over - loop.time()))
        operator.stop()
        await running


@pytest.mark.parametrize(("restart", "limit"), [("Never", None), ("ExitCode", None), ("Always", 0)])
def test_cause_exit_code_and_last_lines_are_still_there_after_a_day(
    restart: str, limit: int | None
) -> None:
    async def act(cluster: SimulatedCluster) -> None:
        await cluster.start(KubeflowV1())
        operator = cluster.operator()
        running = asyncio.create_task(operator.run())
        policy = {"cleanPodPolicy": "All"} | ({} if limit is None else {"backoffLimit": limit})
        await cluster.ask("POST", JOBS, tfjob("W2", restart=restart, run_policy=policy))
        await until_running(cluster, "j-worker-1")
        kubelet = PodLifecycle(cluster.server, namespace="default", now=virtual_time.now)
        await kubelet.finish("j-worker-1", exit_code=1, message=OUTPUT)
        await asyncio.sleep(120)
        operator.stop()
        await running
        assert await cluster.names(PODS) == []
        told = await diagnosis(cluster)
        await a_day_passes(cluster)
        assert await diagnosis(cluster) == told
        assert told["replica"] == "worker-1"
        assert told["exitCode"] == 1
        assert told["lastLines"] == OUTPUT
        named = told["incidents"][0]["cause"]
        assert named == "ModuleMissing"
        assert told["cause"] == (named if limit is None else "BackoffLimitExceeded")

    simulated(act, lambda: SimulatedCluster(dialects=(KubeflowV1(),)))
