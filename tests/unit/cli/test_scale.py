from pathlib import Path

import pytest

from tests.support.local_apiserver.serving import JOBS, api_server_in_thread
from tests.support.other_jobs import old_job
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main

OLD_JOBS = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"


def test_workers_of_a_job_are_scaled_and_other_replicas_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob("P1 W2", name="a"))
        assert main(["scale", "a", "--replicas", "5", *cluster.flags]) == 0
        specs = cluster.endpoint.request("GET", f"{JOBS}/a")["spec"]["tfReplicaSpecs"]
    assert {kind: each["replicas"] for kind, each in specs.items()} == {"PS": 1, "Worker": 5}
    assert capsys.readouterr().out == "TFJob default/a scaled to 5 workers\n"


def test_a_job_scaled_to_zero_is_reported_to_keep_its_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob("P1 W2", name="a"))
        assert main(["scale", "a", "--replicas", "0", *cluster.flags]) == 0
    message = (
        "TFJob default/a scaled to 0 workers; the job keeps its state until it is scaled up again"
    )
    assert capsys.readouterr().out == f"{message}\n"


def test_a_job_that_cannot_be_scaled_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.endpoint.request("POST", OLD_JOBS, old_job(name="old"))
        cluster.put_job(tfjob("W1", name="over"), ("Succeeded", "done"))
        assert main(["scale", "old", "--replicas", "2", *cluster.flags]) == 1
        assert main(["scale", "over", "--replicas", "2", *cluster.flags]) == 1
    old, over = capsys.readouterr().err.splitlines()
    assert "jobs cannot be scaled" in old
    assert over == "error: TFJob default/over has finished: Succeeded"


@pytest.mark.parametrize("count", ["-1", "two", "1.5", "²"])
def test_an_invalid_count_is_rejected(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["scale", "a", f"--replicas={count}"])
    assert exit_.value.code == 2
    assert "is not a number of workers; use 0 or more" in capsys.readouterr().err
