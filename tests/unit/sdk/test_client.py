from pathlib import Path
from typing import Any

import pytest

from tests.support.local_apiserver.serving import JOBS, ThreadedApiServer
from tests.support.other_jobs import old_job
from tests.support.tfjobs import tfjob
from tfjob.sdk.bound_cluster import connected
from tfjob.sdk.client import Client, connect
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job import TFJob
from tfjob.sdk.loop_thread import loop_thread
from tfjob.sdk.run import run

MAPS = "/api/v1/namespaces/default/configmaps"
OLD_JOBS = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"


def train() -> None:
    """What a job of these tests would run."""


def names_of(server: ThreadedApiServer, path: str) -> list[str]:
    return [each["metadata"]["name"] for each in server.endpoint.request("GET", path)["items"]]


def test_jobs_of_all_apis_are_listed_and_found(server: ThreadedApiServer, client: Client) -> None:
    server.put_job(tfjob("W1", name="b"))
    server.endpoint.request("POST", OLD_JOBS, old_job(name="a"))
    assert [each.name for each in client.jobs()] == ["a", "b"]
    assert client.get("a").status.state == "Pending"
    with pytest.raises(TFJobError, match="no job 'c'") as caught:
        client.get("c")
    assert caught.value.remedy == "`tfjob get -A` lists all jobs"


def test_a_job_is_submitted_once(server: ThreadedApiServer, client: Client) -> None:
    job = TFJob([tfjob("W1", name="mnist")])
    with pytest.raises(TFJobError, match="is not on a cluster"):
        job.wait()
    assert client.submit(job) is job
    assert server.job_names() == ["mnist"]
    with pytest.raises(TFJobError, match="is on a cluster already"):
        client.submit(job)
    with pytest.raises(TFJobError, match="TFJob default/mnist exists"):
        client.submit(TFJob.from_yaml(job.to_yaml()))


def test_a_job_that_kubectl_exported_is_submitted_again(
    server: ThreadedApiServer, client: Client
) -> None:
    server.endpoint.request("POST", OLD_JOBS, old_job(name="a"))
    exported = server.endpoint.request("GET", f"{OLD_JOBS}/a")
    server.endpoint.request("DELETE", f"{OLD_JOBS}/a")
    assert client.submit(TFJob([exported])).status.state == "Pending"


def test_the_code_is_created_with_its_job_and_owned_by_it(
    server: ThreadedApiServer, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    job = run("train.py", code=tmp_path, where=client, image="tensorflow:1", name="mnist")
    (found,) = server.endpoint.request("GET", MAPS)["items"]
    assert found["data"]["train.py"] == "print(1)\n"
    uid = server.endpoint.request("GET", f"{JOBS}/mnist")["metadata"]["uid"]
    assert [each["uid"] for each in found["metadata"]["ownerReferences"]] == [uid]
    assert job.status.state == "Pending"


def test_code_that_exists_is_used_only_if_it_is_the_same(
    server: ThreadedApiServer, client: Client, tmp_path: Path
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print(1)\n")

    def start() -> TFJob:
        return run("train.py", code=code, where=client, image="tensorflow:1", name="mnist")

    start()
    (found,) = server.endpoint.request("GET", MAPS)["items"]
    name = found["metadata"]["name"]

    def plant(**content: Any) -> None:
        server.endpoint.request("DELETE", f"{MAPS}/{name}")
        server.endpoint.request("DELETE", f"{JOBS}/mnist")
        server.endpoint.request("POST", MAPS, {"metadata": {"name": name}, **content})

    plant(data=found["data"], immutable=True)
    start()
    plant(data={"train.py": "print(2)"}, immutable=True)
    with pytest.raises(TFJobError, match="exists with another content") as caught:
        start()
    assert "kubectl delete configmap" in caught.value.remedy
    assert server.job_names() == []


def test_on_this_machine_a_namespace_is_made_when_it_is_needed(
    server: ThreadedApiServer,
) -> None:
    bound = connected(server.kubeconfig, namespace="team", is_local=True)
    with Client(loop_thread().call(bound)) as here:
        here.submit(TFJob([tfjob("W1", name="mnist")]))
        assert [(each.namespace, each.name) for each in here.jobs()] == [("team", "mnist")]


def test_a_refused_job_leaves_nothing_behind(
    server: ThreadedApiServer, client: Client, tmp_path: Path
) -> None:
    (tmp_path / "train.py").touch()
    server.put_job(tfjob("W1", name="mnist"))
    with pytest.raises(TFJobError, match="exists"):
        run("train.py", code=tmp_path, where=client, image="tensorflow:1", name="mnist")
    assert names_of(server, MAPS) == []


def test_errors_are_raised_before_anything_is_created(
    server: ThreadedApiServer, client: Client, tmp_path: Path
) -> None:
    with pytest.raises(TFJobError, match="a cluster needs an image"):
        run(train, where=client)
    with pytest.raises(TFJobError, match="fit=True and share_gpus=True: train runs on a cluster"):
        run(train, where=client, image="tensorflow:1", fit=True, share_gpus=True)
    code = tmp_path / "code"
    code.mkdir()
    with pytest.raises(TFJobError, match="outside of the code folder"):
        run(train, where=client, image="tensorflow:1", code=code)
    (code / "data.bin").write_bytes(b"x" * 2_000_000)
    with pytest.raises(TFJobError, match="does not fit into a ConfigMap"):
        run("json.tool", where=client, image="tensorflow:1", code=code)
    with pytest.raises(TFJobError, match="name: "):
        run("json.tool", where=client, image="tensorflow:1", code=None, name="Not_A_Name")
    assert server.job_names() == []
    assert names_of(server, MAPS) == []


def test_unreachable_cluster_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(TFJobError) as caught:
        connect(tmp_path / "nothing")
    assert "$KUBECONFIG" in caught.value.remedy


def test_a_context_is_found_by_its_name(
    server: ThreadedApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig))
    server.put_job(tfjob("W1", name="a"))
    with connect() as here:
        assert [each.name for each in here.jobs()] == ["a"]
    with pytest.raises(TFJobError, match="context must be one of: tfjob-local; got 'nothing'"):
        connect("nothing")
    monkeypatch.setenv("KUBECONFIG", "")
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(TFJobError, match="context 'nothing' does not exist: no cluster is conf"):
        connect("nothing")
