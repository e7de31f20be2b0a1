"""A cluster in one process under virtual time: an API server, its kubelets, and real operators."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from tests.support.fake_dialect import JOBS, FakeDialect
from tests.support.fake_kubelet.random_kubelet import RandomKubelet
from tests.support.local_apiserver.in_memory import InMemoryApiServer, Json
from tests.support.simulation import virtual_time
from tests.support.simulation.connection import Connection, FaultInjector
from tfjob.client.config import Config
from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver.garbage_collector import GarbageCollector
from tfjob.local.apiserver.job_controller import JobController
from tfjob.local.apiserver.store import Change
from tfjob.manager.app import Environment, Operator
from tfjob.manager.settings import Settings

T = TypeVar("T")
BATCH = "/apis/batch/v1/namespaces/default/jobs"
DIALECTS: Sequence[Dialect] = (KubeflowV1(), FakeDialect())
QUIET = Settings(metrics_address="0", health_address="0", threads=2)


class _ByPrefix(dict[str, Sequence[int]]):
    """Exit codes of pods whose names end in random letters, by the beginning of their names."""

    def get(self, name: str, default: Any = ()) -> Any:
        return next((codes for key, codes in self.items() if name.startswith(key)), default)


class SimulatedCluster:
    """`exit_codes`: how the pods of a replica end, by the beginning of their names."""

    def __init__(
        self,
        seed: int = 1,
        *,
        dialects: Sequence[Dialect] = DIALECTS,
        exit_codes: Mapping[str, Sequence[int]] = MappingProxyType({}),
        injector: FaultInjector | None = None,
    ) -> None:
        self._dialects = dialects
        self.chance = random.Random(seed)  # noqa: S311 - a run must be repeatable
        self.injector = injector or FaultInjector(chance=self.chance, is_calm=True)
        self.server = InMemoryApiServer(clock=virtual_time.now)
        self.backend = self.server.backend
        self.store = self.server.store
        self.changes: list[tuple[str, str, str]] = []
        self.connections: list[Connection] = []
        self.operators: dict[str, Operator] = {}
        self._exit_codes: dict[str, Sequence[int]] = _ByPrefix(exit_codes)
        self._tasks: list[asyncio.Task[Any]] = []

    async def start(self, *dialects: Dialect) -> None:
        """Start the server with the CRDs of these dialects, its controllers and its kubelets."""
        await self.server.start(*dialects)
        self.server.store.listen(self.observe)
        kubelet = RandomKubelet(self.server, self.chance, self._exit_codes)
        for work in (kubelet, GarbageCollector(self.backend), JobController(self.backend)):
            self._tasks.append(asyncio.create_task(work.run()))

    async def stop(self) -> None:
        self.backend.is_closing = True
        self.backend.watches.wake_all()
        for task in self._tasks:
            await end(task)
        await self.server.close()

    def operator(self, settings: Settings = QUIET, identity: str = "me") -> Operator:
        """A new operator with a connection of its own; it is not started."""
        self.connections.append(Connection(self.backend, self.injector))
        self.operators[identity] = Operator(
            Config(server="http://simulated.invalid"),
            settings,
            dialects=self._dialects,
            identity=identity,
            environment=Environment(
                connect=self.connections[-1].connect,
                timing=virtual_time.timing(self.injector.chance.random),
                now=virtual_time.now,
                token=lambda: f"t{self.chance.randint(100, 999)}",
            ),
        )
        return self.operators[identity]

    async def operate(self, settings: Settings = QUIET, identity: str = "me") -> None:
        """Keep one operator alive: whenever it dies, another takes its place."""
        while True:
            running = asyncio.create_task(self.operator(settings, identity).run())
            dying = asyncio.create_task(self.connections[-1].died.wait())
            try:
                await asyncio.wait([running, dying], return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    running.result()
                    return
            finally:
                await end(dying)
                await end(running)
            await asyncio.sleep(self.chance.uniform(0.0, 20.0))

    async def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        found = await self.server.ask(method, path, body)
        assert found["code"] < 300, found
        return found

    async def job(self, name: str = "t") -> Json:
        return await self.ask("GET", f"{JOBS}/{name}")

    async def names(self, path: str) -> list[str]:
        return sorted(each["metadata"]["name"] for each in await self.server.listed(path))

    def writes(self) -> int:
        """The writing requests of all operators so far."""
        return sum(
            number
            for connection in self.connections
            for name, number in connection.requests.items()
            if name.partition(" ")[0] in {"create", "update", "patch", "delete"}
        )

    def observe(self, change: Change) -> None:
        """Called for every change that the server stores."""
        self.changes.append((change.type, change.key.resource, change.key.name))


async def end(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def simulated(
    act: Callable[[SimulatedCluster], Awaitable[T]], cluster: Callable[[], SimulatedCluster]
) -> T:
    """Run a test in virtual time; whatever it starts must have ended when it ends."""

    async def run() -> T:
        found = cluster()
        try:
            result = await act(found)
        finally:
            await found.stop()
        await asyncio.sleep(1)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return virtual_time.run(run())
