"""Connections to one server, kept for the next request: as many as are needed, up to a limit.

A connection is used by one exchange at a time. One that was idle may have been closed by the
server just when it was used again; then a harmless request goes out once more on another one.
Anything else that fails is left to the caller.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

import msgspec

from tfjob.client.connection import Answer, BrokenConnectionError, Connection

_LONGEST_IDLE: Final = 15.0
"""Seconds after which a connection is not trusted any more; load balancers forget silently."""
_CLOSED: Final = "this client was closed"
_PORTS: Final = {"http": 80, "https": 443}


class NotConnectedError(OSError):
    """There is no connection, so the server surely did nothing."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server is and how its name is proven."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    name: str | None
    """The name in the certificate; None where there is no TLS."""


def address_of(
    server: str, *, tls: ssl.SSLContext | None = None, server_hostname: str | None = None
) -> Address:
    parts = urlsplit(server)
    host = parts.hostname or ""
    is_safe = parts.scheme == "https"
    return Address(
        host=host,
        port=parts.port or _PORTS.get(parts.scheme, 80),
        tls=(tls or ssl.create_default_context()) if is_safe else None,
        name=(server_hostname or host) if is_safe else None,
    )


class Pool:
    """Carries out whole exchanges with one server."""

    def __init__(self, address: Address, *, limit: int, connect_timeout: float) -> None:
        self._address = address
        self._connect_timeout = connect_timeout
        self._turns = asyncio.Semaphore(limit)
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._is_closed = False

    async def exchange(
        self, request: bytes, *, is_harmless: bool, check: Callable[[], None] = lambda: None
    ) -> Answer:
        """The answer to a request, which may be sent twice if that is harmless.

        `check` raises where it must not be sent any more: connecting may have taken its time.
        """
        async with self._turns:
            while True:
                kept = self._kept()
                connection = kept or await self._connect()
                try:
                    check()
                except BaseException:
                    self._keep(connection)
                    raise
                try:
                    answer = await connection.exchange(request)
                except BrokenConnectionError as fault:
                    self._all.discard(connection)
                    if kept is None or not (is_harmless and fault.was_silent):
                        raise
                    continue
                except asyncio.CancelledError:
                    self._all.discard(connection)
                    raise
                self._keep(connection)
                return answer

    async def close(self) -> None:
        """End all connections; exchanges under way fail, and no other begins."""
        self._is_closed = True
        for connection in self._all:
            connection.close()
        self._all.clear()
        self._idle.clear()
        # A loop that ends right after this would leave the sockets open.
        await asyncio.sleep(0)

    def _kept(self) -> Connection | None:
        """The connection that was used last, so that those too many grow old."""
        oldest = asyncio.get_running_loop().time() - _LONGEST_IDLE
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since >= oldest:
                return connection
            connection.close()
            self._all.discard(connection)
        return None

    def _keep(self, connection: Connection) -> None:
        if connection.is_open:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            self._all.discard(connection)

    async def _connect(self) -> Connection:
        connection = await self._new()
        if self._is_closed:
            connection.close()
            raise NotConnectedError(_CLOSED)
        self._all.add(connection)
        return connection

    async def _new(self) -> Connection:
        if self._is_closed:
            raise NotConnectedError(_CLOSED)
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await _connected(self._address)
        except TimeoutError as fault:
            raise NotConnectedError(f"none within {self._connect_timeout} s") from fault
        except OSError as fault:
            raise NotConnectedError(str(fault) or type(fault).__name__) from fault


async def _connected(address: Address) -> Connection:
    """A connection; whoever is cancelled meanwhile leaves no socket behind.

    TLS is a step of its own for that: a loop that does both in one, and is cancelled just when TLS
    is agreed on, waits with an open socket for the server to say goodbye. The connection is then
    told of two transports, the bare one first, so that it can be closed in between.
    """
    loop = asyncio.get_running_loop()
    transport, connection = await loop.create_connection(Connection, address.host, address.port)
    if address.tls is None:
        return connection
    try:
        secured = await _secured(transport, connection, address.tls, name=address.name)
    except BaseException:
        connection.close()
        raise
    connection.connection_made(secured)
    return connection


async def _secured(
    transport: asyncio.Transport, connection: Connection, tls: ssl.SSLContext, *, name: str | None
) -> asyncio.Transport:
    if not transport.is_closing():
        loop = asyncio.get_running_loop()
        secured = await loop.start_tls(transport, connection, tls, server_hostname=name)
        # A server that hangs up leaves none with one kind of loop, and a dead one with another.
        if secured is not None and not secured.is_closing():
            return secured
    raise ConnectionResetError("the server hung up before TLS was agreed on")
