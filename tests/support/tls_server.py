"""A small TLS server, and the sockets of this process that are connected to it."""

import asyncio
import gc
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from tests.support.fake_time import settle
from tfjob.local.apiserver import credentials

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server(asyncio.Protocol):
    """A server that responds at once; a deaf one reads nothing, not even a close."""

    def __init__(self, met: list[asyncio.Transport], *, is_deaf: bool) -> None:
        self._met = met
        self._is_deaf = is_deaf

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of uvloop with TLS are no subclass.
        self._met.append(cast("asyncio.Transport", transport))
        if self._is_deaf:
            self._met[-1].pause_reading()

    def data_received(self, _: bytes) -> None:
        self._met[-1].write(_ANSWER)


@asynccontextmanager
async def serving(
    folder: Path, *, is_deaf: bool = False
) -> AsyncIterator[tuple[str, ssl.SSLContext]]:
    """The address of a server, with a TLS context that trusts it."""
    chain, key = credentials.load_certificate(folder, now=datetime.now(UTC))
    offered = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    offered.load_cert_chain(chain, key)
    met: list[asyncio.Transport] = []
    server = await asyncio.get_running_loop().create_server(
        lambda: Server(met, is_deaf=is_deaf), "127.0.0.1", 0, ssl=offered
    )
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"https://127.0.0.1:{port}", ssl.create_default_context(cafile=chain)
    finally:
        server.close()
        for each in met:
            each.abort()
        await settle()


def open_sockets(url: str) -> list[socket.socket]:
    """The sockets of this process that are connected to the server."""
    port = int(url.rpartition(":")[2])
    found = [each for each in gc.get_objects() if isinstance(each, socket.socket)]
    return [each for each in found if _peer(each) == port]


def _peer(each: socket.socket) -> int | None:
    try:
        return int(each.getpeername()[1])
    except (OSError, TypeError, IndexError):  # closed, never connected, or no network's
        return None
