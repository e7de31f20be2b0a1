"""The environment of one contestant: a fresh control plane with nodes, the operator and a probe.

Everything listens on loopback and ends with the environment. Usage is counted from a `Mark`, so
that the start of the operator and earlier scenarios do not count.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from benchmarks.contestants import Contestant, Operator
from benchmarks.process import cpu_seconds, peak_memory_mb
from benchmarks.server import Server, difference
from benchmarks.watch_probe import JOBS, NAMESPACE, WatchProbe, job
from tests.support.controlplane.cluster import STAGES, ControlPlane

NODES: Final = 10
SETTLED_SECONDS: Final = 2.0
"""Seconds without a request after which the operator counts as idle."""
MAX_SETTLE_SECONDS: Final = 300.0


class Measured(msgspec.Struct):
    """Figures by name, times in seconds, and requests by verb and resource."""

    figures: dict[str, float]
    requests: dict[str, int] = {}


class Mark(msgspec.Struct, frozen=True):
    """Usage at the start of a scenario."""

    at: float
    operator_cpu: float
    server_cpu: float
    requests: dict[str, int]


class BenchEnv:
    def __init__(
        self, plane: ControlPlane, operator: Operator, *, server: Server, probe: WatchProbe
    ) -> None:
        self._plane = plane
        self.operator = operator
        self.server = server
        self.probe = probe

    async def namespaces(self, count: int) -> list[str]:
        """The default namespace, or `count` new ones."""
        if count == 1:
            return [NAMESPACE]
        return [await asyncio.to_thread(self._plane.create_namespace) for _ in range(count)]

    async def mark(self) -> Mark:
        requests = await self.server.requests()
        return Mark(
            at=time.monotonic(),
            operator_cpu=cpu_seconds(self.operator.pid),
            server_cpu=self._server_cpu(),
            requests=requests,
        )

    async def used_since(self, mark: Mark, **figures: float) -> Measured:
        """The given figures and the operator's usage, once it is idle."""
        requests = await self._wait_until_settled(mark)
        used = {
            "cpu": self.cpu_since(mark),
            "memory": peak_memory_mb(self.operator.pid),
            "server_cpu": self._server_cpu() - mark.server_cpu,
        }
        return Measured({**figures, **used}, requests)

    def cpu_since(self, mark: Mark) -> float:
        return cpu_seconds(self.operator.pid) - mark.operator_cpu

    async def requests_since(self, mark: Mark) -> dict[str, int]:
        return difference(mark.requests, await self.server.requests())

    async def _wait_until_settled(self, mark: Mark) -> dict[str, int]:
        """Wait until no more requests come, and return their counts."""
        before, ends = await self.requests_since(mark), time.monotonic() + MAX_SETTLE_SECONDS
        while time.monotonic() < ends:
            await asyncio.sleep(SETTLED_SECONDS)
            requests = await self.requests_since(mark)
            if requests == before:
                break
            before = requests
        return before

    async def restart(self) -> None:
        """Kill the operator and start it again; returns when it is ready."""
        await asyncio.to_thread(self.operator.kill)
        await asyncio.to_thread(self.operator.start)

    def _server_cpu(self) -> float:
        return cpu_seconds(self._plane.pids()["kube-apiserver"])


@asynccontextmanager
async def bench_env_for(
    contestant: Contestant, *, on_change: Callable[[WatchProbe], None]
) -> AsyncIterator[BenchEnv]:
    """A fresh control plane on which only this contestant runs."""
    plane = ControlPlane(scheduler=True, kwok=STAGES)
    await asyncio.to_thread(plane.start)
    try:
        operator = contestant.build(plane)
        try:
            await asyncio.to_thread(_prepare, plane, operator)
            async with _probe_of(plane, on_change) as (server, probe):
                yield BenchEnv(plane, operator, server=server, probe=probe)
        finally:
            await asyncio.to_thread(operator.close)
    finally:
        await asyncio.to_thread(plane.stop)


@asynccontextmanager
async def _probe_of(
    plane: ControlPlane, on_change: Callable[[WatchProbe], None]
) -> AsyncIterator[tuple[Server, WatchProbe]]:
    server = Server.connect(plane.endpoint)
    probe = WatchProbe(server, on_change=lambda: on_change(probe))
    try:
        probe.open()
        yield server, probe
    finally:
        await probe.close()
        await server.close()


def _prepare(plane: ControlPlane, operator: Operator) -> None:
    plane.install_crds([operator.crd()])
    for number in range(NODES):
        plane.endpoint.request("POST", "/api/v1/nodes", _node(number))
    operator.start()
    # The server delays creates of a CRD for 2 seconds after it was installed.
    plane.endpoint.request("POST", f"{JOBS}?dryRun=All", job("first", workers=1))


def _node(number: int) -> dict[str, Any]:
    size = {"cpu": "1k", "memory": "4Ti", "pods": "10k"}
    return {
        "metadata": {"name": f"node-{number}", "labels": {"type": "kwok"}},
        "status": {"allocatable": size, "capacity": size},
    }
