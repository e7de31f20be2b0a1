"""A one-pod job that comes while a job of thousands of pods is being made."""

import statistics
import time
from typing import Final

from benchmarks.bench_env import Measured, Stage
from benchmarks.watch_probe import JOBS, PODS, job, lone_pod

_FIRST: Final = 20
"""Pods of the large job that exist when the small one is submitted."""
_TRIES: Final = 20


async def measure(stage: Stage, *, replicas: int) -> Measured:
    """The time from the submit of the small job until its pod exists."""
    sight = stage.sight
    mark = await stage.mark()
    await stage.server.create(JOBS, job("large", workers=replicas, servers=0))
    await sight.until(lambda: len(sight.pods) >= _FIRST, what=f"{_FIRST} pods of the large job")
    began = time.monotonic()
    await stage.server.create(JOBS, job("small", workers=1, servers=0))
    there = await sight.until(lambda: "small-worker-0" in sight.pods, what="the small job's pod")
    before = len(sight.pods) - 1
    measured = await stage.used_since(mark, pod=there - began)
    measured.figures["large_job_pods_before"] = before
    return measured


async def floor(stage: Stage) -> Measured:
    """The same with neither operator nor large job: a job and a pod, one after the other."""
    pairs = [await _pair(stage, number) for number in range(_TRIES)]
    return Measured({"pod": statistics.median(pairs)})


async def _pair(stage: Stage, number: int) -> float:
    name, began = f"floor-{number}", time.monotonic()
    await stage.server.create(JOBS, job(name, workers=1, servers=0))
    await stage.server.create(PODS, lone_pod(name))
    return await stage.sight.until(lambda: name in stage.sight.pods, what="the pod") - began
