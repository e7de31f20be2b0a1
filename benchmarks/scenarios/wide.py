"""A few jobs of hundreds of replicas; the TF_CONFIG of each replica lists all the others."""

import time

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.watch_probe import JOBS, job


async def measure(env: BenchEnv, *, jobs: int, replicas: int) -> Measured:
    """Times from the first submit until all children exist, and until all jobs run."""
    probe = env.probe
    mark = await env.mark()
    began = time.monotonic()
    bodies = [job(f"wide-{number}", workers=replicas - 1) for number in range(jobs)]
    await env.server.create_all((JOBS, body) for body in bodies)
    wanted = 2 * jobs * replicas
    children = await probe.until(lambda: probe.children >= wanted, what=f"{wanted} children")
    running = await probe.until(lambda: probe.running >= jobs, what=f"{jobs} jobs running")
    return await env.used_since(mark, children=children - began, running=running - began)
