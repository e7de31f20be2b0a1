"""A connection between a real client and an API server in memory, into which faults are injected.

Faults are drawn from one seeded source, so a run can be repeated. Only the network is simulated;
requests and answers are those of the real client and server.
"""

import asyncio
import enum
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, cast
from urllib.parse import parse_qsl

import aiohttp
import msgspec

from tfjob.client.config import Config
from tfjob.client.connection import Response as Whole
from tfjob.client.http import Api
from tfjob.client.request import ClientConfig, Request
from tfjob.client.streams import StreamResponse
from tfjob.client.transport import Transport
from tfjob.local.apiserver import router
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Answer
from tfjob.local.apiserver.request import Stream as Feed

_EXPIRED = (
    b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure",'
    b'"reason":"Expired","message":"too old resource version","code":410}}\n'
)


class InjectedFault(enum.Enum):
    """What can happen to a request or to an open watch."""

    REFUSED = "answered 500, not carried out"
    BUSY = "answered 429, not carried out"
    LOST = "carried out, the answer lost"
    NEVER_ARRIVED = "not carried out, no answer"
    OVERTAKEN = "another writer was faster"
    CRASH_BEFORE = "the operator dies before it"
    CRASH_AFTER = "the operator dies after it"


class FaultInjector(msgspec.Struct, kw_only=True):
    """Which faults happen, and how often; `is_calm` ends them all."""

    chance: random.Random
    fault_rate: float = 0.1
    drops: float = 0.1
    longest_delay: float = 30.0
    may_crash: bool = True
    is_calm: bool = False
    script: dict[int, InjectedFault] = {}
    """The fault of the nth request, instead of a random one."""
    requests: int = 0
    server: "SlowServer | None" = None
    """Serves requests with a fixed delay, instead of a random one."""

    def fault(self) -> InjectedFault | None:
        self.requests += 1
        if self.requests in self.script:
            return self.script[self.requests]
        if self.is_calm or self.chance.random() >= self.fault_rate:
            return None
        found = self.chance.choice(list(InjectedFault))
        is_crash = found in {InjectedFault.CRASH_BEFORE, InjectedFault.CRASH_AFTER}
        return None if is_crash and not self.may_crash else found

    def delay(self) -> float:
        """How late a watch event comes: most are prompt, some are very late."""
        if self.is_calm or self.chance.random() < 0.7:
            return 0.0
        return self.chance.uniform(0.0, self.longest_delay)

    def drops_watch(self) -> bool:
        return not self.is_calm and self.chance.random() < self.drops


class SlowServer:
    """Takes `seconds` for each request, and serves `at_once` of them in parallel."""

    def __init__(self, seconds: float, *, at_once: int) -> None:
        self._seconds = seconds
        self._turns = asyncio.Semaphore(at_once)

    async def work(self) -> None:
        async with self._turns:
            await asyncio.sleep(self._seconds)


class Connection:
    """One operator's connection: it can be cut, and it dies with its operator."""

    def __init__(self, backend: Backend, injector: FaultInjector) -> None:
        self.backend = backend
        self.injector = injector
        self.is_cut = False
        self.died = asyncio.Event()
        self.refuse: Callable[[Request], Answer | None] = lambda _: None
        """A rule of the cluster, such as a quota: the answer to what it does not admit."""
        self.requests: dict[str, int] = {}
        self._endings: set[asyncio.Future[None]] = set()

    def connect(self, config: Config, **options: Any) -> Api:
        api = Api(config, **options)
        api._transport = _Wire(self, config, tuning=ClientConfig(), **options)
        return api

    def end_later(self, feed: AsyncGenerator[bytes]) -> None:
        """The server soon notices that the client is gone."""
        ending = asyncio.ensure_future(feed.aclose())
        self._endings.add(ending)
        ending.add_done_callback(self._endings.discard)

    def count(self, request: Request) -> None:
        name = f"{request.verb} {request.path.partition('/namespaces/')[2] or request.path}"
        self.requests[name] = self.requests.get(name, 0) + 1


class _Wire(Transport):
    """The real client's transport over a simulated network."""

    def __init__(self, connection: Connection, config: Config, **options: Any) -> None:
        super().__init__(config, **options)
        self._line = connection

    async def _send_request(
        self,
        request: Request,
        authorization: str | None,  # noqa: ARG002 - there is no authentication here
    ) -> Whole:
        found = await self._exchange(request)
        assert isinstance(found, Answer)
        return Whole(found.code, found.body, _retry_after(found))

    async def _open_stream(
        self,
        request: Request,
        authorization: str | None,  # noqa: ARG002 - there is no authentication here
    ) -> StreamResponse:
        found = await self._exchange(request)
        body = found.body if isinstance(found, Answer) else b""
        response = cast("aiohttp.ClientResponse", _Response(found, self._line))
        return StreamResponse(_code(found), body, _retry_after(found), response)

    async def _exchange(self, request: Request) -> Answer | Feed:
        connection, injector = self._line, self._line.injector
        if injector.server is None or request.verb == "watch":
            await asyncio.sleep(injector.chance.uniform(0.0, 0.05))
        else:
            await injector.server.work()
        self._check()
        connection.count(request)
        fault = None if request.verb == "watch" else injector.fault()
        if fault is InjectedFault.OVERTAKEN:
            await _touch(connection.backend, request)
        elif fault is InjectedFault.REFUSED:
            return Answer(code=500, body=b"etcd has no leader")
        elif fault is InjectedFault.BUSY:
            return Answer(code=429, body=b"too many requests")
        elif fault is InjectedFault.NEVER_ARRIVED:
            raise aiohttp.ServerDisconnectedError
        elif fault is InjectedFault.CRASH_BEFORE:
            connection.died.set()
        self._check()
        refused = connection.refuse(request)
        if refused is not None:
            return refused
        found = await router.answer(connection.backend, _incoming(request))
        if fault is InjectedFault.LOST:
            await asyncio.sleep(injector.chance.uniform(0.0, 30.0))
            raise TimeoutError
        if fault is InjectedFault.CRASH_AFTER:
            connection.died.set()
            self._check()
        return found

    def _check(self) -> None:
        """Raise if the process is dead or its connection is cut."""
        if self._line.died.is_set() or self._line.is_cut:
            raise aiohttp.ConnectionTimeoutError

    async def close(self) -> None:
        """Not used: there is no pool."""


class _Response:
    """The part of a response that a stream reads."""

    def __init__(self, found: Answer | Feed, connection: Connection) -> None:
        self.content = self
        self._line = connection
        self._chunks = _delayed(found.chunks, connection) if isinstance(found, Feed) else None

    async def readany(self) -> bytes:
        assert self._chunks is not None
        return await anext(self._chunks, b"")

    def close(self) -> None:
        if self._chunks is not None:
            self._line.end_later(self._chunks)


def _retry_after(found: Answer | Feed) -> str | None:
    return "1" if _code(found) == 429 else None


def _code(found: Answer | Feed) -> int:
    return found.code if isinstance(found, Answer) else 200


async def _delayed(chunks: AsyncIterator[bytes], connection: Connection) -> AsyncGenerator[bytes]:
    """Watch events in order, late, and with unexpected ends."""
    injector = connection.injector
    async with aclosing(cast("AsyncGenerator[bytes]", chunks)) as feed:
        async for chunk in feed:
            await asyncio.sleep(injector.delay())
            if connection.died.is_set() or connection.is_cut:
                raise aiohttp.ClientPayloadError
            if injector.drops_watch():
                if injector.chance.random() < 0.5:
                    yield _EXPIRED
                elif injector.chance.random() < 0.5:
                    yield chunk[: len(chunk) // 2]
                    raise aiohttp.ClientPayloadError
                return
            yield chunk


def _incoming(request: Request) -> router.HttpRequest:
    return router.HttpRequest(
        method=request.method,
        path=request.path,
        query=dict(parse_qsl(request.query.removeprefix("?"), keep_blank_values=True)),
        body=request.body or b"",
        content_type=request.content_type if request.body is not None else "",
    )


async def _touch(backend: Backend, request: Request) -> None:
    """Another writer changes the object before its status is written."""
    if request.verb != "update" or not request.path.endswith("/status"):
        return
    body = b'{"metadata":{"annotations":{"touched-by":"somebody else"}}}'
    touch = router.HttpRequest(
        method="PATCH",
        path=request.path.removesuffix("/status"),
        body=body,
        content_type="application/merge-patch+json",
    )
    await router.answer(backend, touch)
