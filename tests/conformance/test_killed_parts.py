"""Any part of the local cluster may be killed at any time: the job still ends as promised."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import process_table
from tests.support.chaos import Chaos, Writer, assert_nothing_is_left
from tests.support.local_cluster import SPLIT, WHOLE, LocalCluster
from tests.support.patience import PATIENCE

Json = dict[str, Any]
POLICIES = ("ExitCode", "OnFailure", "Never")
PROGRAM = """
import fcntl, os, sys, time
steps = os.path.join(os.environ["FOLDER"], "steps")
file = open(steps, "a+")
try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit("another one of me is running")
for _ in range(len(open(steps).read()), 12):
    time.sleep(0.05)
    print("x", end="", file=file, flush=True)
"""


def resumes(policy: str) -> list[Json]:
    """A claim, and a worker that goes on in it where the one before it stopped."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "steps"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    container = {
        "name": "tensorflow",
        "image": "x",
        "command": ["python", "-c", PROGRAM],
        "env": [{"name": "FOLDER", "value": "/steps"}],
        "volumeMounts": [{"name": "steps", "mountPath": "/steps"}],
    }
    volume = {"name": "steps", "persistentVolumeClaim": {"claimName": "steps"}}
    template = {"spec": {"containers": [container], "volumes": [volume]}}
    worker = {"restartPolicy": policy, "template": template}
    job = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": "resumes"},
        "spec": {"tfReplicaSpecs": {"Worker": worker}},
    }
    return [claim, job]


@pytest.mark.timeout(func_only=True)
@pytest.mark.parametrize(("parts", "kills"), [(SPLIT, 6), (WHOLE, 4)], ids=["split", "whole"])
def test_ten_kills_change_no_verdict_and_lose_nothing(
    tmp_path: Path, parts: tuple[str, ...], kills: int
) -> None:
    with LocalCluster(tmp_path, workdir=tmp_path, parts=parts) as cluster:
        chaos = Chaos(cluster, seed=20, span=1.0)
        policies = cycle(POLICIES)
        with Writer(cluster) as writer:
            while chaos.kills < kills:
                policy = next(policies)
                # One in place is at once; the next would wait for its back-off.
                most = 1 if (policy, parts) == ("OnFailure", WHOLE) else 3
                chaos.play(resumes(policy), most=most, limit=PATIENCE)
        assert writer.acknowledged
        assert not writer.lost()
        cluster.end()
        assert_nothing_is_left(cluster)


def eventually(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.timeout(func_only=True)
def test_killed_run_leaves_no_process_and_the_next_one_continues_in_its_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump_all(resumes("Never")))
    words = [sys.executable, "-m", "tfjob.cli.main", "run", "job.yaml", "--data", "data"]
    cluster = uuid.uuid4().hex
    environment = {**os.environ, process_table.CLUSTER: cluster}
    steps = tmp_path / "data" / "node" / "volumes" / "default" / "steps" / "steps"
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as run:
        eventually(lambda: steps.exists() and steps.read_text())
        run.kill()
    eventually(lambda: not process_table.processes(cluster))
    assert 0 < len(steps.read_text()) < 12
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, check=False
    )
    assert (done.returncode, len(steps.read_text())) == (0, 12)
    assert not process_table.processes(cluster)


def test_leftovers_of_a_cluster_are_detected_until_they_are_gone() -> None:
    cluster = uuid.uuid4().hex
    program = (
        "import socket, time; server = socket.create_server(('127.0.0.1', 0));"
        " print(server.getsockname()[1], flush=True); time.sleep(60)"
    )
    words = [sys.executable, "-c", program]
    environment = {**os.environ, process_table.CLUSTER: cluster}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as left:
        assert left.stdout is not None
        port = int(left.stdout.readline())
        assert [each.pid for each in process_table.processes(cluster)] == [left.pid]
        assert process_table.listeners({port}) == {port: {left.pid}}
        left.kill()
    assert process_table.processes(cluster) == []
    assert process_table.listeners({port}) == {}
