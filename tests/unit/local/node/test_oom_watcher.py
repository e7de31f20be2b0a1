"""Memory limits of containers."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tfjob.local.node.oom_watcher import OomWatcher, memory_of, memory_upper_bound

MIB = 1 << 20
HOG = """
import os, sys
block = bytearray(b"x" * (40 << 20))
pid = os.fork()
if pid: print(pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def hog_below_a_shell() -> Iterator[tuple[int, int, int]]:
    """A shell, below it a process with 40 MiB, and below that a fork that shares them."""
    shell = subprocess.Popen(
        ["sh", "-c", '"$0" -c "$1"; true', sys.executable, HOG],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert shell.stdout is not None
    fork = int(shell.stdout.readline())
    with open(f"/proc/{fork}/stat") as stat:  # noqa: PTH123 - one short read
        parent = int(stat.read().rpartition(")")[2].split()[1])
    yield shell.pid, parent, fork
    shell.communicate()


def test_shared_pages_count_once() -> None:
    with hog_below_a_shell() as (_, parent, fork):
        assert memory_upper_bound([parent, fork]) > 80 * MIB
        assert 40 * MIB < memory_of([parent, fork]) < 75 * MIB


async def test_a_container_beyond_its_limit_is_reported_once() -> None:
    reports = []
    with hog_below_a_shell() as (shell, _, _):
        watch = OomWatcher()
        watch.watch(shell, limit=30 * MIB, on_exceeded=lambda: reports.append("too much"))
        await watch.poll()
        await watch.poll()
    assert reports == ["too much"]


async def test_a_container_within_its_limit_is_left_alone() -> None:
    reports = []
    with hog_below_a_shell() as (shell, _, _):
        watch = OomWatcher()
        watch.watch(shell, limit=75 * MIB, on_exceeded=lambda: reports.append("too much"))
        await watch.poll()
        watch.forget(shell)
        watch.watch(shell, limit=1, on_exceeded=lambda: reports.append("forgotten"))
        watch.forget(shell)
        await watch.poll()
    assert reports == []


def test_ended_processes_use_no_memory() -> None:
    assert memory_of([2**22 + os.getpid()]) == 0
