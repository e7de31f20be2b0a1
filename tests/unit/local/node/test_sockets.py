"""Listening sockets of processes."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tfjob.local.node import sockets
from tfjob.local.node.sockets import Address, SocketPoller, listening, open_sockets

LISTENER = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
sys.stdin.read()
"""
ROWS = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1770 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1
   2: 0100007F:1771 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 13 1
   3: 0501A8C0:1772 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1
"""
ROWS6 = """\
  sl  local_address                         remote_address                        st
 0: 00000000000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 21
 1: 00000000000000000000000000000000:0051 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 22
 2: 0000000000000000FFFF00000100007F:0052 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 23
"""


@contextmanager
def listener_below_a_shell() -> Iterator[tuple[int, int]]:
    """A shell's process, and the port that a process below it listens on."""
    shell = subprocess.Popen(
        ["sh", "-c", '"$0" -c "$1"; true', sys.executable, LISTENER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert shell.stdout is not None
    yield shell.pid, int(shell.stdout.readline())
    shell.communicate()


def test_only_sockets_that_this_machine_can_reach_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tcp").write_text(ROWS)
    (tmp_path / "tcp6").write_text(ROWS6)
    tables = tuple(str(tmp_path / name) for name in ("tcp", "tcp6", "missing"))
    monkeypatch.setattr(sockets, "TABLES", tables)
    assert open_sockets() == {
        "11": Address("127.0.0.1", 6000),
        "12": Address("127.0.0.1", 8080),
        "21": Address("::1", 80),
        "22": Address("127.0.0.1", 81),
        "23": Address("127.0.0.1", 82),
    }


def test_an_ended_process_has_no_listening_socket() -> None:
    assert listening([2**22 + 1], {"1": Address("127.0.0.1", 1)}) == ()


async def test_a_container_is_reported_when_it_starts_and_stops_listening() -> None:
    reports: list[tuple[Address, ...]] = []
    watch = SocketPoller()
    with listener_below_a_shell() as (pid, port):
        watch.watch(pid, reports.append)
        await watch.poll()
        await watch.poll()
        assert reports == [(Address("127.0.0.1", port),)]
    await watch.poll()
    assert reports[1:] == [()]


async def test_sockets_of_other_processes_are_ignored() -> None:
    reports: list[tuple[Address, ...]] = []
    watch = SocketPoller()
    with socket.create_server(("127.0.0.1", 0)), listener_below_a_shell() as (pid, port):
        watch.watch(pid, reports.append)
        await watch.poll()
    assert reports == [(Address("127.0.0.1", port),)]


async def test_a_container_that_is_no_longer_watched_is_not_reported() -> None:
    reports: list[tuple[Address, ...]] = []
    watch = SocketPoller()
    with listener_below_a_shell() as (pid, _):
        watch.watch(pid, reports.append)
        watch.forget(pid)
        await watch.poll()
    assert reports == []
