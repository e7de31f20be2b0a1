"""Memory of the operator while jobs come and go in waves; it must not grow with their number.

Each wave creates jobs under new names, waits until they succeed, deletes them and waits until no
pod is left. Memory is compared at rest, when no event waits to be sent any more.
Run as `python -m benchmarks.soak_memory --jobs 4000`.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.bench_env import BenchEnv, bench_env_for
from benchmarks.contestants import CONTESTANTS, TFJOB
from benchmarks.process import memory_mb
from benchmarks.watch_probe import JOBS

WAVE: Final = 200
WARM_UP: Final = 1000
"""Jobs after which every pool has its size."""
MOST_GROWTH: Final = 0.05


def short_job(name: str) -> Mapping[str, Any]:
    """One worker that ends with exit code 0 one second after it started."""
    container = {"name": "tensorflow", "image": "registry.example/train:1"}
    annotations = {"kwok.test/exit-after": "1s"}
    template = {"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}
    worker = {"replicas": 1, "restartPolicy": "ExitCode", "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }


async def wave(env: BenchEnv, first: int) -> None:
    """Take one wave of jobs through their life."""
    probe = env.probe
    names = [f"job-{first + number}" for number in range(WAVE)]
    await env.server.create_all((JOBS, short_job(name)) for name in names)
    await probe.until(lambda: probe.succeeded >= WAVE, what=f"{WAVE} jobs succeeded", limit=300)
    async with asyncio.TaskGroup() as group:
        # One request for all of them can take longer than a busy server allows.
        for name in names:
            group.create_task(env.server.delete(f"{JOBS}/{name}"))
    await probe.until(
        lambda: not probe.jobs and not probe.pods, what="everything is gone", limit=300
    )


async def measure(jobs: int) -> dict[int, float]:
    """Resident memory in MB by the number of jobs that have been."""
    found: dict[int, float] = {}
    began = time.monotonic()
    async with bench_env_for(CONTESTANTS[TFJOB], on_change=lambda _: None) as env:
        mark = await env.mark()
        for first in range(0, jobs, WAVE):
            await wave(env, first)
            # Events that wait to be sent take memory, too: every wave begins without any.
            await env.used_since(mark)
            done = first + WAVE
            if done % WARM_UP and done < jobs:
                continue
            found[done] = memory_mb(env.operator.pid)
            seconds = time.monotonic() - began
            print(f"{done:>7} jobs {found[done]:8.1f} MB {seconds:7.0f} s", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Memory of the operator while jobs come and go.")
    parser.add_argument("--jobs", type=int, default=20_000, help="how many, in waves of 200")
    sizes = asyncio.run(measure(parser.parse_args(arguments).jobs))
    warm, last = sizes[min(sizes)], sizes[max(sizes)]
    growth = last / warm - 1
    print(f"after {min(sizes)} jobs {warm:.1f} MB, at the end {last:.1f} MB: {growth:+.1%}")
    return 1 if growth > MOST_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
