"""Thousands of running jobs: the operator idle, restarted, when they finish and when deleted.

Four scenarios share one fleet, because creating it takes longer than all of them.
"""

import asyncio
import time
from typing import Final

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.process import cpu_seconds, memory_mb
from benchmarks.scenarios import many
from benchmarks.watch_probe import JOBS, PODS, ended_pod, job

_QUIET: Final = 5.0
"""Seconds for the work left by the previous scenario."""


async def idle(env: BenchEnv, *, seconds: float) -> Measured:
    """CPU time per minute while nothing changes."""
    await asyncio.sleep(_QUIET)
    before = cpu_seconds(env.operator.pid)
    await asyncio.sleep(seconds)
    used = cpu_seconds(env.operator.pid) - before
    return Measured({"cpu_per_minute": used * 60 / seconds, "memory": memory_mb(env.operator.pid)})


async def cold_start(env: BenchEnv) -> Measured:
    """The time from the start of the process until a job submitted at that moment has its pods."""
    probe = env.probe
    await asyncio.to_thread(env.operator.kill)
    await asyncio.sleep(1.0)
    began = time.monotonic()
    started = asyncio.create_task(asyncio.to_thread(env.operator.start))
    await env.server.create(JOBS, job("new", workers=many.REPLICAS - 1))
    wanted = {f"new-worker-{number}" for number in range(many.REPLICAS - 1)} | {"new-ps-0"}
    served = await probe.until(lambda: wanted <= probe.pods.keys(), what="the new job's pods")
    await started
    await probe.until(lambda: "new" in probe.in_condition["Running"], what="the new job running")
    await asyncio.sleep(_QUIET)
    pid = env.operator.pid
    return Measured({"served": served - began, "cpu": cpu_seconds(pid), "memory": memory_mb(pid)})


async def finish(env: BenchEnv, *, jobs: int) -> Measured:
    """The time from the first success of a worker until all jobs have succeeded."""
    probe = env.probe
    mark = await env.mark()
    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(jobs):
            path = f"{PODS}/job-{number}-worker-0/status"
            group.create_task(env.server.patch(path, ended_pod(exit_code=0)))
    done = await probe.until(lambda: probe.succeeded >= jobs, what=f"{jobs} jobs succeeded")
    return await env.used_since(mark, succeeded=done - began)


async def delete(env: BenchEnv) -> Measured:
    """The time until all jobs and children are deleted, mostly by the garbage collector."""
    probe = env.probe
    mark = await env.mark()
    began = time.monotonic()
    await env.server.delete(JOBS, {"propagationPolicy": "Background"})
    gone = await probe.until(lambda: not (probe.jobs or probe.children), what="nothing left")
    return await env.used_since(mark, gone=gone - began)
