import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer
from tests.support.tfjobs import tfjob
from tests.unit.cli.conftest import Command


@pytest.fixture(scope="module")
def cluster(cluster: ThreadedApiServer) -> ThreadedApiServer:
    cluster.put_job(tfjob("W1", name="good"), ("Created", "made"), ("Succeeded", "well done"))
    cluster.put_job(tfjob("W1", name="bad"), ("Created", "made"), ("Failed", "broken"))
    return cluster


@pytest.mark.parametrize(
    ("job", "code", "last"),
    [("good", 0, "succeeded: well done"), ("bad", 1, "failed: broken")],
)
def test_a_finished_job_ends_at_once_with_its_outcome(
    cluster: ThreadedApiServer, command: Command, job: str, code: int, last: str
) -> None:
    done = command("attach", job, *cluster.flags)
    assert (done.code, done.out.splitlines()[-1]) == (code, last)


def test_a_missing_job_is_reported(cluster: ThreadedApiServer, command: Command) -> None:
    done = command("attach", "nope", *cluster.flags)
    assert (done.code, done.out) == (1, "")
    assert "nope" in done.err


def test_a_timeout_of_zero_is_rejected(cluster: ThreadedApiServer, command: Command) -> None:
    done = command("attach", "good", "--timeout", "0s", *cluster.flags)
    assert done.code == 2
    assert "must be longer than 0 s" in done.err
