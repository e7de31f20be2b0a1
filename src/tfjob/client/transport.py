"""One exchange with an API server: connection pool, credentials, and when to send again.

A request is sent again only when the server asked for it (429, or 503 with Retry-After) and only
when that cannot do a thing twice, or when the server did not accept credentials that have changed
since. Every failure leaves as an ApiError. It knows methods and paths, not objects.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Self
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from tfjob.client import errors
from tfjob.client.backoff import exponential, lengthened
from tfjob.client.config import Config
from tfjob.client.credentials import ConfigError
from tfjob.client.throttle import TokenBucket
from tfjob.client.timing import REAL, Timing

RequestHook = Callable[[str, str, int, float], None]
"""Told of each exchange: verb, resource, HTTP status (0 without an answer), seconds."""

_NETWORK_FAULTS: Final = (aiohttp.ClientError, OSError, TimeoutError)
_NOT_CONNECTED: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.ClientHttpProxyError,
    aiohttp.InvalidURL,
)
_KEEPALIVE: Final = (
    ("SO_KEEPALIVE", socket.SOL_SOCKET, 1),
    ("TCP_KEEPIDLE", socket.IPPROTO_TCP, 30),
    ("TCP_KEEPINTVL", socket.IPPROTO_TCP, 10),
    ("TCP_KEEPCNT", socket.IPPROTO_TCP, 3),
)


class Tuning(msgspec.Struct, frozen=True, kw_only=True):
    """How patient and how parallel a client is; times in seconds."""

    connections: int = 100
    timeout: float = 30.0
    connect_timeout: float = 10.0
    tries: int = 6
    longest_wait: float = 60.0
    user_agent: str = "tfjob"


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to ask for, as data."""

    verb: str
    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    content_type: str = "application/json"
    is_repeatable: bool = True

    @property
    def title(self) -> str:
        return f"{self.method} {self.path}"


class Stream:
    """The body of an answer that goes on, in chunks as they come.

    `idle` seconds without a byte end it with ServerTimeout, as does a connection that breaks.
    """

    def __init__(self, response: aiohttp.ClientResponse, *, idle: float | None, title: str) -> None:
        self._read = response.content.readany
        self._title = title
        self.idle = idle

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            async with asyncio.timeout(self.idle):
                chunk = await self._read()
        except TimeoutError as fault:
            raise errors.Silent(f"nothing came for {self.idle} s", request=self._title) from fault
        except _NETWORK_FAULTS as fault:
            raise _failure(fault, self._title) from fault
        if not chunk:
            raise StopAsyncIteration
        return chunk


class Transport:
    """Sends requests over one pool of connections."""

    def __init__(
        self,
        config: Config,
        *,
        tuning: Tuning,
        throttle: TokenBucket | None = None,
        on_request: RequestHook | None = None,
        timing: Timing = REAL,
    ) -> None:
        self._config = config
        self._tuning = tuning
        self._throttle = throttle
        self._on_request = on_request
        self._timing = timing
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """End all connections; open streams break."""
        if self._session is not None:
            await self._session.close()

    async def send(self, request: Request) -> bytes:
        """The body of a successful answer."""
        limit = self._tuning.timeout
        response = await self._answered(request, total=limit, until_answer=None)
        try:
            async with response:
                return await response.read()
        except _NETWORK_FAULTS as fault:
            raise _failure(fault, request.title) from fault

    @asynccontextmanager
    async def open(self, request: Request, *, idle: float | None) -> AsyncIterator[Stream]:
        """A successful answer whose body is read as it comes."""
        response = await self._answered(request, total=None, until_answer=idle)
        try:
            yield Stream(response, idle=idle, title=request.title)
        finally:
            response.close()

    async def _answered(
        self, request: Request, *, total: float | None, until_answer: float | None
    ) -> aiohttp.ClientResponse:
        """A successful answer, its body unread, after as many sends as it took."""
        limits = aiohttp.ClientTimeout(total=total, sock_connect=self._tuning.connect_timeout)
        attempt = 0
        while True:
            authorization = await self._authorization(request)
            if self._throttle is not None:
                await self._throttle.take()
            try:
                async with asyncio.timeout(until_answer):
                    response = await self._exchange(request, authorization, limits=limits)
                    if response.status < 300:
                        return response
                    error = await _error(response, request)
            except _NETWORK_FAULTS as fault:
                raise _failure(fault, request.title) from fault
            await self._before_resend(request, error, authorization, attempt=attempt)
            attempt += 1

    async def _exchange(
        self, request: Request, authorization: str | None, *, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        started = self._timing.clock()
        status = 0
        try:
            response = await self._pool().request(
                request.method,
                URL(f"{self._config.server}{request.path}{request.query}", encoded=True),
                data=request.body,
                headers=self._headers(request, authorization),
                timeout=limits,
                allow_redirects=False,
                proxy=self._config.proxy,
                server_hostname=self._config.server_hostname,
            )
            status = response.status
        finally:
            self._tell(request, status, seconds=self._timing.clock() - started)
        return response

    def _tell(self, request: Request, status: int, *, seconds: float) -> None:
        if self._on_request is not None:
            self._on_request(request.verb, resource_in(request.path), status, seconds)

    def _headers(self, request: Request, authorization: str | None) -> list[tuple[str, str]]:
        headers = list(self._config.headers)
        if authorization is not None:
            headers.append(("Authorization", authorization))
        if request.body is not None:
            headers.append(("Content-Type", request.content_type))
        return headers

    async def _authorization(self, request: Request) -> str | None:
        try:
            return await self._config.credentials.header()
        except ConfigError as fault:
            raise errors.Unauthorized(str(fault), request=request.title) from fault

    async def _before_resend(
        self, request: Request, error: errors.ApiError, refused: str | None, *, attempt: int
    ) -> None:
        """Wait as the server asked; raise when sending again would be wrong or too much."""
        if isinstance(error, errors.Unauthorized):
            if attempt > 1 or not self._config.credentials.renew(refused):
                raise error
            return
        wait = self._wait(request, error, attempt=attempt)
        if wait is None or wait > self._tuning.longest_wait or attempt + 1 >= self._tuning.tries:
            raise error
        await self._timing.sleep(lengthened(wait, self._timing.chance))

    def _wait(self, request: Request, error: errors.ApiError, *, attempt: int) -> float | None:
        asked = float(error.details.retry_after_seconds)
        if isinstance(error, errors.TooManyRequests):
            return asked or exponential(attempt, first=0.5, longest=self._tuning.longest_wait)
        if error.status == 503 and asked and request.is_repeatable:
            return asked
        return None

    def _pool(self) -> aiohttp.ClientSession:
        """Made at the first request, because a session belongs to a running loop."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._tuning.connections,
                    ssl=self._config.tls or True,
                    socket_factory=_socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                # Compression costs a server more than the bytes cost a cluster's network.
                headers={"User-Agent": self._tuning.user_agent, "Accept-Encoding": "identity"},
                auto_decompress=False,
            )
        return self._session


def resource_in(path: str) -> str:
    """The plural that a path is about, for counting; `other` for what is not an API path."""
    parts = path.split("/")
    start = {"api": 3, "apis": 4}.get(parts[1] if len(parts) > 1 else "")
    if start is None or len(parts) <= start:
        return "other"
    if parts[start] == "namespaces" and len(parts) > start + 2:
        return parts[start + 2]
    return parts[start]


def query(params: Mapping[str, str]) -> str:
    """Parameters in the form they have in a URL."""
    return f"?{urlencode(params)}" if params else ""


async def _error(response: aiohttp.ClientResponse, request: Request) -> errors.ApiError:
    async with response:
        return errors.from_answer(
            response.status,
            await response.read(),
            request=request.title,
            retry_after=response.headers.get("Retry-After"),
        )


def _failure(fault: Exception, title: str) -> errors.ApiError:
    """What a failure of the network means for the request."""
    if isinstance(fault, _NOT_CONNECTED):
        return errors.Unreachable(f"no connection: {fault}", request=title)
    what = f"no complete answer ({str(fault) or type(fault).__name__})"
    if not title.startswith("GET "):
        what += "; it may or may not have been carried out"
    return errors.ServerTimeout(what, request=title)


def _socket(address: Any) -> socket.socket:
    """A socket that notices within a minute that its peer is gone, so that no watch hangs."""
    family, kind, protocol = address[:3]
    made = socket.socket(family=family, type=kind, proto=protocol)
    for name, level, value in _KEEPALIVE:
        if hasattr(socket, name):
            made.setsockopt(level, getattr(socket, name), value)
    return made
