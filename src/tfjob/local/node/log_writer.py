"""Writes container output line by line into files of bounded size.

A full disk loses lines and nothing else; rotation keeps lines whole. Every supervisor process
imports this module, so it uses only cheap parts of the standard library.
"""

import os
import time

PARTIAL_LIMIT = 16 * 1024


def stamp() -> str:
    """The current time as logs carry it: RFC 3339 with nanoseconds, UTC."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{nanoseconds:09d}Z"


class LogWriter:
    """Writes entries `<time> <stream> F|P <text>`, rotated by size."""

    def __init__(self, path: str, *, limit: int, keep: int) -> None:
        self._path, self._limit, self._keep = path, limit, keep
        self._partial = {"stdout": b"", "stderr": b""}
        self._partial_since = 0.0
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._size = os.fstat(self._fd).st_size
        self._is_torn = False
        self.error = ""

    def feed(self, stream: str, data: bytes) -> None:
        *lines, rest = (self._partial[stream] + data).split(b"\n")
        head = f"{stamp()} {stream} ".encode()
        entries = b"".join(head + b"F " + line + b"\n" for line in lines)
        if len(rest) >= PARTIAL_LIMIT:
            entries, rest = entries + head + b"P " + rest + b"\n", b""
        if not self.has_partial():
            self._partial_since = time.monotonic()
        self._partial[stream] = rest
        self._write(entries)

    def flush_partial(self) -> None:
        """Write unfinished lines, so that a progress bar is visible while it moves."""
        for stream, rest in self._partial.items():
            if rest:
                self._partial[stream] = b""
                self._write(f"{stamp()} {stream} P ".encode() + rest + b"\n")

    def has_partial(self) -> bool:
        return any(self._partial.values())

    def partial_seconds(self) -> float | None:
        """How long the oldest unfinished line has waited; None if there is none."""
        return time.monotonic() - self._partial_since if self.has_partial() else None

    def _write(self, entries: bytes) -> None:
        if not entries:
            return
        try:
            if self._size and self._size + len(entries) > self._limit:
                self._rotate()
            if self._is_torn:
                entries = b"\n" + entries  # keeps this entry apart from the part of an earlier one
            while entries:
                written = os.write(self._fd, entries)
                self._size += written
                self._is_torn = entries[written - 1 : written] != b"\n"
                entries = entries[written:]
        except OSError as error:
            self.error = f"log lines were lost: {self._path}: {error.strerror}"

    def _rotate(self) -> None:
        """Begin a new file; after an error the old one stays in use until this succeeds."""
        if os.path.exists(self._path):  # noqa: PTH110 - plain strings keep this start-up cheap
            self._move_back()
        new = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.close(self._fd)
        self._fd, self._size, self._is_torn = new, 0, False

    def _move_back(self) -> None:
        for number in range(self._keep - 2, 0, -1):
            older = f"{self._path}.{number}"
            if os.path.exists(older):  # noqa: PTH110 - as above
                os.replace(older, f"{self._path}.{number + 1}")  # noqa: PTH105 - as above
        os.replace(self._path, f"{self._path}.1")  # noqa: PTH105 - as above
