import json
import subprocess
import sys
from pathlib import Path

import pytest

from tfjob.train import CHECKPOINTS, Context, context

CLUSTER = {"chief": ["c:1"], "ps": ["p:2"], "worker": ["w0:3", "w1:4"]}


def of(role: str, index: int = 0, cluster: object = None) -> Context:
    task = {"type": role, "index": index}
    config = {"cluster": CLUSTER if cluster is None else cluster, "task": task}
    return context({"TF_CONFIG": json.dumps(config)})


def test_a_replica_knows_its_role_its_peers_and_its_port() -> None:
    worker = of("worker", 1)
    assert (worker.role, worker.index, worker.address, worker.port) == ("worker", 1, "w1:4", 4)
    assert worker.cluster["ps"] == ("p:2",)
    assert worker.workers == 3


def test_the_chief_is_chief_and_without_one_worker_0_is() -> None:
    alone = {"worker": ["w0:1", "w1:2"]}
    assert of("chief").is_chief
    assert not of("worker", 0).is_chief
    assert of("worker", 0, alone).is_chief
    assert not of("worker", 1, alone).is_chief
    assert of("master", 0, {"master": ["m:1"], "worker": ["w:1"]}).is_chief
    assert not of("evaluator", 0, alone).is_chief


def test_a_program_outside_of_a_job_is_a_lone_worker() -> None:
    lone = context({})
    assert (lone.role, lone.index, lone.workers, lone.is_chief) == ("worker", 0, 1, True)
    assert (lone.address, lone.port, lone.checkpoints, lone.resume_from) == ("", None, None, None)


def test_addresses_by_index_are_understood() -> None:
    sparse = of("worker", 1, {"worker": {"1": "w1:4", "0": "w0:3"}})
    assert sparse.cluster["worker"] == ("w0:3", "w1:4")
    assert sparse.port == 4


@pytest.mark.parametrize("text", ["{", "[]", '{"task": 1}', '{"cluster": {"worker": 3}}'])
def test_a_broken_tf_config_is_an_error_that_names_it(text: str) -> None:
    with pytest.raises(ValueError, match="TF_CONFIG must be JSON"):
        context({"TF_CONFIG": text})


def test_training_resumes_from_the_newest_checkpoint(tmp_path: Path) -> None:
    me = context({CHECKPOINTS: str(tmp_path)})
    assert me.checkpoints == tmp_path
    assert me.resume_from is None
    (tmp_path / "checkpoint").write_text(
        'model_checkpoint_path: "ckpt-7"\nall_model_checkpoint_paths: "ckpt-6"\n'
    )
    assert me.resume_from is None  # its files are not there
    (tmp_path / "ckpt-7.index").touch()
    assert me.resume_from == tmp_path / "ckpt-7"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"model_checkpoint_path: nothing"])
def test_a_damaged_checkpoint_file_is_no_checkpoint(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "checkpoint").write_bytes(content)
    assert context({CHECKPOINTS: str(tmp_path)}).resume_from is None


def test_it_needs_nothing_but_the_standard_library() -> None:
    code = (
        "import sys, tfjob.train; tfjob.train.context();"
        "print([each for each in sys.modules if each.startswith(('tfjob', 'asyncio'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['tfjob', 'tfjob.train']\n"
