"""`tfjob run` on a terminal, as a person sees it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.terminal import Terminal

_STOP = "while ! test -e stop; do sleep 0.05; done"


@pytest.fixture
def stop(tmp_path: Path) -> Iterator[Path]:
    """A file that ends all replicas once it exists."""
    path = tmp_path / "stop"
    yield path
    path.touch()


def job_file(folder: Path, *, workers: int, script: str) -> Path:
    container = {"name": "tensorflow", "image": "none", "command": ["sh", "-c", script]}
    template = {"spec": {"containers": [container]}}
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "shown"},
        "spec": {
            "successPolicy": "AllWorkers",
            "tfReplicaSpecs": {"Worker": {"replicas": workers, "template": template}},
        },
    }
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(manifest))
    return path


def running(file: Path, *, columns: int, rows: int) -> Terminal:
    command = [sys.executable, "-m", "tfjob.cli.main", "run", str(file)]
    return Terminal(command, columns=columns, rows=rows, environ=os.environ)


def test_a_small_terminal_sums_replicas_up_and_leaves_room_for_the_log(
    tmp_path: Path, stop: Path
) -> None:
    file = job_file(tmp_path, workers=8, script=f"echo hello; {_STOP}")
    with running(file, columns=80, rows=24) as terminal:
        lines = terminal.until(
            lambda lines: (
                any("8 Running" in line for line in lines)
                and sum(line.endswith(" hello") for line in lines) == 8
            )
        )
        place = next(place for place, line in enumerate(lines) if line.startswith("shown  "))
        assert lines[place + 1] == "worker    8  8 Running"
        assert len([line for line in lines[place:] if line]) <= 9
        stop.touch()
        assert terminal.until_exit() == 0
        assert "✔ TFJob default/shown successfully completed." in terminal.lines


def test_a_large_terminal_lists_every_replica_and_its_progress(tmp_path: Path, stop: Path) -> None:
    script = f"printf 'epoch 1\\repoch 2'; {_STOP}; printf '\\repoch 3\\n'"
    file = job_file(tmp_path, workers=8, script=script)
    with running(file, columns=200, rows=50) as terminal:
        lines = terminal.until(lambda lines: sum("epoch 2" in line for line in lines) == 8)
        assert [line.split() for line in lines if "epoch 2" in line] == [
            [f"worker-{index}", "Running", "0", "epoch", "2"] for index in range(8)
        ]
        stop.touch()
        assert terminal.until_exit() == 0
        assert sum(line.endswith(" epoch 3") for line in terminal.lines) == 8


def test_keys_choose_a_replica_pause_and_search(tmp_path: Path, stop: Path) -> None:
    file = job_file(
        tmp_path, workers=2, script=f"echo loss $HOSTNAME; echo step; {_STOP}; echo end"
    )
    with running(file, columns=80, rows=24) as terminal:
        terminal.until(lambda lines: sum(line.endswith(" step") for line in lines) == 2)
        terminal.press("\x1b[B")
        terminal.until(lambda lines: any("only worker-0" in line for line in lines))
        terminal.press("a/loss\r")
        terminal.until(lambda lines: any("only lines with 'loss'" in line for line in lines))
        terminal.press("a ")
        terminal.until(lambda lines: any(line.startswith("paused") for line in lines))
        stop.touch()
        assert terminal.until_exit() == 0
        assert sum(line.endswith(" end") for line in terminal.lines) == 2
