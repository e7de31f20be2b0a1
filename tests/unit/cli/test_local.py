import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Command


@pytest.fixture
def up(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A cluster on `tmp_path/data`, in a separate process."""
    words = [sys.executable, "-m", "tfjob.cli.main", "local", "up", "--data"]
    with subprocess.Popen(
        [*words, str(tmp_path / "data")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first, *_, last = [process.stdout.readline() for _ in range(4)]
        assert first.startswith("tfjob local: up at https://127.0.0.1:")
        assert last == f"  stop it with Ctrl-C or `tfjob local down --data {tmp_path}/data`\n"
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate()


def test_a_running_cluster_is_found_rejects_a_second_one_and_is_shut_down(
    tmp_path: Path, up: "subprocess.Popen[str]", command: Command
) -> None:
    data = str(tmp_path / "data")
    status = command("local", "status", "--data", data)
    assert status.code == 0
    assert f"(process {up.pid})" in status.out
    assert f"export KUBECONFIG={data}/kubeconfig" in status.out
    assert "0 jobs, 0 unfinished" in status.out
    second = command("local", "up", "--data", data)
    assert second.code == 1
    assert f"a cluster already runs on this folder (process {up.pid})" in second.err
    assert command("local", "down", "--data", data) == (0, "tfjob local: down\n", "")
    assert up.wait(20) == 0


def test_a_folder_without_a_cluster_is_reported(tmp_path: Path, command: Command) -> None:
    sentence = f"tfjob local: no cluster is up on {tmp_path}\n"
    assert command("local", "status", "--data", str(tmp_path)) == (1, sentence, "")
    assert command("local", "down", "--data", str(tmp_path)) == (0, sentence, "")


def test_unreadable_data_is_reported_in_one_sentence(tmp_path: Path, command: Command) -> None:
    path = tmp_path / "objects.sqlite"
    path.write_bytes(b"nothing that SQLite knows" * 400)
    done = command("local", "up", "--data", str(tmp_path))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {path}: is not a data file of tfjob")
    assert "choose another folder with --data" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize("port", ["80000", "-1", "http"])
def test_an_invalid_port_is_rejected(tmp_path: Path, command: Command, port: str) -> None:
    done = command("local", "up", "--data", str(tmp_path / "data"), f"--port={port}")
    assert done.code == 2
    assert f"argument --port: {port}: is not a port; use 1 to 65535" in done.err
    assert not (tmp_path / "data").exists()


def test_a_missing_working_directory_is_rejected(tmp_path: Path, command: Command) -> None:
    data, nope = str(tmp_path / "data"), str(tmp_path / "nope")
    done = command("local", "up", "--data", data, "--workdir", nope)
    assert done.code == 2
    assert f"argument --workdir: {nope}: is not a folder" in done.err
    assert not (tmp_path / "data").exists()


def test_a_hangup_shuts_the_cluster_down_cleanly(up: "subprocess.Popen[str]") -> None:
    up.send_signal(signal.SIGHUP)
    out, _ = up.communicate(timeout=20)
    assert out.endswith("tfjob local: down\n")
    assert up.returncode == 0


def test_a_port_in_use_is_reported(tmp_path: Path, command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("local", "up", "--data", str(tmp_path / "data"), "--port", str(port))
    assert done.code == 1
    assert done.err == (f"error: port {port} is in use; choose another port, or omit --port\n")
