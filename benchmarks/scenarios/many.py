"""Many small jobs at once: one parameter server and three workers each."""

import time
from collections.abc import Mapping
from functools import partial
from itertools import cycle
from typing import Final

from benchmarks.bench_env import BenchEnv, Measured
from benchmarks.watch_probe import job, jobs_in, percentile

REPLICAS: Final = 4


async def measure(env: BenchEnv, *, jobs: int, spread: int = 1) -> Measured:
    """Times from the first submit until all children exist and until all jobs run, and the delays
    of the first and of the Running condition.

    `spread` is the number of namespaces.
    """
    probe = env.probe
    paths = [jobs_in(each) for each in await env.namespaces(spread)]
    bodies = [job(f"job-{number}", workers=REPLICAS - 1) for number in range(jobs)]
    mark = await env.mark()
    began = time.monotonic()
    await env.server.create_all(zip(cycle(paths), bodies, strict=False))
    wanted = jobs * REPLICAS

    def are_there() -> bool:
        return min(len(probe.pods), len(probe.services)) >= wanted

    children = await probe.until(are_there, what=f"{wanted} pods and services")
    running = await probe.until(partial(_run, env, jobs), what=f"{jobs} jobs running")
    requests, cpu = await env.requests_since(mark), env.cpu_since(mark)
    times = {
        "children": children - began,
        "running": running - began,
        "running_cpu": cpu,
        "first_condition_p99": percentile(probe.timestamps.first_conditions(), 0.99),
        "running_p99": percentile(probe.timestamps.delays_of_running(), 0.99),
    }
    return with_costs(await env.used_since(mark, **times), requests, jobs=jobs)


def with_costs(measured: Measured, requests: Mapping[str, int], *, jobs: int) -> Measured:
    """Add the costs per job: the operator's CPU, and writes until Running and in total."""
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
    """A write of the operator other than the creation of children."""
    verb, _, thing = request.partition(" ")
    if verb in {"get", "list"} or thing in {"pods", "services"}:
        return False
    return request != "create tfjobs"


def _run(env: BenchEnv, jobs: int) -> bool:
    return env.probe.running >= jobs
