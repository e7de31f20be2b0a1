"""Where one contestant is measured: a fresh control plane with nodes, the operator, and our eyes.

Law: everything is on loopback and ends with the stage. What is measured is counted from `Mark`s,
so that neither the start of an operator nor an earlier scenario weighs on a later one.
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
from benchmarks.watch_probe import JOBS, NAMESPACE, Sight, job
from tests.support.controlplane.cluster import STAGES, ControlPlane

NODES: Final = 10
AT_REST: Final = 2.0
"""Seconds without a request after which an operator has done all it owes, events and all."""
LONGEST_REST: Final = 300.0


class Measured(msgspec.Struct):
    """Figures by name, times in seconds, and requests by verb and resource."""

    figures: dict[str, float]
    requests: dict[str, int] = {}


class Mark(msgspec.Struct, frozen=True):
    """What had been used when a scenario began."""

    at: float
    operator_cpu: float
    server_cpu: float
    requests: dict[str, int]


class Stage:
    def __init__(
        self, plane: ControlPlane, operator: Operator, *, server: Server, sight: Sight
    ) -> None:
        self._plane = plane
        self.operator = operator
        self.server = server
        self.sight = sight

    async def namespaces(self, count: int) -> list[str]:
        """The usual one, or so many new ones."""
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
        """The given figures and what the operator has used, after it came to rest."""
        requests = await self._come_to_rest(mark)
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

    async def _come_to_rest(self, mark: Mark) -> dict[str, int]:
        """All requests, once there are no more of them."""
        before, ends = await self.requests_since(mark), time.monotonic() + LONGEST_REST
        while time.monotonic() < ends:
            await asyncio.sleep(AT_REST)
            requests = await self.requests_since(mark)
            if requests == before:
                break
            before = requests
        return before

    async def restart(self) -> None:
        """End the operator as a crash would, and start it; returns when it is ready."""
        await asyncio.to_thread(self.operator.kill)
        await asyncio.to_thread(self.operator.start)

    def _server_cpu(self) -> float:
        return cpu_seconds(self._plane.pids()["kube-apiserver"])


@asynccontextmanager
async def stage_for(
    contestant: Contestant, *, on_change: Callable[[Sight], None]
) -> AsyncIterator[Stage]:
    """A fresh control plane on which only this contestant runs."""
    plane = ControlPlane(scheduler=True, kwok=STAGES)
    await asyncio.to_thread(plane.start)
    try:
        operator = contestant.build(plane)
        try:
            await asyncio.to_thread(_prepare, plane, operator)
            async with _seen(plane, on_change) as (server, sight):
                yield Stage(plane, operator, server=server, sight=sight)
        finally:
            await asyncio.to_thread(operator.close)
    finally:
        await asyncio.to_thread(plane.stop)


@asynccontextmanager
async def _seen(
    plane: ControlPlane, on_change: Callable[[Sight], None]
) -> AsyncIterator[tuple[Server, Sight]]:
    server = Server.connect(plane.endpoint)
    sight = Sight(server, on_change=lambda: on_change(sight))
    try:
        sight.open()
        yield server, sight
    finally:
        await sight.close()
        await server.close()


def _prepare(plane: ControlPlane, operator: Operator) -> None:
    plane.install_crds([operator.crd()])
    for number in range(NODES):
        plane.endpoint.request("POST", "/api/v1/nodes", _node(number))
    operator.start()
    # The server holds up creates of a kind that it has learned within the last 2 seconds.
    plane.endpoint.request("POST", f"{JOBS}?dryRun=All", job("first", workers=1))


def _node(number: int) -> dict[str, Any]:
    size = {"cpu": "1k", "memory": "4Ti", "pods": "10k"}
    return {
        "metadata": {"name": f"node-{number}", "labels": {"type": "kwok"}},
        "status": {"allocatable": size, "capacity": size},
    }
