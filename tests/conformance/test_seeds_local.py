"""Every published job, unchanged, under `tfjob run`: real processes on this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support import seeds
from tests.support.seed_outcomes import OUTCOMES

pytestmark = pytest.mark.timeout(func_only=True)
SUCCEEDED, BLOCKED = 0, 5
NO_GPU = "cannot run here: master-0: requests 1 nvidia.com/gpu, but this machine has 0"


def run(name: str, folder: Path, *, gpus: str) -> subprocess.CompletedProcess[str]:
    """Run a document. The machine is taken for one with these GPUs; -1 means none."""
    own = folder / "seeds"
    shutil.copytree(seeds.FOLDER, own, ignore=shutil.ignore_patterns("__pycache__"))
    file = own / "job.yaml"
    file.write_text(yaml.safe_dump_all(seeds.for_this_machine(name)))
    return subprocess.run(
        [sys.executable, "-m", "tfjob.cli.main", "run", str(file), "--timeout", "60s"],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": gpus},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_document_is_run() -> None:
    assert sorted(OUTCOMES) == seeds.JOBS


@pytest.mark.parametrize("name", sorted(OUTCOMES))
def test_published_job_runs_on_this_machine(name: str, tmp_path: Path) -> None:
    outcome = OUTCOMES[name]
    done = run(name, tmp_path, gpus="7" if outcome.needs_gpu else "-1")
    assert done.returncode == SUCCEEDED, done.stdout + done.stderr
    assert outcome.line in done.stdout, done.stdout


@pytest.mark.parametrize("name", ["001-gpu", "003-example-tfjob"])
def test_seed_001_line_252_job_is_told_that_this_machine_has_no_gpu(
    name: str, tmp_path: Path
) -> None:
    done = run(name, tmp_path, gpus="-1")
    assert done.returncode == BLOCKED, done.stdout + done.stderr
    assert NO_GPU in done.stdout, done.stdout
