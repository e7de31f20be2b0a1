"""A first look at speed and cost: 100 jobs of 4 replicas, ours beside the Go training-operator.

Both run with their defaults, one after the other, each on a fresh control plane with kwok nodes.
Prints one table. Everything is on loopback and ends by itself.
"""

import argparse
import asyncio
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from tests.support.controlplane.cluster import STAGES, ControlPlane
from tests.support.controlplane.endpoint import Endpoint
from tests.support.controlplane.processes import Processes
from tests.support.controlplane.toolchain import Toolchain, Unavailable
from tests.support.operator_process import OperatorProcess
from tests.support.peer import Peer
from tfjob.dialects.kubeflow_v1 import KubeflowV1

REPLICAS = 4
NODES = 10
LIMIT_SECONDS = 300.0
_JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
_COUNTER = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Contender(msgspec.Struct):
    name: str
    crd: Callable[[], dict[str, Any]]
    start: Callable[[], int]
    stop: Callable[[], None]


class Result(msgspec.Struct):
    """What one operator needed; times in seconds from the first submit."""

    name: str
    children: float
    running: float
    cpu: float
    memory_mb: float
    requests: dict[str, int]


class Seen(msgspec.Struct):
    pods: int
    services: int
    running: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--without-peer", action="store_true", help="measure ours alone")
    chosen = parser.parse_args()
    results = [_measured(_ours, chosen.jobs)]
    if not chosen.without_peer:
        try:
            results.append(_measured(_peer, chosen.jobs))
        except Unavailable as reason:
            sys.stderr.write(f"THE PEER WAS NOT MEASURED: {reason}\n")
    _print(results, chosen.jobs)
    return 0


def _measured(build: Callable[[ControlPlane], Contender], jobs: int) -> Result:
    with ControlPlane(scheduler=True, kwok=STAGES) as plane:
        contender = build(plane)
        sys.stderr.write(f"{contender.name}: {jobs} jobs of {REPLICAS} replicas\n")
        plane.install_crds([contender.crd()])
        for number in range(NODES):
            plane.endpoint.request("POST", "/api/v1/nodes", _node(number))
        pid = contender.start()
        try:
            return asyncio.run(_run(plane.endpoint, contender.name, pid=pid, jobs=jobs))
        finally:
            contender.stop()


def _ours(plane: ControlPlane) -> Contender:
    processes = Processes(plane.folder)
    operator = OperatorProcess(plane.kubeconfig, name="tfjob", processes=processes)

    def start() -> int:
        operator.start()
        return operator.pid

    return Contender("tfjob, defaults", KubeflowV1().crd, start, processes.close)


def _peer(plane: ControlPlane) -> Contender:
    peer = Peer(plane, Toolchain(os.environ), flags=())

    def start() -> int:
        peer.prepare()
        peer.start()
        return peer.pid

    return Contender("training-operator 1.9.3, defaults", peer.crd, start, peer.close)


async def _run(endpoint: Endpoint, name: str, *, pid: int, jobs: int) -> Result:
    async with aiohttp.ClientSession(headers=endpoint.headers()) as session:
        api = _Api(session, endpoint)
        before, cpu_before = await api.counters(), _cpu_seconds(pid)
        started = time.monotonic()
        await asyncio.gather(*(api.submit(number) for number in range(jobs)))
        children = running = 0.0
        while not running:
            seen = await api.look()
            passed = time.monotonic() - started
            is_whole = min(seen.pods, seen.services) >= jobs * REPLICAS
            children = children or (passed if is_whole else 0.0)
            running = passed if is_whole and seen.running >= jobs else 0.0
            _show(seen, jobs, passed)
            if passed > LIMIT_SECONDS:
                raise TimeoutError(f"{name}: not running after {LIMIT_SECONDS:.0f} s: {seen}")
            await asyncio.sleep(0.2)
        await asyncio.sleep(2.0)  # events that follow count too
        after = await api.counters()
    sys.stderr.write("\n")
    return Result(
        name=name,
        children=children,
        running=running,
        cpu=_cpu_seconds(pid) - cpu_before,
        memory_mb=_peak_memory_mb(pid),
        requests={key: after[key] - before.get(key, 0) for key in after},
    )


class _Api:
    def __init__(self, session: aiohttp.ClientSession, endpoint: Endpoint) -> None:
        self._session = session
        self._endpoint = endpoint
        self._tls = endpoint.ssl_context() or True

    async def submit(self, number: int) -> None:
        await self._send("POST", _JOBS, _job(number))

    async def look(self) -> Seen:
        base = "/api/v1/namespaces/default"
        pods = await self._send("GET", f"{base}/pods?resourceVersion=0")
        services = await self._send("GET", f"{base}/services?resourceVersion=0")
        found = await self._send("GET", f"{_JOBS}?resourceVersion=0")
        return Seen(
            pods=len(pods["items"]),
            services=len(services["items"]) - 1,  # the API server's own
            running=sum(_is_running(job) for job in found["items"]),
        )

    async def counters(self) -> dict[str, int]:
        """Requests that only an operator makes, by verb and resource."""
        text = await self._text("/metrics")
        found: dict[str, int] = {}
        for match in _COUNTER.finditer(text):
            labels = dict(_LABEL.findall(match["labels"]))
            key = _of_interest(labels)
            if key is not None:
                found[key] = found.get(key, 0) + int(float(match["value"]))
        return found

    async def _send(self, method: str, path: str, body: object = None) -> Any:
        url = f"{self._endpoint.server}{path}"
        data = None if body is None else msgspec.json.encode(body)
        async with self._session.request(method, url, data=data, ssl=self._tls) as answer:
            answer.raise_for_status()
            return await answer.json()

    async def _text(self, path: str) -> str:
        url = f"{self._endpoint.server}{path}"
        async with self._session.get(url, ssl=self._tls) as answer:
            return await answer.text()


def _of_interest(labels: dict[str, str]) -> str | None:
    verb, resource, below = labels.get("verb"), labels.get("resource"), labels.get("subresource")
    if resource in {"pods", "services"} and verb == "POST" and not below:
        return f"create {resource}"
    if resource == "tfjobs" and verb in {"PUT", "PATCH"}:
        return "write tfjobs"
    if resource == "events" and verb in {"POST", "PATCH"}:
        return "write events (all components)"
    return None


def _is_running(job: dict[str, Any]) -> bool:
    conditions = job.get("status", {}).get("conditions", [])
    return any(each["type"] == "Running" and each["status"] == "True" for each in conditions)


def _job(number: int) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "tensorflow", "image": "img"}]}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": f"job-{number}"},
        "spec": {
            "tfReplicaSpecs": {
                "PS": {"replicas": 1, "template": pod},
                "Worker": {"replicas": REPLICAS - 1, "template": pod},
            }
        },
    }


def _node(number: int) -> dict[str, Any]:
    size = {"cpu": "1k", "memory": "4Ti", "pods": "10k"}
    return {
        "metadata": {"name": f"node-{number}", "labels": {"type": "kwok"}},
        "status": {"allocatable": size, "capacity": size},
    }


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _peak_memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _show(seen: Seen, jobs: int, passed: float) -> None:
    text = f"  {passed:5.1f} s  pods {seen.pods}/{jobs * REPLICAS}  running {seen.running}/{jobs}"
    sys.stderr.write(f"\r{text}   ")
    sys.stderr.flush()


def _print(results: list[Result], jobs: int) -> None:
    print(f"{jobs} jobs of {REPLICAS} replicas; times from the first submit")
    head = f"{'operator':<36}{'children':>10}{'Running':>10}{'CPU':>8}{'memory':>9}"
    print(head)
    for each in results:
        print(
            f"{each.name:<36}{each.children:>8.1f} s{each.running:>8.1f} s"
            f"{each.cpu:>6.1f} s{each.memory_mb:>6.0f} MB"
        )
    for each in results:
        told = ", ".join(f"{value} x {key}" for key, value in sorted(each.requests.items()))
        print(f"{each.name}: {told}")
    if len(results) == 2:
        ours, peer = results
        print(
            f"ours / peer: children {ours.children / peer.children:.3f}, "
            f"Running {ours.running / peer.running:.3f}, CPU {ours.cpu / peer.cpu:.2f}, "
            f"memory {ours.memory_mb / peer.memory_mb:.2f}"
        )


if __name__ == "__main__":
    sys.exit(main())
