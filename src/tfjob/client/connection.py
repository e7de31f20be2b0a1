"""One keep-alive HTTP/1.1 connection that carries one request and response at a time.

A response is either complete or an error; partial responses are never returned, and responses that
are too long are not read to their end. Connections are shared by the pool and requests retried by
the transport.
"""

import asyncio
import re
from typing import Final, NamedTuple, cast

# Searched in a head in lower case, which is several times as fast as ignoring the case.
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n")
_CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding:[^\r]*chunked")
_CLOSE: Final = re.compile(rb"\r\nconnection:[^\r]*close")
_RETRY_AFTER: Final = re.compile(rb"\r\nretry-after:[ \t]*([^\r]*)", re.IGNORECASE)
_STATUS: Final = re.compile(rb"HTTP/1\.(\d) (\d{3})[ \r]")
_END_OF_HEAD: Final = b"\r\n\r\n"
_MAX_HEAD: Final = 65_536
MAX_BYTES: Final = 256 * 1024 * 1024
"""Of a body, unless the request allows less. A page of 500 objects, each as large as etcd takes,
would be larger; real ones are far smaller."""
_BODILESS: Final = frozenset({204, 304})
_BUFFER_SIZE: Final = 16_384
"""As large as a TLS record. Without its own buffer, each read briefly allocates 256 kB."""


class Response(NamedTuple):
    """A complete response. `retry_after` is the header of a response that is not a success."""

    status: int
    body: bytes
    retry_after: str | None = None


class BrokenConnectionError(ConnectionError):
    """The connection ended, or sent invalid data, before the response was complete.

    `was_silent` means that no byte was received: the server may have closed an idle connection.
    """

    def __init__(self, what: str, *, was_silent: bool) -> None:
        super().__init__(what)
        self.was_silent = was_silent


class Connection(asyncio.BufferedProtocol):
    """Carries one exchange at a time; `is_open` says whether it can be used again."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        # Looking up the running loop costs a system call on Python 3.11.
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[Response] | None = None
        self._reader = ResponseReader()
        self._buffer = memoryview(bytearray(_BUFFER_SIZE))
        self.is_open = False
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        # A closed TLS transport still refers to this connection. As a cycle, both would keep their
        # buffers until the next full garbage collection, which may be hours away.
        self._transport = None
        # A response that ends with the connection is complete only if the server closed it.
        response = self._reader.end() if exc is None else None
        if response is not None:
            self._resolve(response)
        else:
            self._fail(str(exc or "the server closed the connection"))

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._waiter is None:
            # Data without a request must not be taken for the next response.
            self.close()
            return
        try:
            response = self._reader.feed(bytes(self._buffer[:nbytes]))
        except ValueError as fault:
            self._fail(str(fault))
            self.close()
            return
        if response is not None:
            if not self._reader.keeps_open:
                self.close()
            self._resolve(response)

    async def exchange(
        self, request: bytes, *, deadline: float | None = None, max_bytes: int = MAX_BYTES
    ) -> Response:
        """Send a request and return the response. Cancellation closes the connection, and so does
        the deadline, a time of the event loop, with a TimeoutError."""
        if self._transport is None or not self.is_open:
            raise BrokenConnectionError("the connection is closed", was_silent=True)
        self._reader = ResponseReader(max_bytes)
        self._waiter = self._loop.create_future()
        # A plain timer: `asyncio.timeout` costs several times as much, for every request.
        timer = None if deadline is None else self._loop.call_at(deadline, self._expire)
        self._transport.write(request)
        try:
            return await self._waiter
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()

    def close(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def _expire(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(TimeoutError("no response in time"))
            self.close()

    def _resolve(self, response: Response) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(response)

    def _fail(self, what: str) -> None:
        if self._waiter is not None and not self._waiter.done():
            fault = BrokenConnectionError(what, was_silent=self._reader.is_untouched)
            self._waiter.set_exception(fault)


class ResponseReader:
    """Parses one response incrementally. It takes at most `max_bytes` of a body."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._received = 0
        self._buffer = b""
        self._head = b""
        self._status = 0
        self._body: _Body | None = None
        self.keeps_open = True
        self.is_untouched = True

    def feed(self, data: bytes) -> Response | None:
        """The response once it is complete; raises ValueError if it is invalid or too long."""
        self.is_untouched = False
        self._received += len(data)
        if self._received > self._max_bytes + _MAX_HEAD:
            raise too_long(self._max_bytes)
        self._buffer = self._buffer + data if self._buffer else data
        while self._body is None:
            if not self._read_head():
                return None
        is_whole, self._buffer = self._body.feed(self._buffer)
        if not is_whole:
            return None
        if self._buffer:
            raise ValueError("the server sent data after the end of the response")
        return self._response(self._body)

    def end(self) -> Response | None:
        """The response, if it is one that ends with the connection."""
        if self._body is None or not isinstance(self._body, _UntilEnd):
            return None
        return self._response(self._body)

    def _read_head(self) -> bool:
        head, found, rest = self._buffer.partition(_END_OF_HEAD)
        if not found:
            if len(self._buffer) > _MAX_HEAD:
                raise ValueError(f"headers are longer than {_MAX_HEAD} bytes")
            return False
        status = _STATUS.match(head)
        if status is None:
            raise ValueError(f"not an HTTP/1.1 response: {head[:80]!r}")
        self._buffer = rest
        self._status = int(status[2])
        if self._status >= 200:
            self._head = head
            lowered = head.lower() + b"\r\n"
            self.keeps_open = status[1] == b"1" and _CLOSE.search(lowered) is None
            self._body = self._body_of(lowered)
        return True

    def _body_of(self, head: bytes) -> "_Body":
        if self._status in _BODILESS:
            return _Sized(0)
        if _CHUNKED.search(head):
            return _Chunked()
        length = _LENGTH.search(head)
        if length is not None:
            if int(length[1]) > self._max_bytes:
                raise too_long(self._max_bytes)
            return _Sized(int(length[1]))
        self.keeps_open = False
        return _UntilEnd()

    def _response(self, body: "_Body") -> Response:
        found = None if self._status < 300 else _RETRY_AFTER.search(self._head)
        retry_after = None if found is None else found[1].decode("latin-1")
        return Response(self._status, body.content(), retry_after)


def too_long(max_bytes: int) -> ValueError:
    return ValueError(f"the response is longer than {max_bytes} bytes")


class _Body:
    """A body that is read incrementally: `feed` returns whether it is complete, and the rest."""

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
    """A body in chunked encoding; trailers are skipped."""

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
        """Handle the line break after a chunk, the size of the next one, or a trailer."""
        if self._is_last:
            return
        if self._is_in_chunk:
            if line:
                raise ValueError(f"a chunk is longer than its size: {line[:40]!r} follows it")
            self._is_in_chunk = False
            return
        self._missing = _size(line)
        self._is_last = not self._missing
        self._is_in_chunk = not self._is_last


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", digits):
        raise ValueError(f"not a chunk size: {line[:40]!r}")
    return int(digits, 16)
