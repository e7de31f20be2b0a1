"""Containers that do nothing are found by their output and their CPU time."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tfjob.local.node.idle_watcher import DEFAULT_SECONDS, IDLE_AFTER, IdleWatcher, idle_after

NOW = datetime(2026, 1, 2, tzinfo=UTC)
AFTER = 60.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
SUPERVISOR = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
SLEEPS = "import time; print('ready', flush=True); time.sleep(600)"
SPINS = "print('ready', flush=True)\nwhile True: pass"


class Watch:
    """A watcher whose clock the test moves."""

    def __init__(self, log: Path) -> None:
        self.now = NOW
        self.log = log
        self.reported: list[datetime | None] = []
        self.watcher = IdleWatcher(clock=lambda: self.now)

    def watch(self, pid: int, after: float = AFTER) -> None:
        self.watcher.watch(pid, log=self.log, after=after, on_change=self.reported.append)

    async def later(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        await self.watcher.poll()


@contextmanager
def supervised(program: str) -> Iterator[int]:
    """The process above a program that has started."""
    with subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR, program], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(tmp_path / "0.log")


async def test_a_sleeping_process_is_reported_as_idle_once_after_its_time(watch: Watch) -> None:
    with supervised(SLEEPS) as pid:
        watch.watch(pid)
        await watch.later(0)
        await watch.later(AFTER - 1)
        assert watch.reported == []
        await watch.later(1)
        await watch.later(100)
        assert watch.reported == [NOW]


async def test_output_ends_idleness(watch: Watch) -> None:
    with supervised(SLEEPS) as pid:
        watch.watch(pid)
        await watch.later(0)
        await watch.later(AFTER)
        watch.log.write_text("step 1\n")
        await watch.later(10)
        assert watch.reported == [NOW, None]
        await watch.later(AFTER)
        assert watch.reported == [NOW, None, NOW + timedelta(seconds=AFTER + 10)]


async def test_a_process_that_computes_is_not_idle(watch: Watch) -> None:
    with supervised(SPINS) as pid:
        watch.watch(pid)
        await watch.later(0)
        before = watch.watcher._watched[pid].then
        while watch.watcher._watched[pid].then == before:
            await asyncio.sleep(0.05)
            await watch.later(0)
        assert watch.reported == []


async def test_a_process_that_is_no_longer_watched_is_not_reported(watch: Watch) -> None:
    with supervised(SLEEPS) as pid:
        watch.watch(pid, after=0)
        await watch.later(0)
        watch.watch(pid)
        await watch.later(0)
        watch.watcher.forget(pid)
        await watch.later(1000)
        assert watch.reported == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30.0), ("0", 0.0), ("", DEFAULT_SECONDS), ("-1", DEFAULT_SECONDS), ("9" * 400, 600.0)],
)
def test_a_pod_can_set_its_idle_time(text: str, seconds: float) -> None:
    assert idle_after({"metadata": {"annotations": {IDLE_AFTER: text}}}) == seconds
    assert idle_after({"metadata": {}}) == DEFAULT_SECONDS
