"""Two thousand jobs from creation to deletion, and nothing is left of them."""

import asyncio
from pathlib import Path

import pytest

from tests.support.environment_fixtures import only_kubernetes
from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture
from tests.support.operator_process import OperatorProcess

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


async def live_through(fixture: JobFixture, first: int) -> None:
    """Jobs are created, restart once, succeed, and are deleted when their time is over."""
    names = [f"j{first + index}" for index in range(BATCH)]
    await asyncio.gather(
        *(fixture.submit("W1", name=name, restart="ExitCode", run_policy=POLICY) for name in names)
    )

    async def are_gone() -> bool:
        return not (await fixture.call("GET", fixture.jobs_path()))["items"]

    await fixture.eventually("every job is gone", are_gone, name=names[0], seconds=120)
    # The pods follow their jobs; only then has the operator heard the last of them.
    await fixture.kubelet.until("no pod is left", lambda pods: not pods, seconds=60)
    await hear_the_last(fixture)


async def hear_the_last(fixture: JobFixture) -> None:
    """Events are sent in the background: sizes are compared when none waits to be sent."""
    path = f"/api/v1/namespaces/{fixture.namespace}/events"

    async def are_told() -> bool:
        query = "fieldSelector=reason%3DSuccessfulDeleteJob"
        return len((await fixture.call("GET", f"{path}?{query}"))["items"]) == BATCH

    await fixture.eventually("every end is told", are_told, seconds=120)
    await fixture.call("DELETE", path)


@only_kubernetes
@pytest.mark.timeout(1200, func_only=True)
async def test_memory_connections_and_queue_do_not_grow_with_the_jobs_that_were(
    fixture: JobFixture,
) -> None:
    operator = fixture.env.operator
    operator.restart()
    fixture.kubelet.script("*", runs, exits(137, 0))
    sizes: dict[int, int] = {}
    for first in range(0, JOBS, BATCH):
        await live_through(fixture, first)
        sizes[first + BATCH] = resident_kilobytes(operator)
    plateau = max(size for count, size in sizes.items() if count <= PLATEAU)
    print(f"resident KiB by jobs: {sizes}")
    assert sizes[JOBS] <= plateau * 1.1

    for what in ("created", "successful", "restarted", "deleted"):
        assert operator.jobs_counted(what, fixture.namespace) == JOBS
    found = operator.metrics()
    assert found["created_pods_total"] == 2 * JOBS
    assert found['workqueue_depth{name="tfjob-controller"}'] == 0
    # Three watches, two listeners, and a pool that is used again: nothing per job.
    assert open_files(operator) < 150
