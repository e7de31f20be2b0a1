"""Reads container logs for `kubectl logs`.

Lines come in the order they were written, across rotated files. An unfinished line is shown as far
as it goes. Following ends when the container has exited and everything was read. The format of a
line is `<time> <stream> F|P <text>`.
"""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import msgspec

from tfjob.k8s import time

BLOCK = 1 << 16


class LogMissingError(LookupError):
    """The log does not exist."""


class LogOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a log request; `since` is absolute, also if seconds were given."""

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
    """The log of the container's current run, or of the previous one."""
    numbers = sorted(int(path.stem) for path in folder.glob("*.log") if path.stem.isdigit())
    if previous:
        numbers = numbers[:-1]
    if not numbers:
        which = "previous terminated container" if previous else "container"
        raise LogMissingError(f'{which} "{folder.name}" has written no log on this node')
    return folder / f"{numbers[-1]}.log"


async def read(path: Path, options: LogOptions, *, poll: float = 0.1) -> AsyncIterator[bytes]:
    """The requested part of the log, in chunks."""
    out, position = _Output(options), _Position()
    try:
        async for lines in _lines(path, position, options, poll=poll):
            text = out.text(lines)
            if text:
                yield text
            if out.is_full():
                return
    finally:
        position.close()


class _Output:
    """Formats entries, up to the byte limit."""

    def __init__(self, options: LogOptions) -> None:
        self._options = options
        self._left = options.limit_bytes
        self._tail = options.tail_lines
        self._in_line = False

    def is_full(self) -> bool:
        return self._left is not None and self._left <= 0

    def text(self, lines: Iterable[bytes]) -> bytes:
        """The requested text of some lines."""
        entries = (_parse(line) for line in lines)
        text = b"".join(self._shown(one) for one in entries if one and self._is_recent(one))
        if self._tail is not None:
            text, self._tail = (
                _tail(text, self._tail),
                None,
            )  # only what existed at the start counts
        if self._left is None:
            return text
        kept = text[: max(self._left, 0)]
        self._left -= len(kept)
        return kept

    def _shown(self, entry: _Entry) -> bytes:
        stamp = entry.stamp + b" " if self._options.timestamps and not self._in_line else b""
        self._in_line = not entry.is_whole
        return stamp + entry.text + (b"\n" if entry.is_whole else b"")

    def _is_recent(self, entry: _Entry) -> bool:
        if self._options.since is None:
            return True
        moment = time.parse(entry.stamp.decode("ascii", "replace"))
        return moment is None or moment >= self._options.since


class _Position:
    """An open file and its offset; the file may have been renamed."""

    def __init__(self) -> None:
        self.file: BinaryIO | None = None
        self.rest = b""

    def move_on(self, files: Sequence[BinaryIO]) -> None:
        """Go on with the file written after this one, or the oldest if this one is deleted."""
        assert self.file is not None  # noqa: S101 - opened by the caller
        inodes = [_inode(each) for each in files]
        own = inodes.index(_inode(self.file)) if _inode(self.file) in inodes else len(files)
        chosen = max(own - 1, 0)
        for place, each in enumerate(files):
            if place != chosen:
                each.close()
        if files:
            self.file.close()
            self.file = files[chosen]

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


def _tail(text: bytes, count: int) -> bytes:
    """The last lines of a text; an unfinished one counts."""
    if count <= 0:
        return b""
    is_finished = text.endswith(b"\n")
    return b"\n".join(text.split(b"\n")[-count - is_finished :])


def _open_files(path: Path) -> list[BinaryIO]:
    """The log and its rotated files, newest first.

    They are opened in this order because a rotation moves every file one place back. If one happens
    meanwhile, a file may be met twice, but none is skipped.
    """
    found: dict[int, BinaryIO] = {}
    number = 0
    while True:
        name = path.with_name(f"{path.name}.{number}") if number else path
        try:
            file = name.open("rb")
        except FileNotFoundError:
            if number:  # the log itself is missing for a moment while it is rotated
                return list(found.values())
        else:
            if found.setdefault(_inode(file), file) is not file:
                file.close()
        number += 1


def _inode(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_ino


def _stored(path: Path, position: _Position, *, tail: int | None) -> Iterator[list[bytes]]:
    """The lines that exist now, oldest first; in one chunk if only the last are requested."""
    with ExitStack() as opened:
        files = [opened.enter_context(each) for each in _open_files(path)]
        if not files:
            raise LogMissingError(f"{path.name}: the log is gone")
        position.file = os.fdopen(os.dup(files[0].fileno()), "rb")
        if tail is not None:
            yield _recent(position, files[1:], count=max(tail, 0))
            return
        for old in reversed(files[1:]):
            yield old.read().split(b"\n")
        yield from _blocks(position)


def _recent(position: _Position, older: Sequence[BinaryIO], *, count: int) -> list[bytes]:
    """Lines from the end with `count` finished entries; leaves the position at the end."""
    assert position.file is not None  # noqa: S101 - opened by the caller
    newest, _, position.rest = position.file.read().rpartition(b"\n")
    found, left = _last_entries(newest, count)
    for old in older:
        if left < 0:
            break
        more, left = _last_entries(old.read().rstrip(b"\n"), left)
        found = more + found
    return found


def _last_entries(block: bytes, count: int) -> tuple[list[bytes], int]:
    """Lines from the end with up to `count` entries, and how many are missing (-1: none)."""
    found: deque[bytes] = deque()
    end = len(block)
    while end > 0:
        start = block.rfind(b"\n", 0, end) + 1
        entry = _parse(block[start:end])
        if entry is not None and entry.is_whole:
            count -= 1
            if count < 0:
                break
        found.appendleft(block[start:end])
        end = start - 1
    return list(found), count


def _blocks(position: _Position) -> Iterator[list[bytes]]:
    assert position.file is not None  # noqa: S101 - opened by the caller
    while data := position.file.read(BLOCK):
        *lines, position.rest = (position.rest + data).split(b"\n")
        yield lines


async def _lines(
    path: Path, position: _Position, options: LogOptions, *, poll: float
) -> AsyncIterator[list[bytes]]:
    for lines in _stored(path, position, tail=options.tail_lines):
        yield lines
        await asyncio.sleep(0)  # a long log must not block other readers
    if options.follow:
        async for lines in _follow(path, position, poll=poll):
            yield lines


async def _follow(path: Path, position: _Position, *, poll: float) -> AsyncIterator[list[bytes]]:
    ended = path.with_suffix(".exit")
    while True:
        # Both are checked before reading, so that nothing written until then is missed.
        is_over = ended.exists() or not path.parent.exists()
        is_rotated = _was_rotated(path, position)
        for lines in _blocks(position):
            yield lines
        if is_rotated:
            # An entry that was torn, as by a full disk, is continued by no other file.
            torn, position.rest = position.rest, b""
            if torn:
                yield [torn]
            position.move_on(_open_files(path))
        elif is_over:
            return
        else:
            await asyncio.sleep(poll)


def _was_rotated(path: Path, position: _Position) -> bool:
    assert position.file is not None  # noqa: S101 - opened by the caller
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
    """The end of a log, sized for a termination message."""
    position, out = _Position(), _Output(LogOptions(tail_lines=lines))
    try:
        return b"".join(out.text(one) for one in _stored(path, position, tail=lines))[-size:]
    except LogMissingError:
        return b""
    finally:
        position.close()
