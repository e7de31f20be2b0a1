"""Candidates for one Lease, with a server and a clock that the test controls.

The server can be down, slow, hang or lose its responses. At no moment may two candidates lead: that
is checked at every step of time.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.fake_time import FakeTime
from tfjob.client.errors import AlreadyExists, Conflict, NotFound, ServerTimeout, Unreachable
from tfjob.client.leader_election import Document, LeaderElector, LeaseConfig

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/it"
START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Server:
    """One Lease with versions, which can be unreachable, or hang, or lose its answers."""

    def __init__(self) -> None:
        self.lease: Document | None = None
        self.is_away = False
        self.loses_answers = False
        self.is_slow = False
        self.hangs: asyncio.Event | None = None
        self.reads = 0
        self.writes = 0
        self._version = 0

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec

    async def get(self, path: str, *, decode: type[Document]) -> Document:
        await self._reach(path)
        self.reads += 1
        if self.lease is None:
            raise NotFound("no lease")
        return decode(deepcopy(self.lease))

    async def create(self, path: str, body: object, *, decode: type[Document]) -> Document:
        await self._reach(f"{path}/it")
        if self.lease is not None:
            raise AlreadyExists("it is there")
        return self._store(body, decode)

    async def replace(self, path: str, body: object, *, decode: type[Document]) -> Document:
        await self._reach(path)
        if self.lease is None:
            raise NotFound("no lease")
        assert isinstance(body, dict)
        expected = self.lease["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != expected:
            raise Conflict("changed meanwhile")
        return self._store(body, decode)

    def _store(self, body: object, decode: type[Document]) -> Document:
        assert isinstance(body, dict)
        lease = decode(deepcopy(body))
        self._version += 1
        self.writes += 1
        lease["metadata"]["resourceVersion"] = str(self._version)
        self.lease = lease
        if self.loses_answers:
            raise ServerTimeout("the answer was lost")
        return deepcopy(lease)

    async def _reach(self, path: str) -> None:
        assert path == PATH
        if self.hangs is not None:
            await self.hangs.wait()
        if self.is_slow:
            await asyncio.sleep(0)
        if self.is_away:
            raise Unreachable("nobody there")


class Candidate:
    """An elector that runs, with a wall clock of its own."""

    def __init__(self, server: Server, time: FakeTime, name: str, skew: float = 0.0) -> None:
        self.name = name
        self.elector = LeaderElector(
            server,
            LeaseConfig(name="it", namespace="ns", identity=name),
            timing=time.timing,
            timers=time,
            now=lambda: START + timedelta(seconds=time.time() + skew),
        )
        self._task = asyncio.create_task(self.elector.run())

    def leads(self) -> bool:
        return self.elector.is_leader

    async def die(self) -> None:
        """Stop without releasing the lease, as a killed process does."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def leave(self) -> None:
        await self.die()
        await self.elector.release()


class Election:
    def __init__(self) -> None:
        self.server = Server()
        self.time = FakeTime()
        self.candidates: list[Candidate] = []

    def candidate(self, name: str, skew: float = 0.0) -> Candidate:
        candidate = Candidate(self.server, self.time, name, skew)
        self.candidates.append(candidate)
        return candidate

    async def advance(self, seconds: float) -> None:
        """Advance the time in small steps; two must never lead at once."""
        for _ in range(round(seconds * 4)):
            await self.time.advance(0.25)
            leaders = [each.name for each in self.candidates if each.leads()]
            assert len(leaders) <= 1, leaders

    def leader(self) -> str | None:
        return next((each.name for each in self.candidates if each.leads()), None)


@asynccontextmanager
async def election() -> AsyncIterator[Election]:
    made = Election()
    try:
        yield made
    finally:
        for candidate in made.candidates:
            await candidate.die()
