"""Answers that go on, and servers behind a proxy: what is rare enough to be left to a library.

A connection that has fallen silent is noticed within a minute. It knows methods and paths, not
objects, and not when to send again.
"""

import asyncio
import socket
from typing import Any, Final, NamedTuple, Self

import aiohttp
from yarl import URL

from tfjob.client import errors
from tfjob.client.config import Config
from tfjob.client.connection import Answer
from tfjob.client.request import NETWORK_FAULTS, ClientConfig, Request, failure, own_headers

_KEEPALIVE: Final = (
    ("SO_KEEPALIVE", socket.SOL_SOCKET, 1),
    ("TCP_KEEPIDLE", socket.IPPROTO_TCP, 30),
    ("TCP_KEEPINTVL", socket.IPPROTO_TCP, 10),
    ("TCP_KEEPCNT", socket.IPPROTO_TCP, 3),
)


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
            raise errors.IdleTimeout(
                f"nothing came for {self.idle} s", request=self._title
            ) from fault
        except NETWORK_FAULTS as fault:
            raise failure(fault, self._title) from fault
        if not chunk:
            raise StopAsyncIteration
        return chunk


class Begun(NamedTuple):
    """An answer whose body is still to come, unless it was refused."""

    status: int
    body: bytes
    retry_after: str | None
    response: aiohttp.ClientResponse


class Streams:
    """Asks one server, over connections of their own."""

    def __init__(self, config: Config, tuning: ClientConfig) -> None:
        self._config = config
        self._tuning = tuning
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """End all connections; open streams break."""
        if self._session is not None:
            await self._session.close()

    async def begin(self, request: Request, authorization: str | None) -> Begun:
        response = await self._request(request, authorization)
        retry_after = response.headers.get("Retry-After")
        if response.status < 300:
            return Begun(response.status, b"", retry_after, response)
        async with response:
            return Begun(response.status, await response.read(), retry_after, response)

    async def whole(self, request: Request, authorization: str | None) -> Answer:
        async with asyncio.timeout(self._tuning.timeout):
            response = await self._request(request, authorization)
            async with response:
                body = await response.read()
        return Answer(response.status, body, response.headers.get("Retry-After"))

    async def _request(self, request: Request, authorization: str | None) -> aiohttp.ClientResponse:
        return await self._pool().request(
            request.method,
            URL(f"{self._config.server}{request.path}{request.query}", encoded=True),
            data=request.body,
            headers=self._headers(request, authorization),
            allow_redirects=False,
            proxy=self._config.proxy,
            server_hostname=self._config.server_hostname,
        )

    def _headers(self, request: Request, authorization: str | None) -> list[tuple[str, str]]:
        headers = list(self._config.headers)
        if authorization is not None:
            headers.append(("Authorization", authorization))
        if request.body is not None:
            headers.append(("Content-Type", request.content_type))
        return headers

    def _pool(self) -> aiohttp.ClientSession:
        """Made at the first request, because a session belongs to a running loop."""
        if self._session is None:
            limit = self._tuning.connect_timeout
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._tuning.connections,
                    ssl=self._config.tls or True,
                    socket_factory=_socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=own_headers(self._tuning),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=limit),
                auto_decompress=False,
            )
        return self._session


def _socket(address: Any) -> socket.socket:
    """A socket that notices within a minute that its peer is gone, so that no watch hangs."""
    family, kind, protocol = address[:3]
    made = socket.socket(family=family, type=kind, proto=protocol)
    for name, level, value in _KEEPALIVE:
        if hasattr(socket, name):
            made.setsockopt(level, getattr(socket, name), value)
    return made
