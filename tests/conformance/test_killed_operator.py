"""An operator that dies, ends, or hands over: nothing is lost and nothing is run twice."""

import asyncio
import time
from collections import Counter

import pytest

from tests.support.controlplane.puppet import runs
from tests.support.operator_process import OperatorProcess
from tests.support.scene import Scene

JOBS = 50
KILLS = 10
CHILDREN = ("chief-0", "worker-0", "worker-1")


async def at_least(scene: Scene, count: int) -> None:
    await scene.puppet.until(f"{count} pods", lambda pods: len(pods) >= count)


@pytest.mark.timeout(120, func_only=True)
@pytest.mark.scenario(132, "R22", "R47")
async def test_operator_killed_ten_times_among_fifty_starting_jobs_makes_each_child_once(
    scene: Scene,
) -> None:
    operator = scene.world.operator
    pods_path = f"/api/v1/namespaces/{scene.namespace}/pods"
    since = (await scene.call("GET", pods_path))["metadata"]["resourceVersion"]
    operator.kill()
    for index in range(JOBS):
        await scene.submit("C1 W2", name=f"j{index}")
    total = JOBS * len(CHILDREN)
    for kill in range(KILLS):
        operator.start(ready=False)
        enough = total * (kill + 1) // (KILLS + 1)
        await at_least(scene, enough)
        operator.kill()
    scene.puppet.play("*", runs)
    operator.start()
    names = [f"j{index}-{child}" for index in range(JOBS) for child in CHILDREN]
    await scene.children(*names)
    for index in range(JOBS):
        await scene.reaches("Created", "Running", name=f"j{index}")
    made = [each for each in await scene.changes(pods_path, since=since) if each["type"] == "ADDED"]
    assert Counter(each["object"]["metadata"]["name"] for each in made) == Counter(names)
    assert operator.jobs_counted("created", scene.namespace) == JOBS


async def test_operator_that_is_asked_to_end_ends_cleanly_and_soon(scene: Scene) -> None:
    operator = scene.world.operator
    for index in range(10):
        await scene.submit("W4", name=f"j{index}")
    await at_least(scene, 5)
    code = await asyncio.to_thread(operator.stop)
    assert code == 0
    assert "Traceback" not in operator.log.read_text()
    operator.start()
    await scene.children(*(f"j{job}-worker-{index}" for job in range(10) for index in range(4)))


def two_operators(scene: Scene) -> tuple[OperatorProcess, OperatorProcess]:
    first, second = (
        scene.world.new_operator(
            "--leader-elect",
            f"--namespace={scene.namespace}",
            name=name,
            MY_POD_NAMESPACE=scene.namespace,
        )
        for name in ("first", "second")
    )
    return first, second


def leads(operator: OperatorProcess) -> bool:
    return operator.metrics().get("tf_operator_is_leader") == 1


async def wait_to_lead(scene: Scene, operator: OperatorProcess) -> None:
    async def is_leader() -> bool:
        return leads(operator)

    await scene.eventually("it leads", is_leader)


@pytest.mark.scenario("R37")
async def test_of_two_operators_one_works_and_the_other_follows_at_once(scene: Scene) -> None:
    scene.world.operator.kill()
    first, second = two_operators(scene)
    first.start()
    await wait_to_lead(scene, first)
    second.start()
    scene.puppet.play("*", runs)
    await scene.submit("W1")
    await scene.reaches("Created", "Running")
    assert not leads(second)
    created = second.metrics()["created_pods_total"]
    assert created == 0

    assert await asyncio.to_thread(first.stop) == 0
    await wait_to_lead(scene, second)
    await scene.submit("W1", name="k")
    await scene.reaches("Created", "Running", name="k")
    second.close()
    first.close()


@pytest.mark.scenario("R37")
async def test_dead_leader_is_followed_when_its_lease_is_over(scene: Scene) -> None:
    scene.world.operator.kill()
    first, second = two_operators(scene)
    first.start()
    await wait_to_lead(scene, first)
    second.start()
    first.kill()
    killed = time.monotonic()
    await scene.submit("W1")
    await wait_to_lead(scene, second)
    assert time.monotonic() - killed > 5
    await scene.children("j-worker-0")
    second.close()
    first.close()
