"""A one-pod job that is created while a job of thousands of pods is being created."""

import statistics
import time
from typing import Final

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.watch_probe import JOBS, PODS, job, lone_pod

_FIRST: Final = 20
"""Pods of the large job that exist when the small one is submitted."""
_TRIES: Final = 20


async def measure(env: BenchEnv, *, replicas: int) -> Measured:
    """The time from the submit of the small job until its pod exists."""
    probe = env.probe
    mark = await env.mark()
    await env.server.create(JOBS, job("large", workers=replicas, servers=0))
    await probe.until(lambda: len(probe.pods) >= _FIRST, what=f"{_FIRST} pods of the large job")
    began = time.monotonic()
    await env.server.create(JOBS, job("small", workers=1, servers=0))
    there = await probe.until(lambda: "small-worker-0" in probe.pods, what="the small job's pod")
    before = len(probe.pods) - 1
    measured = await env.used_since(mark, pod=there - began)
    measured.figures["large_job_pods_before"] = before
    return measured


async def floor(env: BenchEnv) -> Measured:
    """The baseline without operator and large job: create a job, then a pod."""
    pairs = [await _pair(env, number) for number in range(_TRIES)]
    return Measured({"pod": statistics.median(pairs)})


async def _pair(env: BenchEnv, number: int) -> float:
    name, began = f"floor-{number}", time.monotonic()
    await env.server.create(JOBS, job(name, workers=1, servers=0))
    await env.server.create(PODS, lone_pod(name))
    return await env.probe.until(lambda: name in env.probe.pods, what="the pod") - began
