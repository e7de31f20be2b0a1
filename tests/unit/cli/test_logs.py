from typing import Any

import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer, ended
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main


@pytest.fixture(scope="module")
def cluster(cluster: ThreadedApiServer) -> ThreadedApiServer:
    job = cluster.put_job(tfjob("W2", name="j"), ("Created", "made"), ("Succeeded", "done"))
    cluster.put_pod(job, "worker", index=0, status=ended(0))
    cluster.put_pod(job, "worker", index=1, status=ended(0))
    return cluster


@pytest.mark.parametrize("follow", [[], ["--follow"]])
def test_lines_of_all_replicas_start_with_their_names(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], follow: list[str]
) -> None:
    assert main(["logs", "j", *follow, *cluster.flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == [
        "[worker-0] ",
        "[worker-0] first of j-worker-0",
        "[worker-0] last of j-worker-0",
        "[worker-1] ",
        "[worker-1] first of j-worker-1",
        "[worker-1] last of j-worker-1",
    ]


def test_the_log_of_a_failed_pod_is_shown_until_its_replacement_is_due(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = cluster.put_job(tfjob("W1", name="again"), ("Restarting", "failed"))
    cluster.put_pod(job, "worker", status=ended(137))
    assert main(["logs", "again", *cluster.flags]) == 0
    assert "last of again-worker-0" in capsys.readouterr().out


def test_lines_of_a_single_replica_have_no_name(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["logs", "j", "--replica", "worker-1", "--tail", "1", *cluster.flags]) == 0
    assert capsys.readouterr().out == "last of j-worker-1\n"


def test_a_missing_replica_is_reported(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for replica in ("ps-0", "worker-9", "worker"):
        assert main(["logs", "j", "--replica", replica, *cluster.flags]) == 1
        told = f"error: TFJob default/j has no replica {replica!r}; it has worker-0 to worker-1\n"
        assert capsys.readouterr().err == told


def test_a_pod_without_a_log_is_reported_with_the_reason(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job: dict[str, Any] = cluster.put_job(tfjob("W1", name="waits"))
    cluster.put_pod(job, "worker", status={"phase": "Pending"})
    assert main(["logs", "waits", *cluster.flags]) == 0
    captured = capsys.readouterr()
    assert "(no log: " in captured.out
    assert "is waiting to start" in captured.out
    assert captured.err == "pending: worker-0; `tfjob explain waits` says why\n"


def test_of_many_pending_replicas_some_are_named(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job: dict[str, Any] = cluster.put_job(tfjob("W5", name="many"))
    for index in range(5):
        cluster.put_pod(job, "worker", index=index, status={"phase": "Pending"})
    assert main(["logs", "many", *cluster.flags]) == 0
    message = "pending: worker-0, worker-1, worker-2 and 2 more; `tfjob explain many` says why\n"
    assert capsys.readouterr().err == message


def test_a_job_without_pods_points_to_its_explanation(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.put_job(tfjob("W1", name="none"))
    assert main(["logs", "none", *cluster.flags]) == 1
    assert "no pod of any replica exists; `tfjob explain none` says why" in capsys.readouterr().err
