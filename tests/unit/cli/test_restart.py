from pathlib import Path

import pytest

from tests.support.local_apiserver.serving import JOBS, PODS, api_server_in_thread
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main


def test_a_whole_job_is_suspended_until_its_pods_are_gone_and_then_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        made = cluster.put_job(tfjob("W1", name="a"), ("Suspended", "no pods"))
        assert main(["restart", "a", *cluster.flags]) == 0
        job = cluster.endpoint.request("GET", f"{JOBS}/a")
    assert job["spec"]["runPolicy"]["suspend"] is False
    assert job["metadata"]["generation"] == made["metadata"]["generation"] + 2
    assert capsys.readouterr().out == "TFJob default/a restarted\n"


def test_one_replica_is_restarted_by_deleting_its_pod(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        job = cluster.put_job(tfjob("W2:OnFailure", name="a"), ("Running", "it runs"))
        for index in range(2):
            cluster.put_pod(job, "worker", index=index)
        assert main(["restart", "a", "--replica", "worker-1", *cluster.flags]) == 0
        pods = {
            each["metadata"]["name"]: each["metadata"]
            for each in cluster.endpoint.request("GET", PODS)["items"]
        }
        assert "deletionTimestamp" not in pods["a-worker-0"]
        assert "deletionTimestamp" in pods.get("a-worker-1", {"deletionTimestamp": "gone"})
        assert main(["restart", "a", "--replica", "worker-7", *cluster.flags]) == 1
    out, err = capsys.readouterr()
    assert out == "TFJob default/a: worker-1 restarted\n"
    assert "has no pod of 'worker-7' now; its replicas: worker-0" in err


def test_a_running_replica_whose_deletion_would_fail_the_job_is_not_restarted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        job = cluster.put_job(tfjob("W1:Never", name="a"), ("Running", "it runs"))
        cluster.put_pod(job, "worker", index=0, status={"phase": "Running"})
        assert main(["restart", "a", "--replica", "worker-0", *cluster.flags]) == 1
        (pod,) = cluster.endpoint.request("GET", PODS)["items"]
    assert "deletionTimestamp" not in pod["metadata"]
    assert capsys.readouterr().err == (
        "error: TFJob default/a: the restartPolicy of worker-0 is Never, so the job would fail if"
        " its pod were deleted; `tfjob restart a` restarts all replicas\n"
    )


def test_finished_and_suspended_jobs_are_not_restarted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob("W1", name="over"), ("Failed", "it failed"))
        cluster.put_job(tfjob("W1", name="held"))
        assert main(["suspend", "held", *cluster.flags]) == 0
        assert main(["restart", "over", *cluster.flags]) == 1
        assert main(["restart", "held", *cluster.flags]) == 1
    over, held = capsys.readouterr().err.splitlines()
    assert over.endswith("has finished: Failed; delete it, and create it again")
    assert held.endswith("is suspended; `tfjob resume held` starts it")
