"""Benchmarks of jobs on the local cluster: overhead per job, and many jobs at once."""

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure
from tests.support.local_apiserver.process import endpoint_of

REPLICAS = 3
REPEATS = 5
JOBS = 50
PATIENCE = 300.0
WORK = [sys.executable, "-c", "import time; time.sleep(1)"]
TFJOB = [sys.executable, "-m", "tfjob.cli.main"]


def figures(folder: Path) -> Iterator[Figure]:
    """All figures of jobs, with data directories below `folder`."""
    yield _overhead(folder)
    yield from _fifty(folder / "fifty")


def _overhead(folder: Path) -> Figure:
    file = folder / "job.json"
    file.write_text(json.dumps(_job("overhead", WORK, replicas=REPLICAS)))

    def by_tfjob() -> None:
        subprocess.run([*TFJOB, "run", str(file)], check=True, stdout=subprocess.DEVNULL)

    # Alternate, so that other load on the machine affects both.
    found = [(_cost(by_tfjob), _cost(_by_hand)) for _ in range(REPEATS)]
    return Figure(
        title=f"`tfjob run` over starting {REPLICAS} processes by hand",
        unit="s",
        value=statistics.median(ours[0] - plain[0] for ours, plain in found),
        by_cpu=statistics.median(ours[1] - plain[1] for ours, plain in found),
        limit=2.0,
    )


def _by_hand() -> None:
    started = [subprocess.Popen(WORK) for _ in range(REPLICAS)]
    for each in started:
        each.wait()


def _cost(work: Callable[[], None]) -> tuple[float, float]:
    """Wall-clock and CPU seconds of the work and its child processes."""
    cpu, began = _cpu_of_children(), time.monotonic()
    work()
    return time.monotonic() - began, _cpu_of_children() - cpu


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _fifty(data: Path) -> Iterator[Figure]:
    plain = [sys.executable, "-c", "pass"]
    items = [_job(f"job-{number}", plain, replicas=1) for number in range(JOBS)]
    cpu = _cpu_of_children()
    with subprocess.Popen(
        [*TFJOB, "local", "up", "--data", str(data)], stdout=subprocess.PIPE, text=True
    ) as cluster:
        try:
            assert cluster.stdout is not None
            cluster.stdout.readline()
            wall, done = _through(data / "kubeconfig", items)
        finally:
            cluster.terminate()
            cluster.communicate()
    title = f"{JOBS} single-process jobs at once"
    yield Figure(title=f"{title}, succeeded", unit="", value=done, limit=JOBS, is_least=True)
    spent = _cpu_of_children() - cpu
    yield Figure(title=f"{title}, until the last one", unit="s", value=wall, by_cpu=spent)


def _through(kubeconfig: Path, items: list[dict[str, Any]]) -> tuple[float, int]:
    """Seconds until all jobs are finished, and how many succeeded."""
    endpoint = endpoint_of(kubeconfig)
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
    began = time.monotonic()
    for each in items:
        endpoint.request("POST", path, each)
    while True:
        verdicts = [_verdict(each) for each in endpoint.request("GET", path)["items"]]
        if all(verdicts) or time.monotonic() - began > PATIENCE:
            return time.monotonic() - began, verdicts.count("Succeeded")
        time.sleep(0.1)


def _verdict(job: dict[str, Any]) -> str:
    conditions = job.get("status", {}).get("conditions", [])
    found = [each["type"] for each in conditions if each["status"] == "True"]
    return next((each for each in found if each in {"Succeeded", "Failed"}), "")


def _job(name: str, command: list[str], *, replicas: int) -> dict[str, Any]:
    container = {"name": "tensorflow", "image": "x", "command": command}
    worker = {"replicas": replicas, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": name},
        "spec": {"successPolicy": "AllWorkers", "tfReplicaSpecs": {"Worker": worker}},
    }
