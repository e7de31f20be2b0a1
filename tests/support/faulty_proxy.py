"""A reverse proxy between the operator and an API server that fails on demand.

A fault applies to requests by method and path, a given number of times. Everything else passes
unchanged, streams included.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum

import aiohttp
from aiohttp import web

from tests.support.controlplane.endpoint import Endpoint
from tests.support.controlplane.ports import LOOPBACK

_DROPPED = {"transfer-encoding", "content-length", "content-encoding", "connection"}


class Kind(Enum):
    """What happens to a request."""

    REFUSED = "it is answered with a status and not passed on"
    LOST = "it is passed on, and its answer is lost"
    CUT = "its answer breaks off after some bytes"
    DROPPED = "its connection ends, and it is not passed on"


@dataclass
class Fault:
    """One kind of failure for requests that match, so many times."""

    kind: Kind
    matches: Callable[[web.Request], bool]
    times: int
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    bytes_let_through: int = 0


def writes(plural: str) -> Callable[[web.Request], bool]:
    """Creations of a kind."""
    return lambda request: request.method == "POST" and request.path.endswith(f"/{plural}")


def watches(request: web.Request) -> bool:
    return request.query.get("watch") == "true"


class FaultyProxy:
    """Forwards everything to an API server, except for the faults that are set."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._faults: list[Fault] = []
        self.happened: list[tuple[Kind, str]] = []
        self._under_way: set[asyncio.Task[object]] = set()

    def add(self, *faults: Fault) -> None:
        """Let requests fail from now on; the first matching fault applies."""
        self._faults.extend(faults)

    def clear(self) -> None:
        """Let no further request fail."""
        self._faults.clear()

    def break_connections(self) -> None:
        """End every request that is under way, streams included."""
        for task in self._under_way:
            task.cancel()

    @property
    def is_through(self) -> bool:
        """Whether every fault has happened as often as it was to."""
        return not any(each.times for each in self._faults)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Endpoint]:
        """The API server as seen through the proxy, over plain HTTP."""
        context = self._endpoint.ssl_context()
        connector = aiohttp.TCPConnector(ssl=True if context is None else context, limit=0)
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
            self._session = session
            await runner.setup()
            site = web.TCPSite(runner, LOOPBACK, 0)
            await site.start()
            port = runner.addresses[0][1]
            try:
                yield Endpoint(server=f"http://{LOOPBACK}:{port}", token=self._endpoint.token)
            finally:
                # Connections to the server first: one that a cancelled task drops closes its TLS
                # session in the background, and the event loop may be gone before that is done.
                await session.close()
                await runner.cleanup()
                for task in self._under_way:
                    task.cancel()
                await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._under_way.add(task)
        try:
            return await self._answered(request)
        except aiohttp.ClientConnectionError:
            return _hang_up(request)  # As a server that is down.
        finally:
            self._under_way.discard(task)

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        fault = self._fault_for(request)
        body = await request.read()
        if fault is not None and fault.kind is Kind.DROPPED:
            return _hang_up(request)
        if fault is not None and fault.kind is Kind.REFUSED:
            return web.json_response(
                {"kind": "Status", "apiVersion": "v1", "code": fault.status, "message": "a fault"},
                status=fault.status,
                headers=fault.headers,
            )
        headers = {key: value for key, value in request.headers.items() if key != "Host"}
        url = f"{self._endpoint.server}{request.rel_url}"
        async with self._session.request(
            request.method, url, data=body or None, headers=headers, timeout=_no_limit()
        ) as answer:
            if fault is not None and fault.kind is Kind.LOST:
                await answer.read()
                return _hang_up(request)
            return await _relay(request, answer, fault)

    def _fault_for(self, request: web.Request) -> Fault | None:
        found = next((each for each in self._faults if each.times and each.matches(request)), None)
        if found is not None:
            found.times -= 1
            self.happened.append((found.kind, request.path))
        return found


async def _relay(
    request: web.Request, answer: aiohttp.ClientResponse, fault: Fault | None
) -> web.StreamResponse:
    kept = {key: value for key, value in answer.headers.items() if key.lower() not in _DROPPED}
    response = web.StreamResponse(status=answer.status, headers=kept)
    left = fault.bytes_let_through if fault is not None else None
    try:
        await response.prepare(request)
        async for chunk in answer.content.iter_any():
            if left is not None and len(chunk) >= left:
                await response.write(chunk[:left])
                return _hang_up(request)
            await response.write(chunk)
            left = None if left is None else left - len(chunk)
        await response.write_eof()
    except (ConnectionError, aiohttp.ClientError, asyncio.CancelledError):
        # The client disconnected, or the proxy ends.
        return response
    return response


def _hang_up(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _no_limit() -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None)
