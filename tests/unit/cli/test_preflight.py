from pathlib import Path
from typing import Any

import pytest

from tests.support.job_files import written
from tests.support.local_apiserver.serving import PODS, api_server_in_thread
from tests.support.other_jobs import old_job, training_job
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main


@pytest.mark.parametrize("job", [tfjob("C1 W2"), old_job("MASTER"), training_job("worker")])
def test_job_of_any_api_that_would_start_creates_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], job: Any
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        assert main(["preflight", written(tmp_path, job), *cluster.flags]) == 0
        assert cluster.endpoint.request("GET", PODS)["items"] == []
        assert cluster.job_names() == []
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.endswith("j: would start now, as far as it can be checked")
    verdicts = {line.split()[1]: line.split()[0] for line in lines}
    known = dict.fromkeys(("job", "pods", "objects", "quota", "queue"), "ok")
    assert verdicts == {**known, "nodes": "unknown"}  # this cluster has none


def test_an_exported_job_is_checked_as_a_new_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tfjob("W1", name="copy")
    job["metadata"] |= {"uid": "1", "resourceVersion": "7"}
    with api_server_in_thread(tmp_path / "data") as cluster:
        assert main(["preflight", written(tmp_path, job), *cluster.flags]) == 0
    assert "FAILS" not in capsys.readouterr().out


def test_a_faulty_file_is_rejected_before_the_cluster_is_contacted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tfjob("W1")
    del job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"]
    assert main(["preflight", written(tmp_path, job), "--kubeconfig", "/nowhere"]) == 2
    assert "image" in capsys.readouterr().err
