"""The program of default parameter servers, run as its pods run it, on a play TensorFlow."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE
from tfjob.dialects.tensorflow import default_parameter_server

CLUSTER = "master|m:1,ps|a:1;b:2"
PLAY = """
import json, sys, time

class Server:
    def __init__(self, spec, **fields):
        print(json.dumps({"spec": spec, **fields}), flush=True)
    def join(self):
        time.sleep(60)

class train:
    ClusterSpec = dict
    @staticmethod
    def Server(spec, **fields):
        print("old", flush=True)
        return Server(spec, **fields)
"""
NEW = """
class compat:
    class v1:
        ConfigProto = GPUOptions = dict
        train = train
class distribute:
    Server = Server
"""
OLD = "ConfigProto = GPUOptions = dict\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / default_parameter_server.FILE
    path.write_text(default_parameter_server.SOURCE)
    return path


def run(program: Path, *words: str, config: str = "") -> subprocess.CompletedProcess[str]:
    """Where there is no TensorFlow: nothing but what is wrong with its arguments can be told."""
    command = [sys.executable, "-I", str(program), *words]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={"TF_CONFIG": config},
        timeout=PATIENCE,
    )


@pytest.mark.scenario("A-34")
@pytest.mark.parametrize(
    "words",
    [
        ["--cluster_spec="],
        ["--cluster_spec=ps"],
        ["--cluster_spec=|a:1"],
        ["--cluster_spec=ps|a:1|b:1"],
        ["--cluster_spec=ps|a:1;;b:1"],
        ["--cluster_spec=ps|"],
        ["--cluster_spec=ps|a:1,ps|b:1"],
        ["--cluster_spec=ps|a:1,", "--job_name=ps"],
        [f"--cluster_spec={CLUSTER}", "--job_name=worker"],
        [f"--cluster_spec={CLUSTER}"],
        [f"--cluster_spec={CLUSTER}", "--job_name=ps", "--task_id=2"],
        [f"--cluster_spec={CLUSTER}", "--job_name=ps", "--task_id=-1"],
        [f"--cluster_spec={CLUSTER}", "--job_name=ps", "--task_id=x"],
        [],
    ],
    ids=" ".join,
)
def test_bad_arguments_end_it_with_2_and_one_line(program: Path, words: list[str]) -> None:
    done = run(program, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"grpc_tensorflow_server.*: .+\n", done.stderr)


@pytest.mark.parametrize(
    "config",
    [
        "{",
        "[]",
        "{}",
        '{"cluster":[],"task":{}}',
        '{"cluster":{"ps":["a:1"]}}',
        '{"cluster":{"ps":["a:1"]},"task":{"type":"ps","index":1}}',
        '{"cluster":{"ps":["a:1"]},"task":{"type":"ps","index":null}}',
        '{"cluster":{"ps":["a:1"],"worker":[]},"task":{"type":"worker","index":0}}',
    ],
)
def test_bad_tf_config_ends_it_with_2_and_one_line(program: Path, config: str) -> None:
    done = run(program, config=config)
    assert done.returncode == 2
    assert re.fullmatch(r"grpc_tensorflow_server: .+\n", done.stderr)


def first_words(
    program: Path, kind: str, *words: str, config: str = "", lines: int = 1
) -> tuple[list[str], int]:
    """The first lines that it prints on a play TensorFlow, and how SIGTERM ends it."""
    (program.parent / "tensorflow.py").write_text(PLAY + kind)
    process = subprocess.Popen(
        [sys.executable, str(program), *words],
        stdout=subprocess.PIPE,
        text=True,
        env={"TF_CONFIG": config, "PYTHONPATH": str(program.parent), "PATH": os.environ["PATH"]},
    )
    try:
        assert process.stdout is not None
        found = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGTERM)
        return found, process.wait(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()


def test_server_starts_in_its_place_and_sigterm_ends_it_by_the_signal(program: Path) -> None:
    words = [f"--cluster_spec={CLUSTER}", "--job_name", "ps", "--task_id", "1", "--odd=1"]
    (line,), code = first_words(program, NEW, *words)
    assert json.loads(line) == {
        "spec": {"master": ["m:1"], "ps": ["a:1", "b:2"]},
        "job_name": "ps",
        "task_index": 1,
        "protocol": "grpc",
        "config": {},
        "start": True,
    }
    assert code == -signal.SIGTERM


def test_old_tensorflow_has_its_server_elsewhere(program: Path) -> None:
    words = [f"--cluster_spec={CLUSTER}", "--job_name=master", "--gpu_memory_fraction=0.5"]
    (old, line), _ = first_words(program, OLD, *words, lines=2)
    assert old == "old\n"
    assert json.loads(line)["config"] == {"gpu_options": {"per_process_gpu_memory_fraction": 0.5}}


def test_without_arguments_it_reads_tf_config(program: Path) -> None:
    config = '{"cluster":{"ps":["a:1"],"worker":[]},"task":{"type":"ps","index":0}}'
    (told, line), _ = first_words(program, NEW, "--verbose", config=config, lines=2)
    assert told == 'ps 0 of {"ps": ["a:1"]}\n'
    assert json.loads(line)["spec"] == {"ps": ["a:1"]}


def test_it_says_nothing_that_only_new_python_understands() -> None:
    assert "f'" not in default_parameter_server.SOURCE
    assert 'f"' not in default_parameter_server.SOURCE
    assert "from __future__ import print_function" in default_parameter_server.SOURCE
