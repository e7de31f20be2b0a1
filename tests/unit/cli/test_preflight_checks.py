import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.job_files import written
from tests.support.local_apiserver.serving import JOBS, ThreadedApiServer, api_server_in_thread
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main
from tfjob.client.errors import ApiError, Forbidden, NotFound
from tfjob.client.http import Api

NODES = "/api/v1/nodes"
NO_ACCOUNT = 'error looking up service account default/robot: serviceaccount "robot" not found'


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ThreadedApiServer]:
    """A server with one node of 4 CPUs."""
    with api_server_in_thread(tmp_path / "data") as up:
        node = {
            "metadata": {"name": "n1"},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
        }
        up.endpoint.request("POST", NODES, node)
        yield up


def with_requests(job: Any, **requests: str) -> Any:
    for replica in job["spec"]["tfReplicaSpecs"].values():
        replica["template"]["spec"]["containers"][0]["resources"] = {"requests": requests}
    return job


def template(job: Any) -> Any:
    return job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]


def test_everything_that_is_missing_is_named_at_once(
    cluster: ThreadedApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = with_requests(tfjob("W2", name="big"), cpu="3")
    template(job)["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    template(job)["serviceAccountName"] = "robot"
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "gone"}
    cluster.put_job(tfjob("W1", name="big"))
    assert main(["preflight", "-o", "json", written(tmp_path, job), *cluster.flags]) == 1
    [found] = json.loads(capsys.readouterr().out)
    assert found["startsNow"] is False
    failing = [(e["check"], e["message"]) for e in found["findings"] if e["verdict"] == "fails"]
    assert failing == [
        ("job", "a job of this name exists"),
        ("pods", f'pods "big-worker-0" is forbidden: {NO_ACCOUNT}'),
        ("objects", "PersistentVolumeClaim 'data' does not exist"),
        ("objects", "ServiceAccount 'robot' does not exist"),
        ("nodes", "1 of 2 pods would wait for capacity: big-worker-1"),
        ("queue", "LocalQueue 'gone' does not exist in the namespace"),
    ]
    assert all(each["remedy"] for each in found["findings"] if each["verdict"] == "fails")


def test_a_pod_larger_than_every_node_is_named_with_the_largest(
    cluster: ThreadedApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = with_requests(tfjob("W3", name="big"), cpu="64")
    assert main(["preflight", written(tmp_path, job), *cluster.flags]) == 1
    out = capsys.readouterr().out
    assert "TFJob default/big: would not start now" in out
    why = "big-worker-0 (and 2 more): it requests 64 cpu of one node, and the largest has 4"
    assert why in out


def test_a_missing_namespace_is_named_once(
    cluster: ThreadedApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["preflight", "-n", "team", written(tmp_path, tfjob("W1")), *cluster.flags]) == 1
    lines = capsys.readouterr().out.splitlines()
    failing = [line for line in lines if "FAILS" in line]
    assert len(failing) == 1
    assert 'namespaces "team" not found' in failing[0]


def test_a_job_that_exists_is_named_once_and_does_not_count_against_itself(
    cluster: ThreadedApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = with_requests(tfjob("C1 W1", name="up"), cpu="2")
    made = cluster.put_job(job)
    container = {"resources": {"requests": {"cpu": "2"}}}
    for kind in ("chief", "worker"):
        cluster.put_pod(made, kind, container=container)
    assert main(["preflight", written(tmp_path, job), *cluster.flags]) == 1
    failing = [line for line in capsys.readouterr().out.splitlines() if "FAILS" in line]
    assert failing == ["  FAILS    job      a job of this name exists"]


def test_the_command_that_deletes_an_existing_job_names_its_namespace(
    cluster: ThreadedApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    cluster.endpoint.request("POST", "/api/v1/namespaces", space)
    job = tfjob("W1", name="up")
    cluster.endpoint.request("POST", JOBS.replace("default", "team"), job)
    assert main(["preflight", "-n", "team", written(tmp_path, job), *cluster.flags]) == 1
    assert "or delete the job: `tfjob delete up -n team`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("refusal", "named"),
    [
        pytest.param(None, ["chief", "worker"], id="readable"),
        pytest.param(NotFound("gone"), ["worker"], id="deleted in the meantime"),
        pytest.param(Forbidden("cannot get resource"), ["chief", "worker"], id="not readable"),
    ],
)
def test_a_pod_of_somebody_else_is_named(
    cluster: ThreadedApiServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    refusal: ApiError | None,
    named: list[str],
) -> None:
    get = Api.get

    async def get_or_refuse(api: Api, path: str, **options: Any) -> Any:
        if refusal is not None and path.endswith("/pods/up-chief-0"):
            raise refusal
        return await get(api, path, **options)

    job = tfjob("C1 W1", name="up")
    made = cluster.put_job(job)
    for kind in ("chief", "worker"):
        cluster.put_pod(made, kind)
    cluster.endpoint.request("DELETE", f"{JOBS}/up", {"propagationPolicy": "Orphan"})
    monkeypatch.setattr(Api, "get", get_or_refuse)
    assert main(["preflight", written(tmp_path, job), *cluster.flags]) == 1
    failing = [line.split(maxsplit=2) for line in capsys.readouterr().out.splitlines()]
    found = [words[2] for words in failing if words[:2] == ["FAILS", "pods"]]
    assert found == [f"a pod 'up-{kind}-0' exists" for kind in named]
