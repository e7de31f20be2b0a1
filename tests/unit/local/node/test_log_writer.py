"""Writing and rotating container logs."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tfjob.local.node.log_writer import LogWriter


def test_rotation_keeps_a_number_of_files_and_deletes_the_oldest(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    writer = LogWriter(str(path), limit=100, keep=3)
    for number in range(6):
        writer.feed("stdout", b"x" * 40 + str(number).encode() + b"\n")
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["0.log", "0.log.1", "0.log.2"]
    assert path.read_text().endswith("5\n")
    assert (tmp_path / "0.log.1").read_text().endswith("4\n")


def test_a_line_is_stamped_with_time_and_stream(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "0.log"), limit=1000, keep=3)
    writer.feed("stderr", b"hel")
    writer.feed("stderr", b"lo\n\n")
    first, second = (tmp_path / "0.log").read_text().splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}Z stderr F hello", first)
    assert second.endswith(" stderr F ")


def test_an_unfinished_line_is_written_when_it_gets_long_or_on_request(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    writer = LogWriter(str(path), limit=1 << 20, keep=3)
    writer.feed("stderr", b"x" * 20000)
    assert " stderr P xxx" in path.read_text()
    writer.feed("stdout", b"progress")
    assert writer.has_partial()
    writer.flush_partial()
    assert path.read_text().endswith(" stdout P progress\n")
    assert not writer.has_partial()


def test_lines_of_one_stream_do_not_delay_an_unfinished_line_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    writer = LogWriter(str(tmp_path / "0.log"), limit=1 << 20, keep=3)
    assert writer.partial_seconds() is None
    writer.feed("stderr", b"\r1%")
    now = 0.4
    writer.feed("stdout", b"a whole line\n")
    now = 0.6
    assert writer.partial_seconds() == 0.6
    writer.flush_partial()
    assert writer.partial_seconds() is None


def test_a_full_disk_is_recorded_and_not_fatal() -> None:
    writer = LogWriter("/dev/full", limit=1 << 20, keep=3)
    writer.feed("stdout", b"lost\n")
    assert "No space left on device" in writer.error


@contextmanager
def full_disk(*, after: int = 0) -> Iterator[None]:
    """A disk with space for `after` bytes and for no new file."""
    free, real_write = after, os.write

    def write(handle: int, data: bytes) -> int:
        nonlocal free
        if not free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        data, free = data[:free], max(free - len(data), 0)
        return real_write(handle, data)

    def no_file(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", write)
        patch.setattr(os, "open", no_file)
        yield


@pytest.mark.parametrize("free", [0, 10, 40, 45])
def test_a_line_after_a_full_disk_is_whole(tmp_path: Path, free: int) -> None:
    path = tmp_path / "0.log"
    writer = LogWriter(str(path), limit=1 << 20, keep=3)
    with full_disk(after=free):
        writer.feed("stdout", b"some words that are lost\n")
    writer.feed("stdout", b"first\n")
    writer.feed("stdout", b"second\n")
    first, second = path.read_text().splitlines()[-2:]
    assert re.fullmatch(r"\S+Z stdout F first", first)
    assert re.fullmatch(r"\S+Z stdout F second", second)


def test_a_rotation_that_fails_loses_only_the_lines_of_that_time(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    writer = LogWriter(str(path), limit=100, keep=3)
    writer.feed("stdout", b"x" * 60 + b"\n")
    with full_disk():
        for _ in range(2):
            writer.feed("stdout", b"lost\n")
    assert "No space left on device" in writer.error
    writer.feed("stdout", b"again\n")
    assert path.read_text().endswith(" stdout F again\n")
    assert (tmp_path / "0.log.1").read_text().endswith("xx\n")
    assert not (tmp_path / "0.log.2").exists()
