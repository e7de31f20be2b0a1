"""Jobs of the other dialects under seeded faults, and counts of what happened to their pods.

The real operator works on the API server in memory. Requests fail, answers are lost, watches are
late, and the operator dies now and then, until the faults end.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tests.support.local_apiserver.in_memory import CORE, DEFINITIONS, Json
from tests.support.simulation import virtual_time
from tests.support.simulation.cluster import SimulatedCluster, end
from tests.support.simulation.connection import FaultInjector
from tfjob.dialects.base import Dialect
from tfjob.local.apiserver.store import Change

PODS = f"{CORE}/pods"
FAULTY = 240.0
SETTLING = 900.0
"""Seconds: how long faults happen, and how long everything may take to come to rest then."""


class _ByPart(dict[str, Sequence[int]]):
    """Exit codes of pods by a part of their names."""

    def get(self, name: str, default: Any = ()) -> Any:
        return next((codes for part, codes in self.items() if part in name), default)


class CountingCluster(SimulatedCluster):
    """Counts the pods that were made, by the labels that name their replica."""

    def __init__(
        self, seed: int, dialect: Dialect, exit_codes: Mapping[str, Sequence[int]]
    ) -> None:
        chance = random.Random(seed)  # noqa: S311 - a run must be repeatable
        injector = FaultInjector(chance=chance, fault_rate=0.2, drops=0.1, longest_delay=10.0)
        super().__init__(chance.getrandbits(32), dialects=[dialect], injector=injector)
        self._exit_codes = _ByPart(exit_codes)
        self._dialect = dialect
        self.made: Counter[str] = Counter()

    async def begin(self) -> None:
        await self.start()
        await self.ask("POST", DEFINITIONS, self._dialect.crd())
        self._tasks.append(asyncio.create_task(self.operate()))

    def observe(self, change: Change) -> None:
        super().observe(change)
        if change.key.resource == "pods" and change.type == "ADDED":
            self.made[replica_of(change.object)] += 1

    async def pods(self) -> list[Json]:
        return await self.server.listed(PODS)

    async def come_to_rest(self) -> None:
        """End the faults, and wait until everything settles."""
        self.injector.is_calm = True
        await asyncio.sleep(SETTLING)


def replica_of(pod: Mapping[str, Any]) -> str:
    """The labels that identify the replica of a pod: all but those of a batch Job."""
    labels: Mapping[str, str] = pod["metadata"].get("labels", {})
    return ",".join(
        f"{key}={value}"
        for key, value in sorted(labels.items())
        if "controller-uid" not in key and "batch.kubernetes.io" not in key
    )


def counted(
    act: Callable[[CountingCluster], Awaitable[None]],
    *,
    seed: int,
    dialect: Dialect,
    exit_codes: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> CountingCluster:
    """Run one life under virtual time; the cluster as it was at its end."""

    async def run() -> CountingCluster:
        cluster = CountingCluster(seed, dialect, exit_codes)
        await cluster.begin()
        try:
            await act(cluster)
        finally:
            await end(cluster._tasks.pop())
            await cluster.stop()
        return cluster

    return virtual_time.run(run())
