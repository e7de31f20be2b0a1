"""The first job that a reader meets can be checked and planned as the README says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tfjob.cli.main import main

ROOT = Path(__file__).parents[3]


@pytest.fixture
def job(tmp_path: Path) -> str:
    (block,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    path = tmp_path / "job.yaml"
    path.write_text(block)
    return str(path)


def test_the_program_of_the_readme_runs(tmp_path: Path) -> None:
    (block,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "program.py").write_text(block)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    # The job is over, and other workers are ended, as soon as the first worker has succeeded.
    assert "[worker-0] {" in done.stdout


def test_the_job_of_the_readme_is_valid(job: str) -> None:
    assert main(["validate", job]) == 0


def test_the_job_of_the_readme_can_be_planned(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", job]) == 0
    planned = [each for each in yaml.safe_load_all(capsys.readouterr().out) if each]
    assert sorted((each["kind"], each["metadata"]["name"]) for each in planned) == [
        ("Pod", "hello-worker-0"),
        ("Pod", "hello-worker-1"),
        ("Service", "hello-worker-0"),
        ("Service", "hello-worker-1"),
    ]
