"""A pool of keep-alive connections to one server.

A connection carries one exchange at a time. If the server closes an idle connection just when it
is reused, an idempotent request is sent again on another one. All other failures are raised.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

import msgspec

from tfjob.client.connection import MAX_BYTES, BrokenConnectionError, Connection, Response
from tfjob.client.timing import REAL

_MAX_IDLE: Final = 15.0
"""Seconds after which an idle connection is closed; load balancers drop them silently."""
_CLOSED: Final = "the client is closed"
_PORTS: Final = {"http": 80, "https": 443}


class NotConnectedError(OSError):
    """No connection could be made: the request was not sent."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a server and its TLS settings."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    name: str | None
    """The expected name in the certificate; None without TLS."""


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
    """Sends requests to one server over pooled connections."""

    def __init__(self, address: Address, *, limit: int, connect_timeout: float) -> None:
        self._address = address
        self._connect_timeout = connect_timeout
        self._slots = _Slots(limit)
        self._idle: deque[Connection] = deque()
        self._all: set[Connection] = set()
        self._expiry: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def exchange(
        self,
        request: bytes,
        *,
        is_idempotent: bool,
        check: Callable[[], None] = lambda: None,
        timeout: float | None = None,  # noqa: ASYNC109 - a timer of the connection is cheaper
        max_bytes: int = MAX_BYTES,
    ) -> Response:
        """Send a request and return the response; an idempotent request may be sent twice.

        `check` is called just before sending, because connecting may take long. It raises if the
        request must not be sent any more. After `timeout` seconds, TimeoutError is raised. A
        response with a body longer than `max_bytes` raises BrokenConnectionError.
        """
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        await self._slots.take(deadline)
        try:
            while True:
                reused = self._take_idle()
                connection = reused or await self._connect(deadline)
                try:
                    check()
                except BaseException:
                    self._put_idle(connection)
                    raise
                try:
                    response = await connection.exchange(
                        request, deadline=deadline, max_bytes=max_bytes
                    )
                except BrokenConnectionError as fault:
                    self._all.discard(connection)
                    if reused is None or not (is_idempotent and fault.was_silent):
                        raise
                    continue
                except (asyncio.CancelledError, TimeoutError):
                    self._all.discard(connection)
                    raise
                self._put_idle(connection)
                return response
        finally:
            self._slots.free()

    async def close(self) -> None:
        """Close all connections. Running exchanges fail and new ones are refused."""
        self._is_closed = True
        if self._expiry is not None:
            self._expiry.cancel()
        for connection in self._all:
            connection.close()
        self._all.clear()
        self._idle.clear()
        # Let the event loop close the sockets, in case it ends right after this.
        await asyncio.sleep(0)

    def _take_idle(self) -> Connection | None:
        """The most recently used idle connection, so that surplus ones expire."""
        oldest = REAL.clock() - _MAX_IDLE
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and connection.idle_since >= oldest:
                return connection
            self._discard(connection)
        return None

    def _put_idle(self, connection: Connection) -> None:
        if not connection.is_open:
            self._all.discard(connection)
            return
        connection.idle_since = REAL.clock()
        self._idle.append(connection)
        if self._expiry is None:
            self._expiry = asyncio.get_running_loop().call_later(_MAX_IDLE, self._expire)

    def _expire(self) -> None:
        """Close connections that were idle for too long. The first was used longest ago."""
        now, self._expiry = REAL.clock(), None
        while self._idle and self._idle[0].idle_since <= now - _MAX_IDLE:
            self._discard(self._idle.popleft())
        if self._idle:
            left = self._idle[0].idle_since + _MAX_IDLE - now
            self._expiry = asyncio.get_running_loop().call_later(left, self._expire)

    def _discard(self, connection: Connection) -> None:
        connection.close()
        self._all.discard(connection)

    async def _connect(self, deadline: float | None) -> Connection:
        async with asyncio.timeout_at(deadline):
            connection = await self._open()
        if self._is_closed:
            connection.close()
            raise NotConnectedError(_CLOSED)
        self._all.add(connection)
        return connection

    async def _open(self) -> Connection:
        if self._is_closed:
            raise NotConnectedError(_CLOSED)
        try:
            async with asyncio.timeout(self._connect_timeout):
                return await _connected(self._address)
        except TimeoutError as fault:
            raise NotConnectedError(f"none within {self._connect_timeout} s") from fault
        except OSError as fault:
            raise NotConnectedError(str(fault) or type(fault).__name__) from fault


class _Slots:
    """A semaphore whose free slots cost next to nothing; a freed one goes to the longest waiter."""

    def __init__(self, limit: int) -> None:
        self._free = limit
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def take(self, deadline: float | None) -> None:
        """Wait for a slot; raises TimeoutError at the deadline."""
        if self._free:
            self._free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout_at(deadline):
                await waiter
        except (asyncio.CancelledError, TimeoutError):
            if not waiter.cancelled():
                self.free()
            raise

    def free(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1


async def _connected(address: Address) -> Connection:
    """Open a connection; cancellation leaves no socket open.

    TLS is negotiated in a separate step: `create_connection` with TLS, cancelled at the end of the
    handshake, keeps its socket open until the server closes it. So the connection gets two
    transports, the plain one first, and can be closed in between.
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
        # If the server hangs up, the event loop returns None or a closed transport.
        if secured is not None and not secured.is_closing():
            return secured
    raise ConnectionResetError("the server closed the connection during the TLS handshake")
