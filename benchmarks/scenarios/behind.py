"""A one-pod job that comes while a job of thousands of pods is being made."""

import time
from typing import Final

from benchmarks.sight import JOBS, job
from benchmarks.stage import Measured, Stage

_FIRST: Final = 20
"""Pods of the large job that exist when the small one is submitted."""


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
