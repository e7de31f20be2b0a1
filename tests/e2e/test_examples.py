"""Every example trains with real TensorFlow, with its YAML unchanged."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NAMES = sorted(each.parent.name for each in EXAMPLES.glob("*/job.yaml"))
FILES = ("job.yaml", "train.py")
SMOKE = "10-smoke-test"
ONE_SCREEN = 66
pytestmark = pytest.mark.timeout(600, func_only=True)


def trained(name: str, data: Path) -> str:
    """The output of a run that succeeded. The machine is taken for one with a GPU, number 7."""
    assert importlib.util.find_spec("tensorflow"), "NO TENSORFLOW: `make e2e-local` installs it"
    before = files_of(name)
    job = EXAMPLES / name / "job.yaml"
    command = [sys.executable, "-m", "tfjob.cli.main", "run", str(job), "--data", str(data)]
    done = subprocess.run(
        [*command, "--timeout", "5m"],
        capture_output=True,
        text=True,
        check=False,
        cwd=data.parent,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "7"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert files_of(name) == before
    return done.stdout


def files_of(name: str) -> list[Path]:
    folder = EXAMPLES / name
    return sorted(each for each in folder.rglob("*") if "__pycache__" not in each.parts)


@pytest.mark.parametrize("name", NAMES)
def test_example_can_be_read_on_one_screen(name: str) -> None:
    lengths = [len((EXAMPLES / name / file).read_text().splitlines()) for file in FILES]
    assert max(lengths) <= ONE_SCREEN


@pytest.mark.parametrize("name", sorted({*NAMES} - {SMOKE}))
def test_example_learns_to_read_digits(name: str, tmp_path: Path) -> None:
    output = trained(name, tmp_path / "data")
    accuracies = re.findall(r"\] accuracy (0\.\d+|1\.0+)$", output, re.MULTILINE)
    assert accuracies
    assert float(accuracies[-1]) > 0.9
    CLAIMS.get(name, nothing_more)(output, tmp_path / "data")


def test_smoke_test_reaches_every_replica(tmp_path: Path) -> None:
    output = trained(SMOKE, tmp_path / "data")
    reached = re.findall(r"\[chief-0\] (\w+ \d): /job:(\w+)/replica:0/task:(\d)/", output)
    assert [f"{kind} {index}" for _, kind, index in reached] == [who for who, _, _ in reached]
    assert {who for who, _, _ in reached} == {"chief 0", "ps 0", "worker 0", "worker 1"}


def wrote_tensorboard_data(output: str, data: Path) -> None:
    claim = data / "node" / "volumes" / "default" / "parameter-servers-logs"
    assert [each.name for each in claim.glob("events.out.tfevents.*")]


def was_evaluated_beside_the_training(output: str, data: Path) -> None:
    assert "[evaluator-0] step 400: accuracy" in output
    assert (data / "node" / "volumes" / "default" / "evaluator-checkpoints" / "checkpoint").exists()


def resumed_where_the_checkpoint_was(output: str, data: Path) -> None:
    starts = re.findall(r"starting at step (\d+)", output)
    assert starts == ["0", "200"]
    assert "is restarting because" in output


def wrote_summaries_to_the_volume_of_events(output: str, data: Path) -> None:
    claim = data / "node" / "volumes" / "default" / "tfevent-volume"
    assert {each.parent.name for each in claim.rglob("events.out.tfevents.*")} == {
        "train",
        "validation",
    }


def was_given_its_gpu(output: str, data: Path) -> None:
    assert "GPUs given: 7;" in output


def read_its_secret(output: str, data: Path) -> None:
    assert "credentials of a service_account in example" in output


def was_evaluated_to_the_end(output: str, data: Path) -> None:
    assert "[evaluator-0] step 400: accuracy" in output
    assert "[chief-0] checkpoint at step 400" in output


def nothing_more(output: str, data: Path) -> None:
    return


CLAIMS = {
    "01-parameter-servers": wrote_tensorboard_data,
    "03-evaluator": was_evaluated_beside_the_training,
    "04-resume": resumed_where_the_checkpoint_was,
    "09-mnist-with-summaries": wrote_summaries_to_the_volume_of_events,
    "11-gpu": was_given_its_gpu,
    "12-secret": read_its_secret,
    "13-train-and-evaluate": was_evaluated_to_the_end,
}
