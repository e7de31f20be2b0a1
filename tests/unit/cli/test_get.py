import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.local_apiserver.serving import JOBS, ThreadedApiServer, api_server_in_thread
from tests.support.other_jobs import old_job
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main
from tfjob.sdk import jobs, template_changes

MOMENT = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def cluster(cluster: ThreadedApiServer) -> ThreadedApiServer:
    cluster.put_job(tfjob("C1 W2", name="two"), ("Created", "made"), ("Running", "it runs"))
    cluster.put_job(tfjob("W1", name="one"))
    return cluster


def got(cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["get", *words, *cluster.flags]) == 0
    return capsys.readouterr().out


def test_jobs_are_listed_by_name_with_their_newest_condition(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    head, *rows = got(cluster, capsys).splitlines()
    assert head.split() == ["NAME", "STATE", "ACTIVE", "RESTARTS", "REPLICAS", "AGE"]
    assert [row.split()[0] for row in rows] == ["one", "two"]
    assert "Running" in rows[1]
    assert "1 chief, 2 worker" in rows[1]


def test_a_job_that_was_scaled_to_zero_is_shown_to_have_no_replicas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob("W2", name="idle"), ("Running", ""))
        cluster.put_job(tfjob("W0", name="over"), ("Succeeded", ""))
        assert main(["scale", "idle", "--replicas=0", *cluster.flags]) == 0
        capsys.readouterr()
        _, idle, over = got(cluster, capsys).splitlines()
    assert "Running (no replicas)" in idle
    assert "no replicas" not in over


def test_jobs_of_all_namespaces_show_their_namespace(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    first = got(cluster, capsys, "-A", "-o", "wide").splitlines()[1].split()
    assert (first[0], first[-2:]) == ("default", ["kubeflow.org/v1", "<none>"])


def test_wide_output_names_the_replicas_with_an_older_template(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        made = cluster.put_job(tfjob("W2", name="j"), ("Running", ""))
        for index in range(2):
            cluster.put_pod(made, "worker", index=index)
        assert got(cluster, capsys, "j", "-o", "wide").splitlines()[1].endswith("<none>")
        new = tfjob("W2", name="j")["spec"]
        new["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"] = "y"
        cluster.endpoint.request("PATCH", f"{JOBS}/j", {"spec": new})
        head, row = got(cluster, capsys, "j", "-o", "wide").splitlines()
        assert "OUTDATED" not in got(cluster, capsys, "j")
    assert head.endswith("OUTDATED")
    assert row.endswith("worker-0 and worker-1")


def test_wide_output_reads_the_pods_of_at_most_eight_jobs_at_a_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading: set[str] = set()
    most = 0

    async def counted(_: object, found: jobs.ClusterJob) -> list[Any]:
        nonlocal most
        reading.add(found.name)
        most = max(most, len(reading))
        await asyncio.sleep(0)
        reading.remove(found.name)
        return []

    def outdated(found: jobs.ClusterJob, _: object) -> list[str]:
        return [f"worker-of-{found.name}"]

    monkeypatch.setattr(template_changes, "has_changed", lambda _: True)
    monkeypatch.setattr(template_changes, "outdated_replicas", outdated)
    monkeypatch.setattr(jobs, "pod_manifests", counted)
    with api_server_in_thread(tmp_path / "data") as cluster:
        for index in range(10):
            cluster.put_job(tfjob("W1", name=f"j{index}"))
        rows = got(cluster, capsys, "-o", "wide").splitlines()[1:]
    assert most == 8
    assert [row.split()[-1] for row in rows] == [f"worker-of-j{index}" for index in range(10)]


def test_restarts_in_place_of_a_finished_job_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = {"index": 0, "uid": "u", "streak": 0, "time": MOMENT, "cause": "InPlace"}
    records = [{**record, "inPlace": 4, "excused": 1}]
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob("W1", name="j"), ("Failed", ""))
        worker = {"restarts": 2, "recentRestarts": records}
        status = {"replicaStatuses": {"Worker": worker}}
        cluster.endpoint.request("PATCH", f"{JOBS}/j/status", {"status": status})
        assert got(cluster, capsys, "j").splitlines()[1].split()[3] == "5"


def test_jobs_of_several_apis_show_their_api(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob(name="same"))
        jobs = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"
        cluster.endpoint.request("POST", jobs, old_job(name="same"))
        head, *rows = got(cluster, capsys).splitlines()
        assert head.split()[-1] == "API"
        apis = {row.split()[-1] for row in rows}
        assert apis == {"kubeflow.org/v1", "tensorflow.org/v1alpha1"}
        assert main(["delete", "same", *cluster.flags]) == 1
        assert main(["delete", "same", "--api", "tensorflow.org", *cluster.flags]) == 0
        assert "TfJob default/same deleted" in capsys.readouterr().out
        assert cluster.job_names() == ["same"]


def test_a_single_job_is_printed_as_an_object_and_not_as_a_list(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert yaml.safe_load(got(cluster, capsys, "one", "-o", "yaml"))["metadata"]["name"] == "one"
    assert json.loads(got(cluster, capsys, "-o", "json"))["kind"] == "List"
    assert got(cluster, capsys, "one", "-o", "name") == "tfjobs.kubeflow.org/one\n"


def test_a_missing_job_is_reported(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["get", "three", *cluster.flags]) == 1
    assert "no job 'three' in namespace 'default'" in capsys.readouterr().err


def test_an_empty_namespace_is_not_an_error(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["get", "-n", "elsewhere", *cluster.flags]) == 0
    assert capsys.readouterr().err == "No jobs found in elsewhere.\n"


def test_a_missing_kubeconfig_is_reported_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["get", "--kubeconfig", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_a_missing_job_does_not_hide_the_others(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["get", "one", "nope", *cluster.flags]) == 1
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1].split()[0] == "one"
    assert captured.err.startswith("error: no job 'nope' in namespace 'default'")


def test_an_unreachable_cluster_is_reported_with_a_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        flags = cluster.flags
    assert main(["get", *flags]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: the cluster does not answer: ")
    assert "`tfjob local up` starts a cluster on this machine" in err


def test_an_empty_result_is_printed_as_a_list(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert json.loads(got(cluster, capsys, "-n", "elsewhere", "-o", "json"))["items"] == []


def test_watch_is_rejected_unless_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "-w", "-o", "json"]) == 2
    assert "--watch prints a table" in capsys.readouterr().err
