"""Reading responses from a connection."""

import asyncio
import itertools
import weakref
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfjob.client.connection import BrokenConnectionError, Connection, Response, ResponseReader

SIZED = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nDate: now\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nhel\r\n2;note=1\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"
)


class Line:
    """A fake transport that records what was written and whether it was aborted."""

    def __init__(self) -> None:
        self.written = b""
        self.is_aborted = False

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.is_aborted = True


def connected() -> tuple[Connection, Line]:
    line, connection = Line(), Connection()
    connection.connection_made(line)  # type: ignore[arg-type]  # as much of it as is used
    return connection, line


def receive(connection: Connection, data: bytes) -> None:
    """What an event loop does with data that fits into the buffer."""
    buffer = connection.get_buffer(-1)
    buffer[: len(data)] = data
    connection.buffer_updated(len(data))


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    return [data[start:end] for start, end in itertools.pairwise(places)]


@pytest.mark.parametrize(("text", "status"), [(SIZED, 201), (CHUNKED, 200)])
@given(cuts=st.lists(st.integers(min_value=0, max_value=200), max_size=8))
def test_an_answer_is_the_same_in_whatever_pieces_it_comes(
    text: bytes, status: int, cuts: list[int]
) -> None:
    reader = ResponseReader()
    *early, last = [reader.feed(piece) for piece in pieces_of(text, cuts)]
    assert early == [None] * len(early)
    assert last == Response(status, b"hello")
    assert reader.keeps_open


def test_headers_are_read_in_any_case_of_letters() -> None:
    reader = ResponseReader()
    text = b"HTTP/1.1 429 Busy\r\ncOnTeNt-LeNgTh:2\r\nretry-after: 7\r\nCONNECTION: Close\r\n\r\nno"
    assert reader.feed(text) == Response(429, b"no", "7")
    assert not reader.keeps_open


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.0 200 OK\r\n\r\nhel") is None
    assert reader.feed(b"lo") is None
    assert reader.end() == Response(200, b"hello")
    assert not reader.keeps_open


def test_informational_response_is_skipped() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n") is None
    assert reader.feed(SIZED) == Response(201, b"hello")


def test_an_answer_that_never_has_a_body_does_not_wait_for_one() -> None:
    assert ResponseReader().feed(b"HTTP/1.1 204 No Content\r\n\r\n") == Response(204, b"")


@pytest.mark.parametrize(
    "text",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"x" * 70_000,
        SIZED + b"HTTP/1.1 200 OK",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nlonger\r\n",
    ],
)
def test_what_is_no_answer_is_rejected(text: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        ResponseReader().feed(text)


async def test_one_connection_carries_one_exchange_after_the_other() -> None:
    connection, line = connected()
    for number in (b"1", b"2"):
        asked = asyncio.create_task(connection.exchange(number))
        await asyncio.sleep(0)
        receive(connection, SIZED)
        assert (await asked).status == 201
    assert line.written == b"12"
    assert connection.is_open


async def test_truncated_response_is_a_failure_that_was_not_silent() -> None:
    connection, _ = connected()
    asked = asyncio.create_task(connection.exchange(b"?"))
    await asyncio.sleep(0)
    receive(connection, SIZED[:-1])
    connection.connection_lost(None)
    with pytest.raises(BrokenConnectionError, match="closed") as caught:
        await asked
    assert not caught.value.was_silent
    assert not connection.is_open


@pytest.mark.parametrize("error", [None, ConnectionResetError("reset")])
async def test_an_answer_up_to_the_end_is_whole_only_if_the_server_closes(
    error: Exception | None,
) -> None:
    connection, _ = connected()
    asked = asyncio.create_task(connection.exchange(b"?"))
    await asyncio.sleep(0)
    receive(connection, b"HTTP/1.1 200 OK\r\n\r\nhello")
    connection.connection_lost(error)
    (found,) = await asyncio.gather(asked, return_exceptions=True)
    assert isinstance(found, BrokenConnectionError) if error else found == Response(200, b"hello")


async def test_a_connection_that_ends_before_a_byte_came_was_silent() -> None:
    connection, _ = connected()
    asked = asyncio.create_task(connection.exchange(b"?"))
    await asyncio.sleep(0)
    connection.connection_lost(ConnectionResetError("reset"))
    with pytest.raises(BrokenConnectionError, match="reset") as caught:
        await asked
    assert caught.value.was_silent


async def test_connection_that_is_lost_keeps_nothing_of_its_transport() -> None:
    connection, line = connected()
    transport = weakref.ref(line)
    del line
    assert transport() is not None
    connection.connection_lost(None)
    assert transport() is None


async def test_unsolicited_data_is_never_taken_for_the_next_response() -> None:
    connection, line = connected()
    receive(connection, SIZED)
    assert line.is_aborted
    with pytest.raises(BrokenConnectionError):
        await connection.exchange(b"?")


async def test_malformed_response_ends_the_connection() -> None:
    connection, line = connected()
    asked = asyncio.create_task(connection.exchange(b"?"))
    await asyncio.sleep(0)
    receive(connection, b"nonsense\r\n\r\n")
    with pytest.raises(BrokenConnectionError, match="not an HTTP"):
        await asked
    assert line.is_aborted


async def test_cancelled_request_leaves_no_response_for_the_next() -> None:
    connection, line = connected()
    asked = asyncio.create_task(connection.exchange(b"?"))
    await asyncio.sleep(0)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert line.is_aborted
    assert not connection.is_open


async def test_connection_close_header_ends_the_connection() -> None:
    connection, _ = connected()
    asked = asyncio.create_task(connection.exchange(b"?"))
    await asyncio.sleep(0)
    receive(connection, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    assert (await asked).body == b""
    assert not connection.is_open


async def test_an_answer_that_is_late_is_not_awaited_beyond_the_deadline() -> None:
    connection, line = connected()
    now = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        await connection.exchange(b"?", deadline=now)
    assert line.is_aborted
    assert not connection.is_open


@pytest.mark.parametrize("header", ["Content-Length: 2", "content-length:2", "CONTENT-LENGTH: 2 "])
def test_the_case_of_a_header_does_not_matter(header: str) -> None:
    reader = ResponseReader()
    answer = f"HTTP/1.1 200 OK\r\n{header}\r\nCONNECTION: Close\r\n\r\nok"
    assert reader.feed(answer.encode()) == Response(200, b"ok")
    assert not reader.keeps_open


@pytest.mark.parametrize(("status", "wait"), [(200, None), (429, "Wed, 21 Oct 2026 07:28:00 GMT")])
def test_retry_after_is_read_from_refusals_only(status: int, wait: str | None) -> None:
    head = f"HTTP/1.1 {status} X\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\n"
    answer = f"{head}Content-Length: 0\r\n\r\n"
    assert ResponseReader().feed(answer.encode()) == Response(status, b"", wait)


def _feed_all(reader: ResponseReader, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        reader.feed(piece)


LONG = [
    b"Content-Length: 100001\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n" + b"2710\r\n%b\r\n" % (b"x" * 10_000) * 20,
    b"\r\n" + b"x" * 200_000,
]


@pytest.mark.parametrize("rest", LONG, ids=["sized", "chunked", "until the end"])
def test_an_answer_that_is_too_long_is_not_read_to_its_end(rest: bytes) -> None:
    reader = ResponseReader(100_000)
    answer = b"HTTP/1.1 200 OK\r\n" + rest
    pieces = [answer[start : start + 10_000] for start in range(0, len(answer), 10_000)]
    with pytest.raises(ValueError, match="the response is longer than 100000 bytes"):
        _feed_all(reader, pieces)


def test_endless_informational_responses_are_too_long() -> None:
    reader = ResponseReader(0)
    with pytest.raises(ValueError, match="longer than 0 bytes"):
        _feed_all(reader, [b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"] * 3000)


def test_an_answer_as_long_as_allowed_is_read() -> None:
    assert ResponseReader(5).feed(SIZED) == Response(201, b"hello")
    assert ResponseReader(5).feed(CHUNKED) == Response(200, b"hello")


async def test_an_answer_that_is_too_long_ends_the_connection() -> None:
    connection, line = connected()
    asked = asyncio.create_task(connection.exchange(b"?", max_bytes=4))
    await asyncio.sleep(0)
    receive(connection, SIZED)
    with pytest.raises(BrokenConnectionError, match="longer than 4 bytes") as caught:
        await asked
    assert not caught.value.was_silent
    assert line.is_aborted
    assert not connection.is_open
