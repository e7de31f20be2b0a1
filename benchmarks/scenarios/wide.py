"""A few jobs of hundreds of replicas, each of which names all the others."""

import time

from benchmarks.bench_env import Measured, Stage
from benchmarks.watch_probe import JOBS, job


async def measure(stage: Stage, *, jobs: int, replicas: int) -> Measured:
    """Times from the first submit until all children exist, and until all jobs run."""
    sight = stage.sight
    mark = await stage.mark()
    began = time.monotonic()
    bodies = [job(f"wide-{number}", workers=replicas - 1) for number in range(jobs)]
    await stage.server.create_all((JOBS, body) for body in bodies)
    wanted = 2 * jobs * replicas
    children = await sight.until(lambda: sight.children >= wanted, what=f"{wanted} children")
    running = await sight.until(lambda: sight.running >= jobs, what=f"{jobs} jobs running")
    return await stage.used_since(mark, children=children - began, running=running - began)
