"""Many small jobs at once: one parameter server and three workers each."""

import time
from collections.abc import Mapping
from functools import partial
from itertools import cycle
from typing import Final

from benchmarks.bench_env import Measured, Stage
from benchmarks.watch_probe import job, jobs_in, percentile

REPLICAS: Final = 4


async def measure(stage: Stage, *, jobs: int, spread: int = 1) -> Measured:
    """Times from the first submit until all children exist, and until all jobs run; and how long
    a job is without a condition, and runs without its status saying so.

    `spread` is over how many namespaces the jobs are spread.
    """
    sight = stage.sight
    paths = [jobs_in(each) for each in await stage.namespaces(spread)]
    bodies = [job(f"job-{number}", workers=REPLICAS - 1) for number in range(jobs)]
    mark = await stage.mark()
    began = time.monotonic()
    await stage.server.create_all(zip(cycle(paths), bodies, strict=False))
    wanted = jobs * REPLICAS

    def are_there() -> bool:
        return min(len(sight.pods), len(sight.services)) >= wanted

    children = await sight.until(are_there, what=f"{wanted} pods and services")
    running = await sight.until(partial(_run, stage, jobs), what=f"{jobs} jobs running")
    requests, cpu = await stage.requests_since(mark), stage.cpu_since(mark)
    times = {
        "children": children - began,
        "running": running - began,
        "running_cpu": cpu,
        "first_condition_p99": percentile(sight.moments.first_conditions(), 0.99),
        "running_p99": percentile(sight.moments.delays_of_running(), 0.99),
    }
    return with_costs(await stage.used_since(mark, **times), requests, jobs=jobs)


def with_costs(measured: Measured, requests: Mapping[str, int], *, jobs: int) -> Measured:
    """What one job cost: the operator in all, the API server until it ran and in all."""
    writes = _overhead(requests)
    events = requests.get("create events", 0) + requests.get("patch events", 0)
    measured.figures |= {
        "cpu_ms_per_job": 1000 * measured.figures["cpu"] / jobs,
        "writes_per_job": writes / jobs,
        "job_writes_per_job": (writes - events) / jobs,
        "all_writes_per_job": _overhead(measured.requests) / jobs,
    }
    return measured


def _overhead(requests: Mapping[str, int]) -> int:
    return sum(count for name, count in requests.items() if _is_overhead(name))


def _is_overhead(request: str) -> bool:
    """A write of the operator that makes no child; the jobs themselves were created by us."""
    verb, _, thing = request.partition(" ")
    if verb == "get" or thing in {"pods", "services"}:
        return False
    return request != "create tfjobs"


def _run(stage: Stage, jobs: int) -> bool:
    return stage.sight.running >= jobs
