"""Measures the load of each operator on the API server: at rest, under a quota, in a crash loop.

Requests are counted by the API server. Run as `python -m benchmarks.citizen`; the table is
Markdown, and the result is 1 if tfjob breaks a limit.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.bench_env import BenchEnv, bench_env_for
from benchmarks.contestants import CONTESTANTS, GO_DEFAULT, GO_TUNED, TFJOB
from benchmarks.watch_probe import JOBS, job, jobs_in

JOBS_AT_REST: Final = 100
WORKERS: Final = 300
QUOTA: Final = 10
QUOTA_SECONDS: Final = 10.0
REST_SECONDS: Final = 30.0
LOOP_SECONDS: Final = 30.0
LOOP_WARM_UP: Final = 15.0
LIMITS: Final = {"refused": 60.0, "other_tenant": 2.0}
TITLES: Final = {
    "rest": f"requests per second, {JOBS_AT_REST} running jobs at rest",
    "refused": f"rejected creates in the first 10 s, {WORKERS} workers under a quota of {QUOTA}",
    "refused_later": "rejected creates in the next 20 s",
    "other_tenant": "seconds until a job of another tenant has its pod in that time",
    "loop": "requests per second, 100 jobs in a crash loop",
    "loop_pods": "of these: pods created",
    "loop_status": "of these: status updates of jobs",
    "loop_events": "of these: events",
    "loop_cpu": "CPU of the operator in that time, in percent",
}


async def at_rest(env: BenchEnv) -> dict[str, float]:
    """Requests while jobs run and nothing happens."""
    bodies = [(JOBS, job(f"rest-{n}", workers=1, servers=0)) for n in range(JOBS_AT_REST)]
    first = await env.mark()
    await env.server.create_all(bodies)
    await env.probe.until(lambda: env.probe.running >= JOBS_AT_REST, what="all run", limit=300)
    await env.used_since(first)
    mark = await env.mark()
    await asyncio.sleep(REST_SECONDS)
    requests = await env.requests_since(mark)
    await _clear(env, JOBS)
    return {"rest": sum(requests.values()) / REST_SECONDS}


async def under_quota(env: BenchEnv) -> dict[str, float]:
    """Creates that a quota refuses, and how long another tenant waits."""
    tight, other = await env.namespaces(2)
    quota = f"/api/v1/namespaces/{tight}/resourcequotas"
    body = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": str(QUOTA)}}}
    await env.server.create(quota, body)
    for _ in range(100):
        if (await env.server.get(f"{quota}/few")).get("status", {}).get("hard"):
            break
        await asyncio.sleep(0.1)
    before = await env.server.refused_creates()
    began = time.monotonic()
    await env.server.create(jobs_in(tight), job("tight", workers=WORKERS, servers=0))
    await asyncio.sleep(1)
    asked = time.monotonic()
    await env.server.create(jobs_in(other), job("other", workers=1, servers=0))
    seen = await env.probe.until(
        lambda: "other-worker-0" in env.probe.pods, what="the pod of the other", limit=300
    )
    await asyncio.sleep(max(0.0, began + QUOTA_SECONDS - time.monotonic()))
    first = await env.server.refused_creates()
    await asyncio.sleep(2 * QUOTA_SECONDS)
    later = await env.server.refused_creates()
    await _clear(env, jobs_in(tight), jobs_in(other))
    return {
        "refused": float(first - before),
        "refused_later": float(later - first),
        "other_tenant": seen - asked,
    }


async def crash_loop(env: BenchEnv) -> dict[str, float]:
    """Requests while every pod of every job fails after a second and is replaced."""
    bodies = [(JOBS, crashing(f"crash-{number}")) for number in range(JOBS_AT_REST)]
    await env.server.create_all(bodies)
    await asyncio.sleep(LOOP_WARM_UP)
    mark = await env.mark()
    await asyncio.sleep(LOOP_SECONDS)
    requests, cpu = await env.requests_since(mark), env.cpu_since(mark)
    seconds = time.monotonic() - mark.at
    await _clear(env, JOBS)
    events = requests.get("create events", 0) + requests.get("patch events", 0)
    return {
        "loop": sum(requests.values()) / seconds,
        "loop_pods": requests.get("create pods", 0) / seconds,
        "loop_status": _statuses(requests) / seconds,
        "loop_events": events / seconds,
        "loop_cpu": 100 * cpu / seconds,
    }


def crashing(name: str) -> Mapping[str, Any]:
    """A job whose worker ends with exit code 137 one second after it started."""
    made: dict[str, Any] = {**job(name, workers=1, servers=0)}
    annotations = {"kwok.test/exit-after": "1s", "kwok.test/exit-code": "137"}
    template = made["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    made["spec"]["tfReplicaSpecs"]["Worker"]["template"] = {
        **template,
        "metadata": {"annotations": annotations},
    }
    return made


async def measure(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The figures of each operator, one after the other, each on a fresh control plane."""
    found: dict[str, dict[str, float]] = {}
    for name in names:
        found[name] = {}
        async with bench_env_for(CONTESTANTS[name], on_change=lambda _: None) as env:
            for scenario in (under_quota, at_rest, crash_loop):
                figures = await scenario(env)
                found[name] |= figures
                print(f"{name}: {figures}", file=sys.stderr, flush=True)
    return found


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    heads = " | ".join(CONTESTANTS[name].title for name in found)
    lines = [f"| | {heads} | limit |", f"|---|{'---|' * len(found)}---|"]
    for figure, title in TITLES.items():
        cells = " | ".join(f"{each[figure]:.1f}" for each in found.values())
        limit = f"{LIMITS[figure]:.0f}" if figure in LIMITS else ""
        lines.append(f"| {title} | {cells} | {limit} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.citizen", description=__doc__)
    parser.add_argument("--only", choices=(TFJOB, GO_TUNED, GO_DEFAULT), help="only this operator")
    only = parser.parse_args(arguments).only
    found = asyncio.run(measure([only] if only else [TFJOB, GO_DEFAULT, GO_TUNED]))
    print(table(found))
    ours = found.get(TFJOB, {})
    broken = [name for name, limit in LIMITS.items() if ours.get(name, 0) > limit]
    for name in broken:
        print(f"BROKEN: {TITLES[name]}: {ours[name]:.1f}, at most {LIMITS[name]:.0f}")
    return 1 if broken else 0


def _statuses(requests: Mapping[str, int]) -> int:
    return sum(count for name, count in requests.items() if name.endswith(" tfjobs/status"))


async def _clear(env: BenchEnv, *paths: str) -> None:
    for path in paths:
        await env.server.delete(path)
    probe = env.probe
    await probe.until(lambda: not probe.pods, what="all pods are gone", limit=300)


if __name__ == "__main__":
    sys.exit(main())
