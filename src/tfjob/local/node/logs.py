"""Reads what a container wrote, as `kubectl logs` asks for it.

Its law: lines come in the order they were written, across rotated files; a line that is not
finished yet is shown as far as it goes; following ends when the container has ended and all of it
was read. It must not know who writes the files, only their form: `<time> <stream> F|P <text>`.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from tfjob.k8s import time


class LogMissingError(LookupError):
    """There is no such log."""


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What of the log is wanted; `since` is a moment, also when seconds were asked for."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since: datetime | None = None
    limit_bytes: int | None = None


class _Entry(msgspec.Struct, frozen=True):
    stamp: bytes
    is_whole: bool
    text: bytes


def log_file(folder: Path, *, previous: bool = False) -> Path:
    """The log of a container's latest run, or of the run before."""
    numbers = sorted(int(path.stem) for path in folder.glob("*.log") if path.stem.isdigit())
    if previous:
        numbers = numbers[:-1]
    if not numbers:
        which = "previous terminated container" if previous else "container"
        raise LogMissingError(f'{which} "{folder.name}" has written no log on this node')
    return folder / f"{numbers[-1]}.log"


async def read(path: Path, options: LogOptions, *, poll: float = 0.1) -> AsyncIterator[bytes]:
    """The wanted part of the log, in chunks."""
    out = _Output(options)
    try:
        for chunk in out.limited(_tail(out, path, options)):
            yield chunk
        if not options.follow or out.is_full():
            return
        async for line in _follow(path, out.position, poll=poll):
            for chunk in out.limited(out.entry(line)):
                yield chunk
            if out.is_full():
                return
    finally:
        out.position.close()


class _Output:
    """Turns entries into what the reader sees, up to the limit of bytes."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._left = options.limit_bytes
        self._in_line = False
        self.position = _Position()

    def is_full(self) -> bool:
        return self._left is not None and self._left <= 0

    def limited(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if self.is_full():
                return
            kept = chunk if self._left is None else chunk[: self._left]
            if self._left is not None:
                self._left -= len(kept)
            yield kept

    def entry(self, line: bytes) -> Iterator[bytes]:
        """The text of one line of the file, if it is wanted."""
        entry = _parse(line)
        if entry is None or not self._is_recent(entry):
            return
        stamp = entry.stamp + b" " if self._options.timestamps and not self._in_line else b""
        self._in_line = not entry.is_whole
        yield stamp + entry.text + (b"\n" if entry.is_whole else b"")

    def _is_recent(self, entry: _Entry) -> bool:
        if self._options.since is None:
            return True
        moment = time.parse(entry.stamp.decode("ascii", "replace"))
        return moment is None or moment >= self._options.since


class _Position:
    """An open file and how far it was read; the file may have been renamed meanwhile."""

    def __init__(self) -> None:
        self.file: BinaryIO | None = None
        self.rest = b""

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def _tail(out: _Output, path: Path, options: LogOptions) -> Iterator[bytes]:
    pieces = (piece for line in _stored(path, out.position) for piece in out.entry(line))
    if options.tail_lines is None:
        yield from pieces
        return
    kept: deque[bytes] = deque(maxlen=max(options.tail_lines, 0))
    line = b""
    for piece in pieces:
        line += piece
        if line.endswith(b"\n"):
            kept.append(line)
            line = b""
    if line:
        kept.append(line)
    yield from kept


def _stored(path: Path, position: _Position) -> Iterator[bytes]:
    """All whole lines that are there now, oldest file first; the newest file stays open."""
    older = sorted(path.parent.glob(f"{path.name}.*"), key=lambda one: -_number(one))
    for old in older:
        if _number(old) > 0:
            yield from old.read_bytes().split(b"\n")
    try:
        position.file = path.open("rb")
    except FileNotFoundError as missing:
        raise LogMissingError(f"{path.name}: the log is gone") from missing
    yield from _whole_lines(position)


def _number(path: Path) -> int:
    suffix = path.suffix.removeprefix(".")
    return int(suffix) if suffix.isdigit() else 0


def _whole_lines(position: _Position) -> Iterator[bytes]:
    assert position.file is not None  # noqa: S101 - opened before anybody asks
    while data := position.file.read(1 << 16):
        *lines, position.rest = (position.rest + data).split(b"\n")
        yield from lines


async def _follow(path: Path, position: _Position, *, poll: float) -> AsyncIterator[bytes]:
    ended = path.with_suffix(".exit")
    while True:
        # Both asked before reading: what was written until then is then read for certain.
        is_over = ended.exists() or not path.parent.exists()
        is_rotated = _was_rotated(path, position)
        for line in _whole_lines(position):
            yield line
        if is_rotated:
            position.close()
            position.file = path.open("rb")
        elif is_over:
            return
        else:
            await asyncio.sleep(poll)


def _was_rotated(path: Path, position: _Position) -> bool:
    assert position.file is not None  # noqa: S101 - opened before anybody follows
    try:
        return os.stat(path).st_ino != os.fstat(position.file.fileno()).st_ino  # noqa: PTH116 - pair
    except FileNotFoundError:
        return False


def _parse(line: bytes) -> _Entry | None:
    stamp, _, rest = line.partition(b" ")
    _, _, rest = rest.partition(b" ")
    tag, _, text = rest.partition(b" ")
    if tag not in (b"F", b"P"):
        return None
    return _Entry(stamp, tag == b"F", text)


def last_lines(path: Path, *, lines: int = 80, size: int = 2048) -> bytes:
    """The end of a log as a termination message carries it."""
    out = _Output(LogOptions())
    try:
        text = b"".join(_tail(out, path, LogOptions(tail_lines=lines)))
    except LogMissingError:
        return b""
    finally:
        out.position.close()
    return text[-size:]
