"""An operator that is killed, stops, or loses its lease: nothing is lost and nothing runs twice."""

import asyncio
from collections import Counter
from datetime import datetime
from typing import Any

import pytest

from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import JobFixture
from tests.support.operator_process import OperatorProcess

JOBS = 50
KILLS = 10
CHILDREN = ("chief-0", "worker-0", "worker-1")


async def at_least(fixture: JobFixture, count: int) -> None:
    await fixture.kubelet.until(f"{count} pods", lambda pods: len(pods) >= count)


@pytest.mark.timeout(func_only=True)
@pytest.mark.scenario(132, "R22", "R47")
async def test_operator_killed_ten_times_among_fifty_starting_jobs_makes_each_child_once(
    fixture: JobFixture,
) -> None:
    operator = fixture.env.operator
    pods_path = f"/api/v1/namespaces/{fixture.namespace}/pods"
    since = (await fixture.call("GET", pods_path))["metadata"]["resourceVersion"]
    operator.kill()
    for index in range(JOBS):
        await fixture.submit("C1 W2", name=f"j{index}")
    total = JOBS * len(CHILDREN)
    for kill in range(KILLS):
        operator.start(ready=False)
        enough = total * (kill + 1) // (KILLS + 1)
        await at_least(fixture, enough)
        operator.kill()
    fixture.kubelet.script("*", runs)
    operator.start()
    names = [f"j{index}-{child}" for index in range(JOBS) for child in CHILDREN]
    await fixture.children(*names)
    for index in range(JOBS):
        await fixture.reaches("Created", "Running", name=f"j{index}")
    made = [
        each for each in await fixture.changes(pods_path, since=since) if each["type"] == "ADDED"
    ]
    assert Counter(each["object"]["metadata"]["name"] for each in made) == Counter(names)
    assert operator.jobs_counted("created", fixture.namespace) == JOBS


async def test_operator_that_is_asked_to_end_ends_cleanly_and_soon(fixture: JobFixture) -> None:
    operator = fixture.env.operator
    for index in range(10):
        await fixture.submit("W4", name=f"j{index}")
    await at_least(fixture, 5)
    code = await asyncio.to_thread(operator.stop)
    assert code == 0
    assert "Traceback" not in operator.log.read_text()
    operator.start()
    await fixture.children(*(f"j{job}-worker-{index}" for job in range(10) for index in range(4)))


def two_operators(fixture: JobFixture) -> tuple[OperatorProcess, OperatorProcess]:
    first, second = (
        fixture.env.new_operator(
            "--leader-elect",
            f"--namespace={fixture.namespace}",
            name=name,
            MY_POD_NAMESPACE=fixture.namespace,
        )
        for name in ("first", "second")
    )
    return first, second


def leads(operator: OperatorProcess) -> bool:
    return operator.metrics().get("tf_operator_is_leader") == 1


async def lease_of(fixture: JobFixture) -> dict[str, Any]:
    """What is stored of the one lease of the namespace."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{fixture.namespace}/leases"
    (lease,) = (await fixture.call("GET", path))["items"]
    spec: dict[str, Any] = lease["spec"]
    return spec


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def wait_to_lead(fixture: JobFixture, operator: OperatorProcess) -> None:
    async def is_leader() -> bool:
        return leads(operator)

    await fixture.eventually("it leads", is_leader)


@pytest.mark.scenario("R37")
async def test_of_two_operators_one_works_and_the_other_follows_at_once(
    fixture: JobFixture,
) -> None:
    fixture.env.operator.kill()
    first, second = two_operators(fixture)
    first.start()
    await wait_to_lead(fixture, first)
    second.start()
    fixture.kubelet.script("*", runs)
    await fixture.submit("W1")
    await fixture.reaches("Created", "Running")
    assert not leads(second)
    created = second.metrics()["created_pods_total"]
    assert created == 0

    assert await asyncio.to_thread(first.stop) == 0
    await wait_to_lead(fixture, second)
    await fixture.submit("W1", name="k")
    await fixture.reaches("Created", "Running", name="k")
    second.close()
    first.close()


@pytest.mark.scenario("R37")
async def test_dead_leader_is_followed_when_its_lease_is_over(fixture: JobFixture) -> None:
    fixture.env.operator.kill()
    first, second = two_operators(fixture)
    first.start()
    await wait_to_lead(fixture, first)
    second.start()
    first.kill()
    left = await lease_of(fixture)
    await fixture.submit("W1")
    await wait_to_lead(fixture, second)
    taken = await lease_of(fixture)
    waited = moment(taken["acquireTime"]) - moment(left["renewTime"])
    assert waited.total_seconds() >= left["leaseDurationSeconds"]
    await fixture.children("j-worker-0")
    second.close()
    first.close()
