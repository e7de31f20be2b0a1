from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.local_apiserver.serving import (
    JOBS,
    ThreadedApiServer,
    ended,
)
from tests.support.tfjobs import tfjob
from tfjob.client.errors import Forbidden
from tfjob.sdk import explanation
from tfjob.sdk.client import Client
from tfjob.sdk.documents import as_yaml
from tfjob.sdk.errors import JobFailedError, JobTimeoutError, TFJobError
from tfjob.sdk.job import TFJob

PODS = "/api/v1/namespaces/default/pods"


def test_a_job_is_read_from_a_file_and_from_text(tmp_path: Path) -> None:
    text = as_yaml(tfjob("W1", name="mnist"))
    file = tmp_path / "job.yaml"
    file.write_text(text)
    for source in (text, file, str(file)):
        job = TFJob.from_yaml(source)
        assert job.name == "mnist"
        assert TFJob.from_yaml(job.to_yaml()).manifest == job.manifest


def test_all_faults_of_a_file_are_in_the_error(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    bad = tfjob("W1", name="mnist")
    bad["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = -1
    bad["spec"]["nothing"] = 1
    file.write_text(as_yaml(bad))
    with pytest.raises(TFJobError) as caught:
        TFJob.from_yaml(file)
    assert "replicas" in str(caught.value)
    assert "nothing" in str(caught.value)
    assert "job.yaml:" in str(caught.value)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a: [\n", "invalid YAML"),
        ("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n", "contains 0 jobs"),
        ("/nothing/like/this.yaml", "cannot be read"),
    ],
)
def test_what_is_not_one_job_is_an_error(source: str, text: str) -> None:
    with pytest.raises(TFJobError, match=text):
        TFJob.from_yaml(source)


def test_failure_without_access_to_events_raises_the_message_of_the_status(
    server: ThreadedApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object) -> NoReturn:
        raise Forbidden("events is forbidden")

    server.put_job(tfjob("W1", name="bad"), ("Failed", "not done"))
    monkeypatch.setattr(explanation, "events_of", refuse)
    with pytest.raises(JobFailedError, match="TFJob default/bad: not done"):
        client.get("bad").wait()


def test_waiting_returns_the_status_and_raises_the_reason(
    server: ThreadedApiServer, client: Client
) -> None:
    server.put_job(tfjob("W1", name="good"), ("Succeeded", "done"))
    bad = server.put_job(tfjob("W1", name="bad"), ("Failed", "not done"))
    server.put_pod(bad, "worker", status=ended(3))
    server.put_job(tfjob("W1", name="slow"), ("Running", "busy"))
    assert client.get("good").wait().has_succeeded
    with pytest.raises(TFJobError, match="state='runing': no such state"):
        client.get("good").wait(state="runing")  # type: ignore[arg-type]
    with pytest.raises(JobFailedError, match=r"worker-0 .*exit code 3") as failed:
        client.get("bad").wait()
    assert failed.value.remedy
    slow = client.get("slow")
    assert slow.wait(state="running").state == "Running"
    with pytest.raises(JobTimeoutError, match="slow is not finished after 0 s"):
        slow.wait(0)


def test_lines_carry_their_replica(server: ThreadedApiServer, client: Client) -> None:
    job = server.put_job(tfjob("W2", name="mnist"), ("Succeeded", "done"))
    for index in (0, 1):
        server.put_pod(job, "worker", index=index, status=ended(0))
    found = client.get("mnist")
    lines = {(each.replica, each.text) for each in found.logs()}
    assert ("worker-1", "last of mnist-worker-1") in lines
    assert {each.replica for each in found.logs(replica="worker-0")} == {"worker-0"}
    assert [str(each) for each in found.logs(follow=False, replica="worker-0", tail=1)] == [
        "[worker-0] last of mnist-worker-0"
    ]
    with pytest.raises(TFJobError, match="has no replica 'worker-7'"):
        list(found.logs(follow=False, replica="worker-7"))


def test_a_job_is_suspended_resumed_scaled_restarted_and_deleted(
    server: ThreadedApiServer, client: Client
) -> None:
    made = server.put_job(tfjob("W2", name="mnist"), ("Running", "busy"))
    server.put_pod(made, "worker", index=1)
    job = client.get("mnist")
    job.suspend()
    assert server.endpoint.request("GET", f"{JOBS}/mnist")["spec"]["runPolicy"]["suspend"] is True
    job.resume()
    assert server.endpoint.request("GET", f"{JOBS}/mnist")["spec"]["runPolicy"]["suspend"] is False
    job.scale(5)
    spec = server.endpoint.request("GET", f"{JOBS}/mnist")["spec"]["tfReplicaSpecs"]
    assert spec["Worker"]["replicas"] == 5
    with pytest.raises(TFJobError, match="has no pod of 'worker-3'"):
        job.restart("worker-3")
    job.delete()
    assert server.job_names() == []
    with pytest.raises(TFJobError, match="was deleted"):
        _ = job.status


def test_a_block_deletes_its_job_even_if_it_is_gone(
    server: ThreadedApiServer, client: Client
) -> None:
    with client.submit(TFJob([tfjob("W1", name="a")])):
        assert server.job_names() == ["a"]
    assert server.job_names() == []
    with client.submit(TFJob([tfjob("W1", name="b")])) as job:
        job.delete()


async def test_async_job_has_the_same_methods(server: ThreadedApiServer, client: Client) -> None:
    made = server.put_job(tfjob("W1", name="mnist"), ("Succeeded", "done"))
    server.put_pod(made, "worker", status=ended(0))
    async with client.get("mnist").aio as job:
        assert (await job.status()).state == "Succeeded"
        assert (await job.wait(1)).has_succeeded
        assert (await job.explain()).sentence == "the job has succeeded"
        lines = [each.text async for each in job.logs()]
        assert "last of mnist-worker-0" in lines
        with pytest.raises(TFJobError, match="has finished"):
            await job.suspend()
    assert server.job_names() == []


def test_notebooks_show_a_table_in_which_nothing_is_markup(
    server: ThreadedApiServer, client: Client
) -> None:
    server.put_job(tfjob("W2", name="mnist"), ("Running", "<script>alert(1)</script>"))
    shown = client.get("mnist")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "0 of 2 active" in shown
    assert repr(client.get("mnist")) == "<TFJob default/mnist: Running>"
    assert "not submitted" in repr(TFJob([tfjob("W1", name="a")]))
