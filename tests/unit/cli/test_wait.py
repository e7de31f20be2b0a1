import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main


@pytest.fixture(scope="module")
def cluster(cluster: ThreadedApiServer) -> ThreadedApiServer:
    cluster.put_job(tfjob("W1", name="good"), ("Created", "made"), ("Succeeded", "well done"))
    cluster.put_job(tfjob("W1", name="bad"), ("Created", "made"), ("Failed", "broken"))
    cluster.put_job(tfjob("W1", name="busy"), ("Created", "made"), ("Running", "at work"))
    return cluster


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["good"], 0, "good: Succeeded: well done\n"),
        (["bad"], 1, "bad: Failed: broken\n"),
        (["busy", "--for", "running"], 0, "busy: Running: at work\n"),
        (["bad", "--for", "running"], 1, "bad: Failed: broken\n"),
    ],
)
def test_exit_code_and_message_show_the_outcome(
    cluster: ThreadedApiServer,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    code: int,
    said: str,
) -> None:
    assert main(["wait", *words, *cluster.flags]) == code
    assert capsys.readouterr().out == said


def test_a_timeout_has_its_own_exit_code(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wait", "busy", "--timeout", "1ms", *cluster.flags]) == 3
    assert capsys.readouterr().err == "error: busy is not finished after 0.001 s\n"


def test_a_timeout_reports_why_the_job_does_not_run(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.put_job(tfjob("W1", name="stuck"), ("Created", "made"))
    diagnosis = {
        "cause": "QuotaExceeded",
        "message": "worker-0 cannot be created",
        "since": "2026-01-01T12:04:00Z",
    }
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/stuck/status"
    cluster.endpoint.request("PATCH", path, {"status": {"diagnosis": diagnosis}})
    assert main(["wait", "stuck", "--timeout", "0", *cluster.flags]) == 3
    late = "error: stuck is not finished after 0 s: worker-0 cannot be created\n"
    assert capsys.readouterr().err == late


def test_a_timeout_of_zero_checks_once(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wait", "good", "--timeout", "0", *cluster.flags]) == 0
    assert main(["wait", "busy", "--timeout", "0", *cluster.flags]) == 3
    assert capsys.readouterr().err == "error: busy is not finished after 0 s\n"
