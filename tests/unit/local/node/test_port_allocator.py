"""Local ports of pods."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tfjob.local.node.port_allocator import (
    NoPortError,
    PortAllocator,
    PortLocks,
    first_ephemeral_port,
    is_port_free,
)


@pytest.fixture
def locks(tmp_path: Path) -> Iterator[PortLocks]:
    held = PortLocks(tmp_path / "locks")
    yield held
    held.close()


def table(
    folder: Path, locks: PortLocks, *busy: int, ports: range = range(100, 104)
) -> PortAllocator:
    return PortAllocator(
        folder / "ports.json", locks=locks, is_free=lambda port: port not in busy, ports=ports
    )


def test_a_name_keeps_its_port_also_after_a_restart(tmp_path: Path, locks: PortLocks) -> None:
    port = table(tmp_path, locks).claim("ns", ["w0"], 2222)
    assert table(tmp_path, locks).claim("ns", ["w0"], 2222) == port


@pytest.mark.scenario("R48")
def test_different_pods_get_different_ports(tmp_path: Path, locks: PortLocks) -> None:
    ports = table(tmp_path, locks)
    claimed = [
        ports.claim(namespace, [name], 2222)
        for namespace, name in [("ns", "w0"), ("ns", "w1"), ("other", "w0")]
    ]
    assert claimed == [100, 101, 102]


def test_the_declared_port_is_used_if_it_is_free(tmp_path: Path, locks: PortLocks) -> None:
    ports = table(tmp_path, locks)
    assert ports.claim("ns", ["tb"], 60) == 60
    assert ports.claim("ns", ["tb2"], 60) == 100


def test_all_names_of_a_pod_share_its_port(tmp_path: Path, locks: PortLocks) -> None:
    ports = table(tmp_path, locks)
    asked_by_a_peer = ports.claim("ns", ["service"], 2222)
    assert ports.claim("ns", ["pod", "service"], 2222) == asked_by_a_peer
    assert ports.claim("ns", ["pod"], 2222) == asked_by_a_peer


def test_a_port_in_use_is_skipped(tmp_path: Path, locks: PortLocks) -> None:
    assert table(tmp_path, locks, 100, 101).claim("ns", ["w0"], 2222) == 102


def test_a_starting_pod_gives_up_a_port_that_another_program_uses(
    tmp_path: Path, locks: PortLocks
) -> None:
    assert table(tmp_path, locks).renew("ns", ["w0"], 2222) == 100
    later = table(tmp_path, locks, 100)
    assert later.claim("ns", ["w0"], 2222) == 100
    assert later.renew("ns", ["w0"], 2222) == 101
    assert later.claim("ns", ["w0"], 2222) == 101


def test_a_lack_of_free_ports_is_reported(tmp_path: Path, locks: PortLocks) -> None:
    ports = table(tmp_path, locks, *range(100, 104))
    with pytest.raises(NoPortError, match="no free port is left in 100-103"):
        ports.claim("ns", ["w0"], 2222)


def test_an_unreadable_table_is_replaced(tmp_path: Path, locks: PortLocks) -> None:
    (tmp_path / "ports.json").write_text("{")
    assert table(tmp_path, locks).claim("ns", ["w0"], 2222) == 100


HOLDER = """
import sys
from pathlib import Path
from tfjob.local.node.port_allocator import PortLocks
locks = PortLocks(Path(sys.argv[1]))
print(locks.hold(100), flush=True)
sys.stdin.read()
"""


def test_another_process_does_not_get_the_same_port(tmp_path: Path, locks: PortLocks) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "locks")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert table(tmp_path, locks).claim("ns", ["w0"], 2222) == 101
        other.kill()
    assert table(tmp_path, locks).claim("ns", ["w1"], 2222) == 100


def test_a_port_with_a_listener_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_port_free(port)
    assert is_port_free(port)


def test_the_ephemeral_range_begins_above_the_range_of_pods() -> None:
    assert first_ephemeral_port() > 1024
