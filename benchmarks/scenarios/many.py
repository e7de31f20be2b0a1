"""Many small jobs at once: one parameter server and three workers each."""

import time
from collections.abc import Mapping
from functools import partial
from typing import Final

from benchmarks.sight import JOBS, job
from benchmarks.stage import Measured, Stage

REPLICAS: Final = 4


async def measure(stage: Stage, *, jobs: int, prefix: str = "job") -> Measured:
    """Times from the first submit until all children exist, and until all jobs run."""
    sight = stage.sight
    bodies = [job(f"{prefix}-{number}", workers=REPLICAS - 1) for number in range(jobs)]
    mark = await stage.mark()
    began = time.monotonic()
    await stage.server.create_all(JOBS, bodies)
    wanted = jobs * REPLICAS

    def are_there() -> bool:
        return min(len(sight.pods), len(sight.services)) >= wanted

    children = await sight.until(are_there, what=f"{wanted} pods and services")
    running = await sight.until(partial(_run, stage, jobs), what=f"{jobs} jobs running")
    requests = await stage.requests_since(mark)
    measured = await stage.used_since(mark, children=children - began, running=running - began)
    return with_costs(measured, requests, jobs=jobs)


def with_costs(measured: Measured, requests: Mapping[str, int], *, jobs: int) -> Measured:
    """What one job cost the operator, and the API server until it ran."""
    writes = sum(count for name, count in requests.items() if _is_overhead(name))
    events = requests.get("create events", 0) + requests.get("patch events", 0)
    measured.figures |= {
        "cpu_ms_per_job": 1000 * measured.figures["cpu"] / jobs,
        "writes_per_job": writes / jobs,
        "job_writes_per_job": (writes - events) / jobs,
    }
    return measured


def _is_overhead(request: str) -> bool:
    """A write of the operator that makes no child; the jobs themselves were created by us."""
    verb, _, thing = request.partition(" ")
    if verb == "get" or thing in {"pods", "services"}:
        return False
    return request != "create tfjobs"


def _run(stage: Stage, jobs: int) -> bool:
    return stage.sight.running >= jobs
