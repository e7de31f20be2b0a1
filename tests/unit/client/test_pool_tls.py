"""TLS connections: exchanges, and no open sockets after cancellation."""

import asyncio
import gc
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from tests.support.fake_time import settle
from tests.support.patience import PATIENCE
from tests.support.tls_server import open_sockets, serving
from tfjob.client.connection import Connection
from tfjob.client.pool import NotConnectedError, Pool, address_of

LoopFactory = Callable[[], asyncio.AbstractEventLoop]
LOOPS: tuple[LoopFactory, ...] = (asyncio.new_event_loop, uvloop.new_event_loop)


async def test_exchanges_go_over_a_connection_with_tls(tmp_path: Path) -> None:
    async with serving(tmp_path) as (url, trusted):
        pool = Pool(address_of(url, tls=trusted), limit=1, connect_timeout=PATIENCE)
        for _ in range(2):
            assert (await pool.exchange(b"?", is_idempotent=False)).body == b"ok"
        await pool.close()


def connections() -> int:
    """How many connections there are in memory, open or not."""
    return sum(isinstance(each, Connection) for each in gc.get_objects())


@pytest.mark.parametrize("kind", LOOPS, ids=lambda each: each.__module__)
def test_closed_connection_leaves_memory_without_a_garbage_collection(
    kind: LoopFactory, tmp_path: Path
) -> None:
    async def ask() -> None:
        async with serving(tmp_path) as (url, trusted):
            pool = Pool(address_of(url, tls=trusted), limit=1, connect_timeout=PATIENCE)
            await pool.exchange(b"?", is_idempotent=False)
            assert connections() == before + 1
            await pool.close()
            await settle()

    gc.collect()
    gc.disable()
    try:
        before = connections()
        with asyncio.Runner(loop_factory=kind) as runner:
            runner.run(ask())
        assert connections() == before
    finally:
        gc.enable()


async def test_server_that_cannot_be_trusted_is_not_asked(tmp_path: Path) -> None:
    async with serving(tmp_path) as (url, _):
        pool = Pool(address_of(url), limit=1, connect_timeout=PATIENCE)
        with pytest.raises(NotConnectedError, match="CERTIFICATE_VERIFY_FAILED"):
            await pool.exchange(b"?", is_idempotent=False)
        await settle()
        assert not open_sockets(url)


def hung_up_on(kind: LoopFactory) -> list[str]:
    """The error for a server that closes all connections, by reset or by FIN."""

    async def ask() -> list[str]:
        pool = Pool(address_of(url), limit=1, connect_timeout=PATIENCE)
        said = []
        for _ in range(20):
            with pytest.raises(NotConnectedError) as caught:
                async with asyncio.timeout(PATIENCE):
                    await pool.exchange(b"?", is_idempotent=False)
            said.append(str(caught.value))
        await pool.close()
        return said

    def hang_up() -> None:
        for number in range(20):
            caller, _ = server.accept()
            is_rude = number % 2
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", is_rude, 0))
            caller.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        thread = threading.Thread(target=hang_up)
        thread.start()
        try:
            with asyncio.Runner(loop_factory=kind) as runner:
                return runner.run(ask())
        finally:
            thread.join(20)


@pytest.mark.parametrize("kind", LOOPS, ids=lambda each: each.__module__)
def test_server_that_hangs_up_before_tls_is_reported_immediately(kind: LoopFactory) -> None:
    assert len(hung_up_on(kind)) == 20


async def test_who_gives_up_while_connecting_leaves_no_socket_open(tmp_path: Path) -> None:
    async with serving(tmp_path, is_deaf=True) as (url, trusted):
        for turns in range(30):
            pool = Pool(address_of(url, tls=trusted), limit=1, connect_timeout=PATIENCE)
            asked = asyncio.create_task(pool.exchange(b"?", is_idempotent=False))
            for _ in range(turns):
                await asyncio.sleep(0)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            await pool.close()
            assert not open_sockets(url), f"given up after {turns} turns of the loop"
