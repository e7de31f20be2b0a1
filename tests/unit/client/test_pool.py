"""Reuse of connections, and retries on closed ones."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

import msgspec
import pytest

from tests.support.fake_time import settle, skip_ahead
from tests.support.patience import PATIENCE
from tfjob.client.connection import BrokenConnectionError
from tfjob.client.pool import NotConnectedError, Pool, address_of
from tfjob.client.timing import REAL

YES = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server(asyncio.Protocol):
    """A server that responds at once, or closes the connection if the test says so."""

    connections = 0
    requests = 0
    hangs_up_on = frozenset[int]()
    answer = YES
    opened: ClassVar[list[asyncio.Transport]]
    closed: ClassVar[asyncio.Semaphore]
    """Has one slot for each connection that was closed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        type(self).connections += 1
        assert isinstance(transport, asyncio.Transport)
        self.opened.append(transport)
        self._transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self.closed.release()

    def data_received(self, data: bytes) -> None:
        type(self).requests += data.count(b"?")
        if type(self).requests in self.hangs_up_on:
            self._transport.close()
        else:
            self._transport.write(self.answer)


@asynccontextmanager
async def serving(
    *, limit: int = 10, hangs_up_on: int = 0
) -> AsyncIterator[tuple[Pool, type[Server]]]:
    opened: list[asyncio.Transport] = []
    own = {
        "hangs_up_on": frozenset({hangs_up_on}),
        "opened": opened,
        "closed": asyncio.Semaphore(0),
    }
    kind = type("Own", (Server,), own)
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pool = Pool(address_of(f"http://127.0.0.1:{port}"), limit=limit, connect_timeout=PATIENCE)
    try:
        yield pool, kind
    finally:
        await pool.close()
        server.close()
        for each in opened:
            each.abort()
        await settle()


async def test_a_connection_serves_one_request_after_the_other() -> None:
    async with serving() as (pool, server):
        for _ in range(3):
            assert (await pool.exchange(b"?", is_idempotent=False)).body == b"ok"
    assert (server.connections, server.requests) == (1, 3)


async def test_never_more_connections_than_the_limit() -> None:
    async with serving(limit=2) as (pool, server):
        await asyncio.gather(*(pool.exchange(b"?", is_idempotent=False) for _ in range(10)))
    assert server.requests == 10
    assert server.connections <= 2


async def test_connections_that_nobody_uses_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    def clock() -> float:
        return asyncio.get_running_loop().time()

    timing = msgspec.structs.replace(REAL, clock=clock)
    monkeypatch.setattr("tfjob.client.pool.REAL", timing)
    # So long that it matters little how long the test itself takes.
    monkeypatch.setattr("tfjob.client.pool._MAX_IDLE", 10 * PATIENCE)
    async with serving() as (pool, server):

        async def ask(times: int) -> None:
            await asyncio.gather(*(pool.exchange(b"?", is_idempotent=True) for _ in range(times)))

        async def see_closed(times: int) -> None:
            async with asyncio.timeout(PATIENCE):
                for _ in range(times):
                    await server.closed.acquire()

        await ask(3)
        assert server.connections == 3
        skip_ahead(6 * PATIENCE)
        await ask(1)
        skip_ahead(6 * PATIENCE)
        await see_closed(2)
        await ask(1)
        assert server.connections == 3
        skip_ahead(12 * PATIENCE)
        await see_closed(1)
        await ask(1)
        assert server.connections == 4


async def test_a_slot_that_comes_too_late_is_left_to_the_next_in_line() -> None:
    async with serving(limit=1) as (pool, server):
        server.answer = b""
        holder = asyncio.create_task(pool.exchange(b"?", is_idempotent=True))
        await settle()
        with pytest.raises(TimeoutError):
            await pool.exchange(b"?", is_idempotent=True, timeout=0)
        cancelled = asyncio.create_task(pool.exchange(b"?", is_idempotent=True))
        next_one = asyncio.create_task(pool.exchange(b"?", is_idempotent=True))
        await settle()
        server.answer = YES
        cancelled.cancel()
        holder.cancel()
        assert (await next_one).body == b"ok"


async def test_a_slot_that_is_given_to_a_cancelled_request_is_passed_on() -> None:
    async with serving(limit=1) as (pool, server):
        server.answer = b""
        holder = asyncio.create_task(pool.exchange(b"?", is_idempotent=True))
        await settle()
        given = asyncio.create_task(pool.exchange(b"?", is_idempotent=True))
        next_one = asyncio.create_task(pool.exchange(b"?", is_idempotent=True))
        await settle()
        server.answer = YES
        # The slot is given in the same turn of the event loop in which its taker is cancelled.
        holder.add_done_callback(lambda _: given.cancel())
        holder.cancel()
        assert (await next_one).body == b"ok"
        assert given.cancelled()


async def test_a_server_that_does_not_answer_is_not_awaited_beyond_the_timeout() -> None:
    async with serving() as (pool, server):
        server.answer = b""
        with pytest.raises(TimeoutError):
            await pool.exchange(b"?", is_idempotent=True, timeout=0.01)
        server.answer = YES
        assert (await pool.exchange(b"?", is_idempotent=True)).body == b"ok"


async def test_a_harmless_request_on_a_closed_connection_goes_out_once_more() -> None:
    async with serving(hangs_up_on=2) as (pool, server):
        await pool.exchange(b"?", is_idempotent=True)
        assert (await pool.exchange(b"?", is_idempotent=True)).body == b"ok"
    assert (server.connections, server.requests) == (2, 3)


async def test_any_other_request_on_a_closed_connection_is_left_to_the_caller() -> None:
    async with serving(hangs_up_on=2) as (pool, server):
        await pool.exchange(b"?", is_idempotent=False)
        with pytest.raises(BrokenConnectionError):
            await pool.exchange(b"?", is_idempotent=False)
    assert server.requests == 2


async def test_a_server_that_hangs_up_on_a_new_connection_is_not_asked_again() -> None:
    async with serving(hangs_up_on=1) as (pool, server):
        with pytest.raises(BrokenConnectionError):
            await pool.exchange(b"?", is_idempotent=True)
        assert server.requests == 1
        assert (await pool.exchange(b"?", is_idempotent=True)).body == b"ok"


async def test_answer_larger_than_any_buffer_arrives_whole() -> None:
    async with serving() as (pool, server):
        body = bytes(number % 251 for number in range(1_000_000))
        server.answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        assert (await pool.exchange(b"?", is_idempotent=True)).body == body
        server.answer = YES
        assert (await pool.exchange(b"?", is_idempotent=True)).body == b"ok"


async def test_without_a_server_nothing_was_done() -> None:
    async with serving() as (pool, _):
        pass
    with pytest.raises(NotConnectedError):
        await pool.exchange(b"?", is_idempotent=True)


@pytest.mark.parametrize(
    ("server", "host", "port", "name"),
    [
        ("https://api.example", "api.example", 443, "api.example"),
        ("https://[::1]:6443/prefix", "::1", 6443, "::1"),
        ("http://127.0.0.1:8080", "127.0.0.1", 8080, None),
        ("http://127.0.0.1", "127.0.0.1", 80, None),
    ],
)
def test_an_address_follows_from_a_url(server: str, host: str, port: int, name: str | None) -> None:
    found = address_of(server)
    assert (found.host, found.port, found.name) == (host, port, name)
    assert bool(found.tls) == (name is not None)


def test_another_name_may_be_proven_by_the_certificate() -> None:
    context = ssl.create_default_context()
    found = address_of("https://127.0.0.1:1", tls=context, server_hostname="api.example")
    assert (found.tls, found.name) == (context, "api.example")


async def test_nothing_is_asked_through_a_pool_that_was_closed() -> None:
    async with serving() as (pool, server):
        await pool.exchange(b"?", is_idempotent=True)
        await pool.close()
        with pytest.raises(NotConnectedError, match="closed"):
            await pool.exchange(b"?", is_idempotent=True)
    assert server.connections == 1


async def test_connection_that_comes_too_late_is_given_up() -> None:
    async with serving() as (pool, server):
        late = asyncio.create_task(pool.exchange(b"?", is_idempotent=True))
        await asyncio.sleep(0)
        await pool.close()
        with pytest.raises(NotConnectedError, match="closed"):
            await late
    assert server.requests == 0


async def test_a_request_that_may_no_longer_be_sent_is_not_and_its_connection_is_kept() -> None:
    def refuse() -> None:
        raise LookupError("too late")

    async with serving() as (pool, server):
        for _ in range(2):
            with pytest.raises(LookupError, match="too late"):
                await pool.exchange(b"?", is_idempotent=True, check=refuse)
        assert (server.connections, server.requests) == (1, 0)
        assert (await pool.exchange(b"?", is_idempotent=True)).body == b"ok"
        assert server.connections == 1


async def test_answer_that_is_too_long_is_not_asked_for_again() -> None:
    async with serving() as (pool, server):
        await pool.exchange(b"?", is_idempotent=True)
        with pytest.raises(BrokenConnectionError, match="longer than 1 bytes"):
            await pool.exchange(b"?", is_idempotent=True, max_bytes=1)
        assert server.requests == 2
        assert (await pool.exchange(b"?", is_idempotent=True)).body == b"ok"
        assert server.connections == 2
