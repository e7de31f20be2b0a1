"""CPU and memory of pods, measured on real processes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tfjob.k8s import quantity
from tfjob.local.node import checkpoint
from tfjob.local.node.checkpoint import ContainerRecord, PodRecord, Running, Terminated
from tfjob.local.node.pod_metrics import PodMetrics

_BUSY = "block = bytearray(b'x' * (40 << 20)); print(flush=True)\nwhile True: pass"


@pytest.fixture
def supervisor() -> Iterator[int]:
    """A process with a child that is busy and holds 40 MiB."""
    command = ["sh", "-c", '"$0" -c "$1"; true', sys.executable, _BUSY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        yield shell.pid
        subprocess.run(["pkill", "-KILL", "-s", str(shell.pid)], check=True)


def pod(uid: str) -> dict[str, dict[str, str]]:
    return {"metadata": {"uid": uid}}


def record(uid: str, *containers: ContainerRecord) -> PodRecord:
    return PodRecord(namespace="n", name=uid, uid=uid, started_at="", containers=containers)


async def test_processes_below_a_supervisor_are_measured(tmp_path: Path, supervisor: int) -> None:
    running = ContainerRecord(name="tensorflow", state=Running("now"), pid=supervisor)
    checkpoint.save(tmp_path, record("a", running))
    [found] = await PodMetrics(tmp_path).measure([pod("a")])
    assert (found["uid"], found["window"]) == ("a", "0.5s")
    [container] = found["containers"]
    assert container["name"] == "tensorflow"
    memory = quantity.parse(container["usage"]["memory"])
    assert memory is not None
    assert memory.rounded_up() > 40 << 20
    assert container["usage"]["cpu"].endswith("m")


async def test_pods_that_do_not_run_have_no_usage(tmp_path: Path) -> None:
    ended = Terminated(exit_code=0, reason="Completed")
    checkpoint.save(tmp_path, record("ended", ContainerRecord(name="a", state=ended, pid=7)))
    checkpoint.save(tmp_path, record("waiting", ContainerRecord(name="a")))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "record.json").write_text("[")
    pods = [pod(each) for each in ("ended", "waiting", "broken", "elsewhere")]
    assert await PodMetrics(tmp_path).measure(pods) == []
