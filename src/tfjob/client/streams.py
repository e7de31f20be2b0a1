"""Streaming responses, and requests through a proxy, with aiohttp.

TCP keep-alive detects a dead connection within a minute.
"""

import asyncio
import socket
import weakref
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

import aiohttp
from yarl import URL

from tfjob.client import errors
from tfjob.client.config import Config
from tfjob.client.connection import BrokenConnectionError, Response, too_long
from tfjob.client.request import (
    NETWORK_ERRORS,
    ClientConfig,
    Request,
    default_headers,
    network_error,
)

_KEEPALIVE: Final = (
    ("SO_KEEPALIVE", socket.SOL_SOCKET, 1),
    ("TCP_KEEPIDLE", socket.IPPROTO_TCP, 30),
    ("TCP_KEEPINTVL", socket.IPPROTO_TCP, 10),
    ("TCP_KEEPCNT", socket.IPPROTO_TCP, 3),
)

_CLOSING_ROUNDS: Final = 20
"""Turns of the event loop in which it closes a socket; a few are enough."""


class Stream:
    """The body of a streaming response, in chunks.

    Raises IdleTimeout after `idle` seconds without data, and ServerTimeout if the connection
    breaks.
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
            raise errors.IdleTimeout(f"no data for {self.idle} s", request=self._title) from fault
        except NETWORK_ERRORS as fault:
            raise network_error(fault, self._title) from fault
        if not chunk:
            raise StopAsyncIteration
        return chunk


class StreamResponse(NamedTuple):
    """A response whose body is not read yet, unless it is an error."""

    status: int
    body: bytes
    retry_after: str | None
    response: aiohttp.ClientResponse


class Streams:
    """Opens streams to one server, over its own connections."""

    def __init__(self, config: Config, tuning: ClientConfig) -> None:
        self._config = config
        self._tuning = tuning
        self._session: aiohttp.ClientSession | None = None
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    async def close(self) -> None:
        """Close all connections, including open streams and those that are being opened.

        A connection that is cancelled at the end of its TLS handshake waits for the server to
        close it. Shutting its socket down ends that wait.
        """
        if self._session is None:
            return
        await self._session.close()
        for _ in range(_CLOSING_ROUNDS):
            left = [each for each in self._sockets if each.fileno() >= 0]
            for each in left:
                with suppress(OSError):  # not connected, or closed meanwhile
                    each.shutdown(socket.SHUT_RDWR)
            if not left:
                return
            await asyncio.sleep(0)

    async def open(self, request: Request, authorization: str | None) -> StreamResponse:
        response = await self._request(request, authorization)
        retry_after = response.headers.get("Retry-After")
        if response.status < 300:
            return StreamResponse(response.status, b"", retry_after, response)
        async with response:
            body = await _body(response, request.max_bytes)
            return StreamResponse(response.status, body, retry_after, response)

    async def send(self, request: Request, authorization: str | None) -> Response:
        seconds = self._tuning.timeout if request.timeout is None else request.timeout
        async with asyncio.timeout(seconds):
            response = await self._request(request, authorization)
            async with response:
                body = await _body(response, request.max_bytes)
        return Response(response.status, body, response.headers.get("Retry-After"))

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
        """The session, created at the first request because it needs a running event loop."""
        if self._session is None:
            limit = self._tuning.connect_timeout
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=self._tuning.connections,
                    ssl=self._config.tls or True,
                    socket_factory=self._socket,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=default_headers(self._tuning),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=limit),
                auto_decompress=False,
            )
        return self._session

    def _socket(self, address: Any) -> socket.socket:
        created = _socket(address)
        self._sockets.add(created)
        return created


async def _body(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """The whole body; if it is too long, the connection is closed."""
    body = bytearray()
    while chunk := await response.content.readany():
        if len(body) + len(chunk) > max_bytes:
            response.close()
            raise BrokenConnectionError(str(too_long(max_bytes)), was_silent=False)
        body += chunk
    return bytes(body)


def _socket(address: Any) -> socket.socket:
    """A socket with TCP keep-alive, so that no watch hangs on a dead connection."""
    family, kind, protocol = address[:3]
    created = socket.socket(family=family, type=kind, proto=protocol)
    for name, level, value in _KEEPALIVE:
        if hasattr(socket, name):
            created.setsockopt(level, getattr(socket, name), value)
    return created
