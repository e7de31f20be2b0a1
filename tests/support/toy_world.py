"""A cluster in one process and under virtual time, and operators of several dialects on it.

Law: nothing here tells an operator more about its jobs than their dialects do.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from tests.support.permissive_crd import permissive
from tests.support.simulation import virtual_time
from tests.support.simulation.kubelet import Kubelet, call, listed
from tests.support.simulation.wire import Line, Weather
from tests.support.simulation.world import DEFINITIONS, end
from tests.support.toy_dialect import JOBS, ToyDialect
from tfjob.client.config import Config
from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver import bootstrap
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.garbage_collector import GarbageCollector
from tfjob.local.apiserver.job_controller import JobController
from tfjob.local.apiserver.store import Change, Store
from tfjob.manager.app import Operator, World
from tfjob.manager.settings import Settings

Json = dict[str, Any]
T = TypeVar("T")
CORE = "/api/v1/namespaces/default"
BATCH = "/apis/batch/v1/namespaces/default/jobs"
TOYS: Sequence[Dialect] = (KubeflowV1(), ToyDialect())
QUIET = Settings(metrics_address="0", health_address="0", threads=2)


class _ByPrefix(dict[str, Sequence[int]]):
    """Fates of pods whose names end in letters that nobody knows beforehand."""

    def get(self, name: str, default: Any = ()) -> Any:
        return next((fate for key, fate in self.items() if name.startswith(key)), default)


class ToyWorld:
    """`fates`: with which codes the pods of a replica end, by the beginning of their names."""

    def __init__(
        self,
        seed: int = 1,
        *,
        dialects: Sequence[Dialect] = TOYS,
        fates: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        self._dialects = dialects
        self.chance = random.Random(seed)  # noqa: S311 - a run must be repeatable
        self.weather = Weather(chance=self.chance, is_calm=True)
        self.store = Store(Path(":memory:"))
        self.backend = Backend(self.store, clock=virtual_time.now)
        self.changes: list[tuple[str, str, str]] = []
        self.lines: list[Line] = []
        self._fates = _ByPrefix(fates)
        self._tasks: list[asyncio.Task[Any]] = []

    async def start(self, *dialects: Dialect) -> None:
        bootstrap.ensure(self.backend)
        for dialect in dialects:
            await self.ask("POST", DEFINITIONS, permissive(dialect.crd()))
        self.store.listen(self._note)
        kubelet = Kubelet(self.backend, self.chance, self._fates)
        for work in (kubelet, GarbageCollector(self.backend), JobController(self.backend)):
            self._tasks.append(asyncio.create_task(work.run()))

    async def stop(self) -> None:
        self.backend.is_closing = True
        self.backend.watches.wake_all()
        for task in self._tasks:
            await end(task)
        self.store.close()

    def operator(self, settings: Settings = QUIET, identity: str = "me") -> Operator:
        self.lines.append(Line(self.backend, self.weather))
        timing = virtual_time.timing(self.chance.random)
        return Operator(
            Config(server="http://played.invalid"),
            settings,
            dialects=self._dialects,
            identity=identity,
            world=World(
                connect=self.lines[-1].connect,
                timing=timing,
                now=virtual_time.now,
                token=lambda: f"t{self.chance.randint(100, 999)}",
            ),
        )

    async def operate(self) -> None:
        """Keep one operator alive: whenever it dies, another takes its place."""
        while True:
            one = self.operator()
            running = asyncio.create_task(one.run())
            dying = asyncio.create_task(self.lines[-1].died.wait())
            try:
                await asyncio.wait([running, dying], return_when=asyncio.FIRST_COMPLETED)
            finally:
                await end(dying)
                await end(running)
            await asyncio.sleep(self.chance.uniform(0.0, 20.0))

    async def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        found = await call(self.backend, method, path, body)
        assert found["code"] < 300, found
        return found

    async def job(self, name: str = "t") -> Json:
        return await self.ask("GET", f"{JOBS}/{name}")

    async def names(self, path: str) -> list[str]:
        return sorted(each["metadata"]["name"] for each in await listed(self.backend, path))

    def writes(self) -> int:
        """Requests that ask for more than a look, of all operators there were."""
        return sum(
            number
            for line in self.lines
            for name, number in line.requests.items()
            if name.partition(" ")[0] in {"create", "update", "patch", "delete"}
        )

    def _note(self, change: Change) -> None:
        self.changes.append((change.type, change.key.resource, change.key.name))


def played(act: Callable[[ToyWorld], Awaitable[T]], world: Callable[[], ToyWorld]) -> T:
    """Run a test in virtual time; whatever it starts must have ended when it ends."""

    async def run() -> T:
        found = world()
        try:
            result = await act(found)
        finally:
            await found.stop()
        await asyncio.sleep(1)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return virtual_time.run(run())
