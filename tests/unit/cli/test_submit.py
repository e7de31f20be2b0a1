from pathlib import Path
from typing import Any

import pytest

from tests.support.job_files import written
from tests.support.local_apiserver.serving import JOBS, ThreadedApiServer, api_server_in_thread
from tests.support.other_jobs import old_job
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
OLD_JOBS = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"
TEAM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}


def config_map(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


def job_in(namespace: str) -> dict[str, Any]:
    job = tfjob("W1", name="a")
    job["metadata"]["namespace"] = namespace
    return job


def config_maps(cluster: ThreadedApiServer) -> list[str]:
    items = cluster.endpoint.request("GET", CONFIG_MAPS)["items"]
    return [each["metadata"]["name"] for each in items if each["metadata"]["name"] == "c"]


def test_all_jobs_and_other_objects_of_a_file_are_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, config_map("c"), tfjob("W1", name="a"), tfjob("W1", name="b"))
    with api_server_in_thread(tmp_path / "data") as cluster:
        assert main(["submit", "--dry-run", file, *cluster.flags]) == 0
        assert (cluster.job_names(), config_maps(cluster)) == ([], [])
        assert main(["submit", file, *cluster.flags]) == 0
        assert (cluster.job_names(), config_maps(cluster)) == (["a", "b"], ["c"])
    assert capsys.readouterr().out.splitlines() == [
        "ConfigMap default/c can be created",
        "TFJob default/a can be created",
        "TFJob default/b can be created",
        "ConfigMap default/c created",
        "TFJob default/a created",
        "TFJob default/b created",
    ]


def test_a_job_that_exists_is_an_error_and_nothing_is_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, config_map("c"), tfjob("W1", name="a"), tfjob("W1", name="b"))
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob("W1", name="b"))
        assert main(["submit", file, *cluster.flags]) == 1
        assert (cluster.job_names(), config_maps(cluster)) == (["b"], [])
    error = "error: TFJob default/b exists; `tfjob delete b` removes it\n"
    assert capsys.readouterr().err == error


def test_the_command_that_removes_a_job_names_its_namespace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_in("team")
    with api_server_in_thread(tmp_path / "data") as cluster:
        assert main(["submit", written(tmp_path, TEAM, job), *cluster.flags]) == 0
        file = written(tmp_path, job)
        assert main(["submit", file, *cluster.flags]) == 1
        assert main(["submit", "-n", "team", file, *cluster.flags]) == 1
    error = "error: TFJob team/a exists; `tfjob delete a -n team` removes it\n"
    assert capsys.readouterr().err == error * 2


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize(
    ("collection", "job"),
    [
        (JOBS, tfjob("W1", name="a")),
        (OLD_JOBS, old_job(name="a")),
    ],
)
def test_a_job_that_kubectl_exported_is_created_again(
    tmp_path: Path, collection: str, job: dict[str, Any], *, is_list: bool
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.endpoint.request("POST", collection, job)
        exported = cluster.endpoint.request("GET", f"{collection}/a")
        cluster.endpoint.request("DELETE", f"{collection}/a")
        whole = {"apiVersion": "v1", "kind": "List", "items": [exported]} if is_list else exported
        assert main(["submit", written(tmp_path, whole), *cluster.flags]) == 0
        again = cluster.endpoint.request("GET", f"{collection}/a")
    exported["spec"].pop("RuntimeId", None)  # each job has its own
    assert again["spec"] == exported["spec"]
    assert again["metadata"]["uid"] != exported["metadata"]["uid"]


def test_ties_to_another_cluster_are_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tfjob("W1", name="a")
    job["metadata"]["finalizers"] = ["example.com/keep"]
    with api_server_in_thread(tmp_path / "data") as cluster:
        assert main(["submit", written(tmp_path, job), *cluster.flags]) == 0
        assert "finalizers" not in cluster.endpoint.request("GET", f"{JOBS}/a")["metadata"]
    assert "TFJob a: metadata.finalizers is left out" in capsys.readouterr().err


def test_other_objects_that_exist_are_left_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, config_map("c"), tfjob("W1", name="a"))
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.endpoint.request("POST", CONFIG_MAPS, {**config_map("c"), "data": {"mine": "x"}})
        assert main(["submit", file, *cluster.flags]) == 0
        assert cluster.endpoint.request("GET", f"{CONFIG_MAPS}/c")["data"] == {"mine": "x"}
    assert capsys.readouterr().out.splitlines()[0] == "ConfigMap default/c exists, unchanged"


def test_a_faulty_file_is_rejected_before_the_cluster_is_contacted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = tfjob("W1", name="a")
    job["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "Sometimes"
    assert main(["submit", written(tmp_path, job), "--kubeconfig", "/nowhere"]) == 2
    err = capsys.readouterr().err
    assert "restartPolicy" in err
    assert "job.yaml:" in err
    assert main(["submit", written(tmp_path, config_map("c"))]) == 2
    assert "no job in it" in capsys.readouterr().err


def test_a_namespace_that_contradicts_the_file_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_in("default")
    with api_server_in_thread(tmp_path / "data") as cluster:
        assert main(["submit", "-n", "team", written(tmp_path, job), *cluster.flags]) == 1
        del job["metadata"]["namespace"]
        assert main(["submit", "-n", "team", written(tmp_path, job), *cluster.flags]) == 1
        assert cluster.job_names() == []
    first, second = capsys.readouterr().err.splitlines()
    assert "metadata.namespace is 'default', but --namespace is 'team'" in first
    assert second.endswith(
        'namespaces "team" not found; `kubectl create namespace team` creates it'
    )


def test_a_file_may_create_the_namespace_of_its_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_in("team")
    with api_server_in_thread(tmp_path / "data") as cluster:
        assert main(["submit", written(tmp_path, TEAM, job), *cluster.flags]) == 0
    created = ["Namespace team created", "TFJob team/a created"]
    assert capsys.readouterr().out.splitlines() == created


def test_warnings_are_printed_and_the_job_is_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        assert main(["submit", written(tmp_path, tfjob("W0", name="a")), *cluster.flags]) == 0
        assert cluster.job_names() == ["a"]
    assert capsys.readouterr().err.startswith("TFJob a: warning: every replica type has 0 replicas")
