"""A pod fails and is replaced: how long its place is empty, at rest and under load."""

import asyncio
import statistics
import time
from typing import Final

from benchmarks.bench_env import Measured, Stage
from benchmarks.scenarios import many
from benchmarks.watch_probe import JOBS, PODS, Failed, ended_pod, job, percentile

_PAUSE: Final = 0.05
_LIMIT: Final = 60.0
"""What is not replaced by then counts as this long, and is counted."""


async def measure(stage: Stage, *, jobs: int, load: int) -> Measured:
    """Percentiles of the time from the failure of a pod until its replacement exists."""
    await many.measure(stage, jobs=jobs)
    mark = await stage.mark()
    names = [f"job-{number}-worker-1" for number in range(jobs)]
    idle = [await _replaced(stage, name) for name in names]
    under_load = await _under_load(stage, jobs=jobs, load=load)
    return await stage.used_since(
        mark,
        idle_p50=statistics.median(idle),
        idle_p99=percentile(idle, 0.99),
        load_p50=statistics.median(under_load),
        load_p99=percentile(under_load, 0.99),
        not_replaced=sum(each >= _LIMIT for each in (*idle, *under_load)),
    )


async def _under_load(stage: Stage, *, jobs: int, load: int) -> list[float]:
    """One failure after the other at a fixed pace, while many new jobs are being made."""
    bodies = [job(f"load-{number}", workers=many.REPLICAS - 1) for number in range(load)]
    async with asyncio.TaskGroup() as group:
        group.create_task(stage.server.create_all((JOBS, body) for body in bodies))
        found: list[asyncio.Task[float]] = []
        for number in range(jobs):
            name = f"job-{number}-worker-2"
            found.append(group.create_task(_replaced(stage, name)))
            await asyncio.sleep(_PAUSE)
    return [task.result() for task in found]


async def _replaced(stage: Stage, name: str) -> float:
    sight = stage.sight
    failed = sight.pods[name]
    # The exit code of a pod whose node was taken away, which asks for another try.
    await stage.server.patch(f"{PODS}/{name}/status", ended_pod(exit_code=137))
    began = time.monotonic()
    try:
        there = await sight.until(
            lambda: sight.pods.get(name, failed) != failed, what=f"a new {name}", limit=_LIMIT
        )
    except Failed:
        return _LIMIT
    return max(there - began, 0.0)
