"""A pod fails: the time until it is replaced, at rest and under load."""

import asyncio
import statistics
import time
from typing import Final

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.scenarios import many
from benchmarks.watch_probe import JOBS, PODS, BenchmarkFailed, ended_pod, job, percentile

_PAUSE: Final = 0.05
_LIMIT: Final = 60.0
"""Seconds after which a pod counts as not replaced."""


async def measure(env: BenchEnv, *, jobs: int, load: int) -> Measured:
    """Percentiles of the time from the failure of a pod until its replacement exists."""
    await many.measure(env, jobs=jobs)
    mark = await env.mark()
    names = [f"job-{number}-worker-1" for number in range(jobs)]
    idle = [await _replaced(env, name) for name in names]
    under_load = await _under_load(env, jobs=jobs, load=load)
    return await env.used_since(
        mark,
        idle_p50=statistics.median(idle),
        idle_p99=percentile(idle, 0.99),
        load_p50=statistics.median(under_load),
        load_p99=percentile(under_load, 0.99),
        not_replaced=sum(each >= _LIMIT for each in (*idle, *under_load)),
    )


async def _under_load(env: BenchEnv, *, jobs: int, load: int) -> list[float]:
    """Failures at a fixed rate while many new jobs are created."""
    bodies = [job(f"load-{number}", workers=many.REPLICAS - 1) for number in range(load)]
    async with asyncio.TaskGroup() as group:
        group.create_task(env.server.create_all((JOBS, body) for body in bodies))
        found: list[asyncio.Task[float]] = []
        for number in range(jobs):
            name = f"job-{number}-worker-2"
            found.append(group.create_task(_replaced(env, name)))
            await asyncio.sleep(_PAUSE)
    return [task.result() for task in found]


async def _replaced(env: BenchEnv, name: str) -> float:
    probe = env.probe
    failed = probe.pods[name]
    # SIGKILL, a retryable exit code.
    await env.server.patch(f"{PODS}/{name}/status", ended_pod(exit_code=137))
    began = time.monotonic()
    try:
        there = await probe.until(
            lambda: probe.pods.get(name, failed) != failed, what=f"a new {name}", limit=_LIMIT
        )
    except BenchmarkFailed:
        return _LIMIT
    return max(there - began, 0.0)
