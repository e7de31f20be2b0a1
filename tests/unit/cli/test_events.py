from pathlib import Path
from typing import Any

import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer, api_server_in_thread
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main

EVENTS = "/api/v1/namespaces/default/events"


def put_event(cluster: ThreadedApiServer, name: str, involved: dict[str, Any], **more: Any) -> None:
    body = {
        "metadata": {"name": name},
        "involvedObject": {"namespace": "default", **involved},
        "type": "Normal",
        "lastTimestamp": "2099-01-01T00:00:00Z",
        **more,
    }
    cluster.endpoint.request("POST", EVENTS, body)


def test_events_of_the_job_and_its_pods_are_listed_and_those_of_others_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        job = cluster.put_job(tfjob("W1", name="a"))
        own = {"kind": "TFJob", "name": "a", "uid": job["metadata"]["uid"]}
        put_event(cluster, "one", own, reason="SuccessfulCreatePod", message="Created pod")
        pod = {"kind": "Pod", "name": "a-worker-0", "uid": "p"}
        put_event(cluster, "two", pod, type="Warning", reason="BackOff", message="\x1b[2Jback-off")
        put_event(cluster, "three", {"kind": "Pod", "name": "b-worker-0", "uid": "q"}, reason="X")
        assert main(["events", "a", *cluster.flags]) == 0
        shown = capsys.readouterr().out
        assert main(["events", "a", "--warnings", *cluster.flags]) == 0
        warnings = capsys.readouterr().out
    head, first, second = shown.splitlines()
    assert head.split("   ")[0] == "LAST SEEN"
    assert first.split()[1:] == ["Normal", "SuccessfulCreatePod", "tfjob/a", "Created", "pod"]
    assert "pod/a-worker-0" in second
    assert "\x1b" not in second
    assert [line.split()[2] for line in warnings.splitlines()[1:]] == ["BackOff"]


def test_events_of_one_second_are_listed_as_they_were_stored_whoever_wrote_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kube-scheduler sets the eventTime and no lastTimestamp."""
    with api_server_in_thread(tmp_path / "data") as cluster:
        job = cluster.put_job(tfjob("W1", name="a"))
        own = {"kind": "TFJob", "name": "a", "uid": job["metadata"]["uid"]}
        pod = {"kind": "Pod", "name": "a-worker-0", "uid": "p"}
        put_event(cluster, "z", own, reason="SuccessfulCreatePod")
        scheduler = {
            "lastTimestamp": None,
            "eventTime": "2099-01-01T00:00:00.900000Z",
            "reportingComponent": "default-scheduler",
            "reportingInstance": "default-scheduler-a",
            "action": "Binding",
        }
        put_event(cluster, "y", pod, reason="Scheduled", **scheduler)
        put_event(cluster, "x", pod, reason="Pulled")
        assert main(["events", "a", *cluster.flags]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[2] for line in lines] == ["SuccessfulCreatePod", "Scheduled", "Pulled"]
    assert not any("<unknown>" in line for line in lines)


def test_a_job_without_events_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with api_server_in_thread(tmp_path / "data") as cluster:
        cluster.put_job(tfjob("W1", name="a"))
        assert main(["events", "a", *cluster.flags]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "No events found for TFJob default/a.\n"
