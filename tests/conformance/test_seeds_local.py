"""Every published job, unchanged, under `tfjob run`: real processes on this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.support import seeds

pytestmark = pytest.mark.timeout(func_only=True)
SUCCEEDED, BLOCKED = 0, 5
ARGUMENTS = "--batch_size=32 --training_steps=1000"
NO_GPU = "cannot run here: master-0: requests 1 {}, but this machine has 0"


class Ending(NamedTuple):
    """How a run ends, and a line that it must have shown."""

    code: int
    line: str
    gpus: str = ""
    """What the machine says that it has; empty for nothing."""


ENDINGS = {
    "000-tfjob": Ending(SUCCEEDED, f"[worker-0] REPLICA_TYPE=worker,REPLICA_INDEX=0 {ARGUMENTS}"),
    "000-tfjob-with-secret": Ending(SUCCEEDED, "/volumes/sa/user-gcp-sa.json"),
    "000-tf-smoke-gpu": Ending(SUCCEEDED, "[worker-0] CUDA_VISIBLE_DEVICES=7", gpus="7"),
    "000-mnist": Ending(SUCCEEDED, "/node/volumes/kubeflow/tfevent-volume --learning_rate=0.01"),
    "001-example-job": Ending(SUCCEEDED, "[master-0] REPLICA_TYPE=master,REPLICA_INDEX=0"),
    "001-example-job-as-stored": Ending(
        SUCCEEDED, "[master-0] REPLICA_TYPE=master,REPLICA_INDEX=0"
    ),
    "001-gpu": Ending(SUCCEEDED, "[master-0] CUDA_VISIBLE_DEVICES=7", gpus="7"),
    "001-tensorboard-on-azure": Ending(BLOCKED, NO_GPU.format("nvidia.com/gpu")),
    "001-tensorboard-on-gke": Ending(BLOCKED, NO_GPU.format("nvidia.com/gpu")),
    "002-dist-mnist": Ending(SUCCEEDED, "[worker-0] REPLICA_TYPE=worker,REPLICA_INDEX=0"),
    "003-example-tfjob": Ending(BLOCKED, NO_GPU.format("nvidia.com/gpu")),
    "003-module6-ex1-gpu": Ending(SUCCEEDED, "[master-0] CUDA_VISIBLE_DEVICES=7", gpus="7"),
    "003-module6-ex2-gpu": Ending(SUCCEEDED, "[master-0] CUDA_VISIBLE_DEVICES=7", gpus="7"),
    "004-tensorflow-example": Ending(SUCCEEDED, "[worker-0] REPLICA_TYPE=worker,REPLICA_INDEX=0"),
    "004-scheduler": Ending(SUCCEEDED, "[worker-0] REPLICA_TYPE=worker,REPLICA_INDEX=0"),
    "004-tensorboard": Ending(SUCCEEDED, "[worker-0] REPLICA_TYPE=worker,REPLICA_INDEX=0"),
}


def test_every_document_is_run() -> None:
    assert sorted(ENDINGS) == seeds.JOBS


@pytest.mark.parametrize("name", sorted(ENDINGS))
def test_published_job_runs_on_this_machine(name: str, tmp_path: Path) -> None:
    ending = ENDINGS[name]
    folder = tmp_path / "seeds"
    shutil.copytree(seeds.FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump_all(seeds.for_this_machine(name)))
    done = subprocess.run(
        [sys.executable, "-m", "tfjob.cli.main", "run", str(file), "--timeout", "60s"],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ending.gpus or "-1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ending.code, done.stdout + done.stderr
    assert ending.line in done.stdout, done.stdout
