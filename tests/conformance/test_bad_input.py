"""Mistakes of users and faults of the machine get a clear message, and nothing is lost."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

TFJOB = f"{sys.executable} -m tfjob.cli.main"
ALONE = ("unshare", "--map-root-user", "--mount", "bash", "-uc")
TEN_MISTAKES = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: Ten_Mistakes}
spec:
  runPolicy:
    backoffLimit: -1
    cleanPodPolicy: Sometimes
    activeDeadlineSeconds: soon
    ttlSecondsAfterFinished: -5
  successPolicy: Perhaps
  tfReplicaSpecs:
    Banker: {template: {spec: {containers: []}}}
    Chief:
      replicas: 2
      template: {spec: {containers: [{name: tensorflow, command: [python]}]}}
    Worker:
      replicas: -2
      restartPolicy: Maybe
      template: {spec: {containers: [{name: other, image: x}]}}
"""
PLACES = {
    "metadata.name",
    "spec.runPolicy.activeDeadlineSeconds",
    "spec.runPolicy.backoffLimit",
    "spec.runPolicy.cleanPodPolicy",
    "spec.runPolicy.ttlSecondsAfterFinished",
    "spec.successPolicy",
    "spec.tfReplicaSpecs",
    "spec.tfReplicaSpecs[Chief].replicas",
    "spec.tfReplicaSpecs[Chief].template.spec.containers[0].image",
    "spec.tfReplicaSpecs[Worker].replicas",
    "spec.tfReplicaSpecs[Worker].restartPolicy",
    "spec.tfReplicaSpecs[Worker].template.spec.containers",
}


def script(folder: Path, *lines: str) -> "subprocess.CompletedProcess[str]":
    """A script with a small disk of its own mounted on `disk`."""
    mount = "mkdir disk && mount -t tmpfs -o size=3m tmpfs disk && cp job.yaml disk || exit 99"
    words = [*ALONE, "\n".join([mount, *lines])]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"NO DISK OF ITS OWN can be mounted here: {done.stderr}")
    return done


def write_job(folder: Path, shell: str) -> None:
    container = {"name": "tensorflow", "image": "x", "command": ["sh", "-c", shell]}
    worker = {"restartPolicy": "Never", "template": {"spec": {"containers": [container]}}}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "j"},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }
    (folder / "job.yaml").write_text(yaml.safe_dump(job))


def test_all_mistakes_of_a_file_are_shown_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(TEN_MISTAKES)
    words = [*TFJOB.split(), "run", "job.yaml", "--data", "data"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    found = [line for line in done.stderr.splitlines() if line.startswith("job.yaml:")]
    assert {line.split(": ")[2] for line in found} == PLACES
    assert len(found) == len(PLACES)
    assert not (tmp_path / "data").exists()


def test_a_full_disk_is_named_and_the_next_run_finds_nothing_broken(tmp_path: Path) -> None:
    write_job(tmp_path, "echo hello")
    run = f"{TFJOB} run disk/job.yaml --data disk/data"
    done = script(
        tmp_path,
        "cat /dev/zero > disk/big 2> /dev/null",
        f"{run}; echo code $?",
        "rm disk/big",
        f"{run}; echo code $?",
    )
    assert [line for line in done.stdout.splitlines() if line.startswith("code")] == [
        "code 4",
        "code 0",
    ]
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("TFJob j: ")
    assert sentence.endswith("No space left on device (its data is in disk/data)")


def test_a_disk_that_is_full_for_a_while_costs_no_verdict(tmp_path: Path) -> None:
    write_job(tmp_path, "cat /dev/zero > big; sleep 1; rm big; sleep 0.3; echo freed")
    done = script(tmp_path, f"{TFJOB} run disk/job.yaml --data disk/data --timeout 45s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[worker-0] freed" in done.stdout
    assert done.stdout.splitlines()[-1] == "succeeded: TFJob default/j successfully completed."
