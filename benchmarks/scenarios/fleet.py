"""An operator over thousands of jobs that run: at rest, begun anew, at their end and their removal.

One fleet serves four scenarios, for making it takes longer than all of them.
"""

import asyncio
import time
from typing import Final

from benchmarks.bench_env import Measured, Stage
from benchmarks.process import cpu_seconds, memory_mb
from benchmarks.scenarios import many
from benchmarks.watch_probe import JOBS, PODS, ended_pod, job

_QUIET: Final = 5.0
"""Seconds until what the last scenario left behind has been done."""


async def idle(stage: Stage, *, seconds: float) -> Measured:
    """CPU time per minute while nothing changes."""
    await asyncio.sleep(_QUIET)
    before = cpu_seconds(stage.operator.pid)
    await asyncio.sleep(seconds)
    used = cpu_seconds(stage.operator.pid) - before
    return Measured(
        {"cpu_per_minute": used * 60 / seconds, "memory": memory_mb(stage.operator.pid)}
    )


async def cold_start(stage: Stage) -> Measured:
    """The time from the start of the process until a job submitted at that moment has its pods."""
    sight = stage.sight
    await asyncio.to_thread(stage.operator.kill)
    await asyncio.sleep(1.0)
    began = time.monotonic()
    started = asyncio.create_task(asyncio.to_thread(stage.operator.start))
    await stage.server.create(JOBS, job("new", workers=many.REPLICAS - 1))
    wanted = {f"new-worker-{number}" for number in range(many.REPLICAS - 1)} | {"new-ps-0"}
    served = await sight.until(lambda: wanted <= sight.pods.keys(), what="the new job's pods")
    await started
    await sight.until(lambda: "new" in sight.in_condition["Running"], what="the new job running")
    await asyncio.sleep(_QUIET)
    pid = stage.operator.pid
    return Measured({"served": served - began, "cpu": cpu_seconds(pid), "memory": memory_mb(pid)})


async def finish(stage: Stage, *, jobs: int) -> Measured:
    """The time from the first success of a worker until all jobs have succeeded."""
    sight = stage.sight
    mark = await stage.mark()
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(jobs):
            path = f"{PODS}/job-{number}-worker-0/status"
            group.create_task(stage.server.patch(path, ended_pod(exit_code=0)))
    done = await sight.until(lambda: sight.succeeded >= jobs, what=f"{jobs} jobs succeeded")
    return await stage.used_since(mark, succeeded=done - began)


async def delete(stage: Stage) -> Measured:
    """The time until all jobs and children are gone, most of which the garbage collector needs."""
    sight = stage.sight
    mark = await stage.mark()
    began = time.monotonic()
    await stage.server.delete(JOBS, {"propagationPolicy": "Background"})
    gone = await sight.until(lambda: not (sight.jobs or sight.children), what="nothing left")
    return await stage.used_since(mark, gone=gone - began)
