"""A day in miniature: two thousand jobs through their whole life, and nothing is left of them."""

import asyncio
from pathlib import Path

import pytest

from tests.support.controlplane.puppet import exits, runs
from tests.support.operator_process import OperatorProcess
from tests.support.scene import Scene
from tests.support.world_fixtures import only_kubernetes

JOBS = 2000
BATCH = 100
PLATEAU = JOBS // 4
"""By then every code path has been taken and every pool has its size."""
POLICY = {"ttlSecondsAfterFinished": 1}


def resident_kilobytes(operator: OperatorProcess) -> int:
    lines = Path(f"/proc/{operator.pid}/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith("VmRSS:"))
    return int(found.split()[1])


def open_files(operator: OperatorProcess) -> int:
    return len(list(Path(f"/proc/{operator.pid}/fd").iterdir()))


async def live_through(scene: Scene, first: int) -> None:
    """Jobs are created, restart once, succeed, and are deleted when their time is over."""
    names = [f"j{first + index}" for index in range(BATCH)]
    await asyncio.gather(
        *(scene.submit("W1", name=name, restart="ExitCode", run_policy=POLICY) for name in names)
    )

    async def are_gone() -> bool:
        return not (await scene.call("GET", scene.jobs_path()))["items"]

    await scene.eventually("every job is gone", are_gone, name=names[0], seconds=120)
    # The pods follow their jobs; only then has the operator heard the last of them.
    await scene.puppet.until("no pod is left", lambda pods: not pods, seconds=60)
    await hear_the_last(scene)


async def hear_the_last(scene: Scene) -> None:
    """Events are sent in the background: sizes are compared when none waits to be sent."""
    path = f"/api/v1/namespaces/{scene.namespace}/events"

    async def are_told() -> bool:
        query = "fieldSelector=reason%3DSuccessfulDeleteJob"
        return len((await scene.call("GET", f"{path}?{query}"))["items"]) == BATCH

    await scene.eventually("every end is told", are_told, seconds=120)
    await scene.call("DELETE", path)


@only_kubernetes
@pytest.mark.timeout(1200, func_only=True)
async def test_memory_connections_and_queue_do_not_grow_with_the_jobs_that_were(
    scene: Scene,
) -> None:
    operator = scene.world.operator
    operator.restart()
    scene.puppet.play("*", runs, exits(137, 0))
    sizes: dict[int, int] = {}
    for first in range(0, JOBS, BATCH):
        await live_through(scene, first)
        sizes[first + BATCH] = resident_kilobytes(operator)
    plateau = max(size for count, size in sizes.items() if count <= PLATEAU)
    print(f"resident KiB by jobs: {sizes}")
    assert sizes[JOBS] <= plateau * 1.1

    for what in ("created", "successful", "restarted", "deleted"):
        assert operator.jobs_counted(what, scene.namespace) == JOBS
    found = operator.metrics()
    assert found["created_pods_total"] == 2 * JOBS
    assert found['workqueue_depth{name="tfjob-controller"}'] == 0
    # Three watches, two listeners, and a pool that is used again: nothing per job.
    assert open_files(operator) < 150
