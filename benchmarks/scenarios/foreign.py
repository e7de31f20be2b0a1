"""A cluster with many pods of other owners: what they cost the operator."""

import asyncio
from typing import Final

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.process import cpu_seconds, memory_mb, peak_memory_mb
from benchmarks.watch_probe import lone_pod

_PATH: Final = "/api/v1/namespaces/kube-public/pods"
_QUIET: Final = 5.0


async def measure(env: BenchEnv, *, pods: int) -> Measured:
    """Memory and CPU time of an operator that is restarted with nothing to do."""
    for first in range(0, pods, 1000):
        bodies = [
            lone_pod(f"web-{number}", app="web") for number in range(first, min(first + 1000, pods))
        ]
        await env.server.create_all((_PATH, body) for body in bodies)
    await env.restart()
    await asyncio.sleep(_QUIET)
    pid = env.operator.pid
    return Measured(
        {"memory": memory_mb(pid), "peak_memory": peak_memory_mb(pid), "cpu": cpu_seconds(pid)}
    )
