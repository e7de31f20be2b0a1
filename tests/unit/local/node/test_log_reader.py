"""Reading the log of a container."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.patience import PATIENCE
from tfjob.local.node.log_reader import LogMissingError, LogOptions, log_file, read
from tfjob.local.node.log_writer import LogWriter


def entry(second: int, text: str, *, tag: str = "F") -> str:
    return f"2026-01-01T00:00:{second:02}.000000000Z stdout {tag} {text}\n"


def write(path: Path, *entries: str) -> None:
    path.write_text("".join(entries))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def append(path: Path, *entries: str) -> None:
    with path.open("a") as file:
        file.write("".join(entries))


def rotate(path: Path) -> None:
    path.rename(path.with_name(f"{path.name}.1"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "0.log"
    path.write_text("".join(entry(second, f"line {second}") for second in range(5)))
    return path


async def text_of(path: Path, **options: Any) -> str:
    return b"".join([chunk async for chunk in read(path, LogOptions(**options))]).decode()


async def test_all_lines_are_read_in_order(log: Path) -> None:
    assert await text_of(log) == "line 0\nline 1\nline 2\nline 3\nline 4\n"


@pytest.mark.parametrize(
    ("tail", "expected"), [(0, ""), (2, "line 3\nline 4\n"), (99, None), (-1, "")]
)
async def test_tail_gives_the_last_lines(log: Path, tail: int, expected: str | None) -> None:
    whole = await text_of(log)
    assert await text_of(log, tail_lines=tail) == (whole if expected is None else expected)


async def test_since_leaves_older_lines_out(log: Path) -> None:
    since = datetime(2026, 1, 1, 0, 0, 3, tzinfo=UTC)
    assert await text_of(log, since=since) == "line 3\nline 4\n"


async def test_each_line_starts_with_its_timestamp(log: Path) -> None:
    shown = await text_of(log, timestamps=True, tail_lines=1)
    assert shown == "2026-01-01T00:00:04.000000000Z line 4\n"


async def test_limit_cuts_at_the_byte(log: Path) -> None:
    assert await text_of(log, limit_bytes=10) == "line 0\nlin"


async def test_partial_entries_join_into_one_line(log: Path) -> None:
    write(log, entry(1, "50% ", tag="P"), entry(2, "100%"), entry(3, "end", tag="P"))
    assert await text_of(log) == "50% 100%\nend"
    assert (await text_of(log, timestamps=True)).count("2026") == 2
    assert await text_of(log, tail_lines=2) == "50% 100%\nend"


async def test_carriage_returns_do_not_break_entries(log: Path) -> None:
    write(log.with_suffix(".log.1"), entry(1, "1%\r2%"))
    assert (await text_of(log)).startswith("1%\r2%\nline 0\n")


async def test_rotated_files_are_read_before_the_current_one(log: Path) -> None:
    log.with_suffix(".log.1").write_text(entry(1, "younger"))
    log.with_suffix(".log.3").write_text(entry(1, "oldest"))
    log.with_suffix(".log.2").write_text(entry(1, "old"))
    assert (await text_of(log)).startswith("oldest\nold\nyounger\nline 0\n")


async def test_invalid_entries_are_left_out(log: Path) -> None:
    write(log, "garbage\n", entry(1, "good"), "2026 stdout F cut off")
    assert await text_of(log) == "good\n"


async def test_a_tail_reaches_into_rotated_files_as_far_as_needed(log: Path) -> None:
    write(log.with_suffix(".log.1"), *(entry(s, f"older {s}") for s in range(3)))
    write(log.with_suffix(".log.2"), *(entry(s, f"oldest {s}") for s in range(3)))
    assert await text_of(log, tail_lines=6) == "older 2\n" + await text_of(log, tail_lines=5)
    assert (await text_of(log, tail_lines=9)).splitlines()[0] == "oldest 2"
    assert (await text_of(log, tail_lines=99)).splitlines()[0] == "oldest 0"


async def test_a_tail_keeps_pieces_of_one_line_together(log: Path) -> None:
    pieces = [entry(1, f"{n} ", tag="P") for n in range(9)]
    write(log, entry(0, "before"), *pieces, entry(2, "9"))
    assert await text_of(log, tail_lines=1) == "0 1 2 3 4 5 6 7 8 9\n"


class Reader:
    """Follows a log and collects its lines."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.text = ""
        chunks = read(path, LogOptions(follow=True, **options), poll=0.001)
        self.task = asyncio.create_task(self._collect(chunks))

    async def _collect(self, chunks: AsyncIterator[bytes]) -> None:
        async for chunk in chunks:
            self.text += chunk.decode()

    async def until(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not self.text.endswith(text):
            assert time.monotonic() < deadline, f"{text!r} never came, only {self.text!r}"
            await asyncio.sleep(0.001)


async def test_following_shows_new_lines_until_the_container_has_ended(log: Path) -> None:
    reader = Reader(log, tail_lines=1)
    await reader.until("line 4\n")
    append(log, entry(6, "fresh"))
    await reader.until("fresh\n")
    append(log, entry(7, "last"))
    log.with_suffix(".exit").touch()
    await reader.task
    assert reader.text == "line 4\nfresh\nlast\n"


async def test_following_survives_rotation(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    writer = LogWriter(str(path), limit=200, keep=3)
    writer.feed("stdout", b"first\n")
    reader = Reader(path)
    for number in range(20):
        writer.feed("stdout", f"line {number}\n".encode())
        await reader.until(f"line {number}\n")
    path.with_suffix(".exit").touch()
    await reader.task
    assert reader.text.splitlines() == ["first", *(f"line {number}" for number in range(20))]
    assert names(tmp_path) == ["0.exit", "0.log", "0.log.1", "0.log.2"]


async def test_following_reads_every_file_that_was_rotated_between_two_polls(
    tmp_path: Path,
) -> None:
    path = tmp_path / "0.log"
    writer = LogWriter(str(path), limit=100, keep=5)
    writer.feed("stdout", b"first\n")
    reader = Reader(path)
    await reader.until("first\n")
    for number in range(8):  # two lines fit into a file, and nothing is read meanwhile
        writer.feed("stdout", f"line {number}\n".encode())
    assert len(names(tmp_path)) == 5
    path.with_suffix(".exit").touch()
    await reader.task
    assert reader.text.splitlines() == ["first", *(f"line {number}" for number in range(8))]


async def test_following_continues_with_the_oldest_file_if_its_own_is_deleted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "0.log"
    writer = LogWriter(str(path), limit=100, keep=3)
    writer.feed("stdout", b"first\n")
    reader = Reader(path)
    await reader.until("first\n")
    for number in range(20):
        writer.feed("stdout", f"line {number}\n".encode())
    kept = [
        line.split(" F ")[1]
        for each in (".log.2", ".log.1", ".log")
        for line in path.with_suffix(each).read_text().splitlines()
    ]
    path.with_suffix(".exit").touch()
    await reader.task
    shown = reader.text.splitlines()
    assert shown[-len(kept) :] == kept
    assert shown[0] == "first"


async def test_a_torn_entry_is_not_joined_with_the_file_after_it(log: Path) -> None:
    reader = Reader(log, tail_lines=1)
    await reader.until("line 4\n")
    append(log, entry(6, "torn").removesuffix("\n"))
    rotate(log)
    write(log, entry(7, "first of the next"))
    log.with_suffix(".exit").touch()
    await reader.task
    assert reader.text == "line 4\ntorn\nfirst of the next\n"


async def test_following_ends_at_the_limit(log: Path) -> None:
    reader = Reader(log, limit_bytes=38)
    append(log, entry(6, "fresh"))
    await reader.task
    assert reader.text == "line 0\nline 1\nline 2\nline 3\nline 4\nfre"


def test_the_latest_run_is_shown_or_the_previous_one_on_request(tmp_path: Path) -> None:
    for number in (2, 9, 10):
        (tmp_path / f"{number}.log").touch()
    assert log_file(tmp_path).name == "10.log"
    assert log_file(tmp_path, previous=True).name == "9.log"


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogMissingError, match="has written no log"):
        log_file(tmp_path / "c")
    (tmp_path / "0.log").touch()
    with pytest.raises(LogMissingError, match="previous terminated container"):
        log_file(tmp_path, previous=True)
