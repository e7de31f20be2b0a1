"""One kept HTTP/1.1 connection: a whole request out, a whole answer in, one after the other.

An answer is complete or it is a failure; nothing half read is ever handed on. It knows bytes, not
objects, and neither who may use the connection next nor when to send again.
"""

import asyncio
import re
from typing import Final, NamedTuple, cast

_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.IGNORECASE)
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding:[^\r]*chunked", re.IGNORECASE)
_CLOSE: Final = re.compile(rb"\r\nconnection:[^\r]*close", re.IGNORECASE)
_RETRY_AFTER: Final = re.compile(rb"\r\nretry-after:[ \t]*([^\r]*)", re.IGNORECASE)
_STATUS: Final = re.compile(rb"HTTP/1\.(\d) (\d{3})[ \r]")
_END_OF_HEAD: Final = b"\r\n\r\n"
_LONGEST_HEAD: Final = 65_536
_BODILESS: Final = frozenset({204, 304})


class Answer(NamedTuple):
    """A complete answer."""

    status: int
    body: bytes
    retry_after: str | None = None


class BrokenConnectionError(ConnectionError):
    """The connection ended, or spoke nonsense, before an answer was complete.

    `was_silent` says that not a byte had come: a server may have closed it before it was used.
    """

    def __init__(self, what: str, *, was_silent: bool) -> None:
        super().__init__(what)
        self.was_silent = was_silent


class Connection(asyncio.Protocol):
    """Carries one exchange at a time; `is_open` says whether another one may follow."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._reader = AnswerReader()
        self.is_open = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        answer = self._reader.end()
        if answer is not None:
            self._settle(answer)
        else:
            self._break(str(exc or "the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        if self._waiter is None:
            # Nothing was asked, so whatever this is must not be taken for the next answer.
            self.close()
            return
        try:
            answer = self._reader.feed(data)
        except ValueError as fault:
            self._break(str(fault))
            self.close()
            return
        if answer is not None:
            if not self._reader.keeps_open:
                self.close()
            self._settle(answer)

    async def exchange(self, request: bytes) -> Answer:
        """The answer to a request; whoever is cancelled meanwhile leaves a closed connection."""
        if self._transport is None or not self.is_open:
            raise BrokenConnectionError("the connection is closed", was_silent=True)
        self._reader = AnswerReader()
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._waiter
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            self._waiter = None

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def _settle(self, answer: Answer) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(answer)

    def _break(self, what: str) -> None:
        if self._waiter is not None and not self._waiter.done():
            fault = BrokenConnectionError(what, was_silent=self._reader.is_untouched)
            self._waiter.set_exception(fault)


class AnswerReader:
    """Puts one answer together from the pieces in which it comes."""

    def __init__(self) -> None:
        self._buffer = b""
        self._head: bytes | None = None
        self._status = 0
        self._body: _Body | None = None
        self.keeps_open = True
        self.is_untouched = True

    def feed(self, data: bytes) -> Answer | None:
        """The answer, once it is whole; ValueError for what is no HTTP."""
        self.is_untouched = False
        self._buffer = self._buffer + data if self._buffer else data
        while self._body is None:
            if not self._read_head():
                return None
        is_whole, self._buffer = self._body.feed(self._buffer)
        if not is_whole:
            return None
        if self._buffer:
            raise ValueError("the server sent more than it was asked for")
        return self._answer(self._body)

    def end(self) -> Answer | None:
        """The answer whose end is the end of the connection, if this is one."""
        if self._body is None or not isinstance(self._body, _UntilEnd):
            return None
        return self._answer(self._body)

    def _read_head(self) -> bool:
        head, found, rest = self._buffer.partition(_END_OF_HEAD)
        if not found:
            if len(self._buffer) > _LONGEST_HEAD:
                raise ValueError(f"no end of the headers in {_LONGEST_HEAD} bytes")
            return False
        status = _STATUS.match(head)
        if status is None:
            raise ValueError(f"not an HTTP/1.1 answer: {head[:80]!r}")
        self._buffer = rest
        self._status = int(status[2])
        if self._status >= 200:
            self._head = head + b"\r\n"
            self.keeps_open = status[1] == b"1" and _CLOSE.search(self._head) is None
            self._body = self._body_of(self._head)
        return True

    def _body_of(self, head: bytes) -> "_Body":
        if self._status in _BODILESS:
            return _Sized(0)
        if _CHUNKED.search(head):
            return _Chunked()
        length = _LENGTH.search(head)
        if length is not None:
            return _Sized(int(length[1]))
        self.keeps_open = False
        return _UntilEnd()

    def _answer(self, body: "_Body") -> Answer:
        asked = _RETRY_AFTER.search(self._head or b"")
        return Answer(self._status, body.content(), asked[1].decode("latin-1") if asked else None)


class _Body:
    """A body in pieces: `feed` says whether it is whole and what is left over."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> tuple[bool, bytes]:
        raise NotImplementedError

    def content(self) -> bytes:
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)


class _Sized(_Body):
    def __init__(self, length: int) -> None:
        super().__init__()
        self._missing = length

    def feed(self, data: bytes) -> tuple[bool, bytes]:
        taken = data[: self._missing]
        self._pieces.append(taken)
        self._missing -= len(taken)
        return not self._missing, data[len(taken) :]


class _UntilEnd(_Body):
    def feed(self, data: bytes) -> tuple[bool, bytes]:
        self._pieces.append(data)
        return False, b""


class _Chunked(_Body):
    """Chunks with their sizes; what follows the last one is skipped to its end."""

    def __init__(self) -> None:
        super().__init__()
        self._missing = 0
        self._is_in_chunk = False
        self._is_last = False

    def feed(self, data: bytes) -> tuple[bool, bytes]:
        start = 0
        while True:
            if self._missing:
                piece = data[start : start + self._missing]
                self._pieces.append(piece)
                self._missing -= len(piece)
                start += len(piece)
            end = data.find(b"\r\n", start)
            if self._missing or end < 0:
                return False, data[start:]
            line, start = data[start:end], end + 2
            if self._is_last and not line:
                return True, data[start:]
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        """The break after a chunk, the size of the next one, or a trailer that nobody reads."""
        if self._is_last:
            return
        if self._is_in_chunk:
            if line:
                raise ValueError(f"a chunk is longer than it says: {line[:40]!r} follows it")
            self._is_in_chunk = False
            return
        self._missing = _size(line)
        self._is_last = not self._missing
        self._is_in_chunk = not self._is_last


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", digits):
        raise ValueError(f"not the size of a chunk: {line[:40]!r}")
    return int(digits, 16)
