"""A cluster full of pods that belong to others: what they cost an operator."""

import asyncio
from typing import Final

from benchmarks.bench_env import Measured, Stage
from benchmarks.process import cpu_seconds, memory_mb, peak_memory_mb
from benchmarks.watch_probe import lone_pod

_PATH: Final = "/api/v1/namespaces/kube-public/pods"
_QUIET: Final = 5.0


async def measure(stage: Stage, *, pods: int) -> Measured:
    """Memory and CPU time of an operator that is started beside them and has nothing to do."""
    for first in range(0, pods, 1000):
        bodies = [
            lone_pod(f"web-{number}", app="web") for number in range(first, min(first + 1000, pods))
        ]
        await stage.server.create_all((_PATH, body) for body in bodies)
    await stage.restart()
    await asyncio.sleep(_QUIET)
    pid = stage.operator.pid
    return Measured(
        {"memory": memory_mb(pid), "peak_memory": peak_memory_mb(pid), "cpu": cpu_seconds(pid)}
    )
