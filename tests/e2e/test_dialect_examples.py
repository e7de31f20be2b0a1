"""Every API of jobs has an example that trains with real TensorFlow, and its TensorBoard is up."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tfjob.dialects.registry import DIALECTS

EXAMPLES = Path(__file__).parents[2] / "examples"
TFJOB = (sys.executable, "-m", "tfjob.cli.main")
CLAIMS = Path("node", "volumes", "default")
pytestmark = pytest.mark.timeout(600, func_only=True)


def job_of(name: str) -> dict[str, Any]:
    documents = yaml.safe_load_all((EXAMPLES / name / "job.yaml").read_text())
    [job] = [each for each in documents if each["apiVersion"] != "v1"]
    found: dict[str, Any] = job
    return found


@contextmanager
def kept(name: str, data: Path) -> Iterator[str]:
    """What a run has printed once the job has ended; its cluster is up until the end."""
    command = (*TFJOB, "run", str(EXAMPLES / name / "job.yaml"), "--data", str(data))
    limits = ("--timeout", "5m", "--keep")
    run = subprocess.Popen([*command, *limits], stdout=subprocess.PIPE, text=True, cwd=data.parent)
    assert run.stdout is not None
    lines = []
    try:
        for line in run.stdout:
            lines.append(line)
            if line.startswith("the cluster keeps running"):
                break
        yield "".join(lines)
        # A shell lets what it runs in the background ignore SIGINT.
        run.send_signal(signal.SIGTERM)
        assert run.wait(60) == 0, "".join(lines) + run.stdout.read()
    finally:
        run.kill()
        run.wait()
        run.stdout.close()


def until_shown(data: Path, job: str) -> str:
    """The address of TensorBoard that `tfjob describe` shows, once it does."""
    words = (*TFJOB, "describe", job, "--kubeconfig", str(data / "kubeconfig"))
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        shown = subprocess.run(words, capture_output=True, text=True, check=False)
        if found := re.search(r"http://127\.0\.0\.1:\d+/", shown.stdout):
            return found[0]
        time.sleep(1)
    raise AssertionError(f"no address of TensorBoard:\n{shown.stdout}{shown.stderr}")


def until_read(url: str) -> None:
    """Wait until TensorBoard has read what the job has written."""
    deadline = time.monotonic() + 60
    answer = ""
    while "accuracy" not in answer:
        assert time.monotonic() < deadline, f"TensorBoard shows no accuracy: {answer}"
        try:
            with urllib.request.urlopen(f"{url}data/plugin/scalars/tags", timeout=10) as page:  # noqa: S310 - our own, on loopback
                answer = json.dumps(json.load(page))
        except (urllib.error.URLError, OSError) as fault:
            answer = str(fault)
        time.sleep(1)


def test_every_api_of_jobs_has_an_example() -> None:
    shown = {job_of(each.parent.name)["apiVersion"] for each in EXAMPLES.glob("*/job.yaml")}
    assert shown == {f"{each.group}/{each.version}" for each in DIALECTS}


def test_older_example_leaves_its_model_in_its_part_of_the_volume(tmp_path: Path) -> None:
    with kept("06-v1beta1", tmp_path / "data") as output:
        assert "] accuracy 0.9" in output
    assert (tmp_path / "data" / CLAIMS / "files" / "v1beta1" / "model.keras").exists()


def test_servers_without_a_template_really_serve(tmp_path: Path) -> None:
    name, data = "07-default-parameter-servers", tmp_path / "data"
    job = job_of(name)
    [servers] = [each for each in job["spec"]["replicaSpecs"] if each["tfReplicaType"] == "PS"]
    assert "template" not in servers
    with kept(name, data) as output:
        assert re.search(r"step 600: accuracy 0\.9\d+, kept on /job:ps/", output), output
        until_read(until_shown(data, job["metadata"]["name"]))


def test_workers_of_the_platform_train_in_step_and_are_watched(tmp_path: Path) -> None:
    name, data = "08-t9k", tmp_path / "data"
    with kept(name, data) as output:
        for index in (0, 1):
            assert re.search(rf"\[worker-{index}\] step \d+: accuracy 0\.9\d+", output), output
        until_read(until_shown(data, job_of(name)["metadata"]["name"]))
    assert list((data / CLAIMS / "t9k-logs" / "training").glob("events.out.tfevents.*"))
