"""`tfjob explain`: one sentence first, then the evidence."""

import json
from typing import Any

import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer
from tests.support.other_jobs import old_job
from tests.support.tfjobs import tfjob
from tfjob.cli.advice import GROUP
from tfjob.cli.main import main
from tfjob.client.http import Api
from tfjob.dialects.job_annotations import RECOVERY
from tfjob.sdk.explanation import KEYS

EVENTS = "/api/v1/namespaces/default/events"
STORED = {
    "cause": "OutOfMemory",
    "message": "worker-1 was killed: out of memory (limit 200Mi), exit code 137, on node n3",
    "remedy": "Raise the memory limit.",
    "replica": "worker-1",
    "node": "n3",
    "reason": "OOMKilled",
    "exitCode": 137,
    "since": "2026-01-01T12:04:00Z",
    "lastLines": "step 41\nstep 42\x1b[31m",
    "incidentCount": 1,
    "incidents": [
        {
            "key": "u/0",
            "cause": "OutOfMemory",
            "replica": "worker-1",
            "exitCode": 137,
            "time": "2026-01-01T12:04:00Z",
            "consequences": {"worker": "0,2"},
        }
    ],
}


def explained(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], *words: str
) -> list[str]:
    assert main(["explain", *words, *cluster.flags]) == 0
    return capsys.readouterr().out.splitlines()


def as_json(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], name: str
) -> dict[str, Any]:
    return dict(json.loads("\n".join(explained(cluster, capsys, name, "-o", "json"))))


def job_with(cluster: ThreadedApiServer, name: str, **status: Any) -> dict[str, Any]:
    job = cluster.put_job(tfjob("W3", name=name), ("Created", "made"), ("Running", "it runs"))
    path = f"/apis/kubeflow.org/v1/namespaces/default/tfjobs/{name}/status"
    if status:
        cluster.endpoint.request("PATCH", path, {"status": status})
    return job


def ended(code: int, *, finished: str, reason: str = "Error") -> dict[str, Any]:
    state = {
        "exitCode": code,
        "reason": reason,
        "startedAt": "2026-01-01T12:00:00Z",
        "finishedAt": finished,
    }
    container = {"name": "tensorflow", "restartCount": 0, "state": {"terminated": state}}
    return {"phase": "Failed", "containerStatuses": [container]}


def pod_of(
    cluster: ThreadedApiServer, job: dict[str, Any], status: dict[str, Any]
) -> dict[str, Any]:
    cluster.put_pod(job, "worker", status=status)
    path = f"/api/v1/namespaces/default/pods/{job['metadata']['name']}-worker-0"
    return {**cluster.endpoint.request("GET", path), "kind": "Pod"}


def event(job: dict[str, Any], about: dict[str, Any], **fields: str) -> dict[str, Any]:
    meta = about["metadata"]
    kind = about.get("kind") or job["kind"]
    return {
        "metadata": {"name": f"{meta['name']}.{fields['reason'].lower()}"},
        "involvedObject": {
            "kind": kind,
            "name": meta["name"],
            "namespace": "default",
            "uid": meta["uid"],
        },
        "type": "Warning",
        "lastTimestamp": "2100-01-01T00:00:00Z",
        **fields,
    }


def test_the_first_line_is_a_summary_and_the_sections_show_the_evidence(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job_with(cluster, "mnist", diagnosis=STORED)
    lines = explained(cluster, capsys, "mnist")
    assert lines[0] == (
        "mnist: worker-1 was killed: out of memory (limit 200Mi), exit code 137, on node n3;"
        " worker-0 and worker-2 then lost it and ended; the job runs again."
    )
    assert "  Exit code: 137" in lines
    assert "    step 42␛[31m" in lines
    assert any("worker-0 and worker-2 followed" in line for line in lines)
    place = lines.index("What to do:")
    assert lines[place + 1].startswith("  Raise the memory limit")
    assert lines[place + 2] == f"  {GROUP}"


def test_group_restarts_are_not_recommended_to_a_job_that_has_them(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job_with(cluster, "grouped", diagnosis=STORED)
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/grouped"
    body = {"metadata": {"annotations": {RECOVERY: "Group"}}}
    cluster.endpoint.request("PATCH", path, body)
    assert f"  {GROUP}" not in explained(cluster, capsys, "grouped")


def test_the_timeline_goes_from_creation_to_outcome_within_one_second(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    moment = STORED["since"]
    conditions = [
        {"type": kind, "status": "True", "message": text, "lastTransitionTime": moment}
        for kind, text in (("Failed", "a job has failed"), ("Created", "the job is created"))
    ]
    job_with(cluster, "order", diagnosis=STORED, conditions=conditions)
    lines = explained(cluster, capsys, "order")
    place = lines.index("Timeline:")
    texts = [line.split(maxsplit=1)[1] for line in lines[place + 1 : place + 4]]
    assert texts[0] == "the job is created"
    assert texts[1].startswith("worker-1 was killed")
    assert texts[2] == "a job has failed"


def test_an_event_that_repeats_the_timeline_is_left_out(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_with(cluster, "once", diagnosis=STORED)
    repeated = f"{STORED['message']}. {STORED['remedy']}"
    for reason, message in (("OutOfMemory", repeated), ("FailedCreatePod", "a pod is refused")):
        cluster.endpoint.request("POST", EVENTS, event(job, job, reason=reason, message=message))
    lines = explained(cluster, capsys, "once")
    shown = lines[lines.index("Events:") + 1 :]
    assert [line.split(": ", 1)[1] for line in shown] == ["FailedCreatePod: a pod is refused"]


def test_restarts_in_place_are_counted_before_the_status_shows_them(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = tfjob("W1:OnFailure", name="loop", run_policy={"backoffLimit": 3})
    job = cluster.put_job(limited, ("Running", "it runs"))
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/loop/status"
    cluster.endpoint.request("PATCH", path, {"status": {"diagnosis": STORED}})
    container = {"name": "tensorflow", "restartCount": 2, "state": {"running": {}}}
    cluster.put_pod(job, "worker", status={"phase": "Running", "containerStatuses": [container]})
    first = explained(cluster, capsys, "loop")[0]
    assert first.endswith("the job runs again, 1 of 3 restarts left.")


def test_a_job_without_replicas_is_not_reported_as_starting(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.put_job(tfjob("W0", name="none"), ("Created", "made"))
    assert explained(cluster, capsys, "none")[0] == (
        "none: the job has no replicas, so nothing runs; set replicas to 1 or more."
    )


def test_a_job_that_was_scaled_to_zero_is_not_reported_as_running_again(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.put_job(tfjob("W0", name="idle"), ("Running", "it runs"))
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/idle/status"
    cluster.endpoint.request("PATCH", path, {"status": {"diagnosis": STORED}})
    first = explained(cluster, capsys, "idle")[0]
    now = "the job has no replicas, so nothing runs; set replicas to 1 or more"
    assert first == f"idle: {now}; before that, {STORED['message']}."
    assert as_json(cluster, capsys, "idle")["cause"] is None
    assert main(["describe", "idle", *cluster.flags]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "State: Running (no replicas)" in lines
    assert f"Why: {first.removeprefix('idle: ').removesuffix('.')}" in lines


@pytest.mark.parametrize("verb", ["describe", "explain"])
def test_the_pods_are_read_once(
    cluster: ThreadedApiServer, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    asked: list[str] = []
    get = Api.get

    async def counting(api: Api, path: str, **more: Any) -> Any:
        asked.append(path.rpartition("/")[2])
        return await get(api, path, **more)

    monkeypatch.setattr(Api, "get", counting)
    job = cluster.put_job(tfjob("W1", name=f"once-{verb}"), ("Created", "made"))
    cluster.put_pod(job, "worker")
    path = f"/apis/kubeflow.org/v1/namespaces/default/tfjobs/once-{verb}"
    cluster.endpoint.request("PATCH", path, {"spec": {"runPolicy": {"backoffLimit": 4}}})
    assert main([verb, f"once-{verb}", *cluster.flags]) == 0
    assert asked.count("pods") == 1


def test_the_json_has_the_published_keys(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job_with(cluster, "keys", diagnosis=STORED)
    found = as_json(cluster, capsys, "keys")
    assert {each: found[each] for each in ("cause", "replica", "exitCode", "node")} == {
        "cause": "OutOfMemory",
        "replica": "worker-1",
        "exitCode": 137,
        "node": "n3",
    }
    assert set(KEYS) <= set(found)
    assert found["stored"] is True
    job_with(cluster, "well")
    healthy = as_json(cluster, capsys, "well")
    assert (healthy["cause"], healthy["incidents"]) == (None, [])
    assert "nothing is wrong" in healthy["message"]


def test_a_job_of_another_operator_is_explained_by_its_pods(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_with(cluster, "other")
    cluster.put_pod(job, "worker", index=0, status=ended(1, finished="2026-01-01T12:04:09Z"))
    killed = ended(137, finished="2026-01-01T12:04:01Z", reason="OOMKilled")
    cluster.put_pod(job, "worker", index=1, status=killed)
    found = as_json(cluster, capsys, "other")
    assert (found["cause"], found["replica"]) == ("OutOfMemory", "worker-1")
    assert found["incidents"][0]["consequences"] == {"worker": "0"}
    assert found["stored"] is False


def test_a_failed_job_without_pods_is_explained_by_its_verdict(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = "Job gone has failed because it has reached the specified backoff limit"
    cluster.put_job(tfjob("W1", name="gone"), ("Created", "made"), ("Failed", verdict))
    assert as_json(cluster, capsys, "gone")["cause"] == "BackoffLimitExceeded"


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("FailedMount", "MountFailed"),
        ("FailedAttachVolume", "MountFailed"),
        ("FailedCreatePodSandBox", "SandboxFailed"),
    ],
)
def test_a_cause_that_only_events_show_is_read_from_events(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], reason: str, cause: str
) -> None:
    name = reason.lower()
    job = job_with(cluster, name)
    about = pod_of(cluster, job, {"phase": "Pending"})
    cluster.endpoint.request("POST", EVENTS, event(job, about, reason=reason, message="no luck"))
    found = as_json(cluster, capsys, name)
    assert (found["cause"], found["replica"]) == (cause, "worker-0")


def test_a_probe_that_restarts_a_container_is_named(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_with(cluster, "probed")
    container = {"name": "tensorflow", "restartCount": 2, "state": {"running": {}}}
    status = {"phase": "Running", "containerStatuses": [container]}
    about = pod_of(cluster, job, status)
    warning = event(job, about, reason="Unhealthy", message="Liveness probe failed: HTTP 500")
    cluster.endpoint.request("POST", EVENTS, warning)
    assert as_json(cluster, capsys, "probed")["cause"] == "ProbeFailed"


def test_a_refused_create_of_another_operator_is_read_from_its_event(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_with(cluster, "refused")
    warning = event(job, job, reason="FailedCreatePod", message="Error creating: exceeded quota: q")
    cluster.endpoint.request("POST", EVENTS, warning)
    assert as_json(cluster, capsys, "refused")["cause"] == "QuotaExceeded"


def test_jobs_of_other_apis_are_explained(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"
    cluster.endpoint.request("POST", jobs, old_job(name="old"))
    status = {"phase": "Running", "state": "Running", "diagnosis": STORED}
    cluster.endpoint.request("PATCH", f"{jobs}/old/status", {"status": status})
    lines = explained(cluster, capsys, "tfjobs.tensorflow.org/old")
    assert lines[0].startswith("old: worker-1 was killed: out of memory")


def test_describe_and_wait_print_the_same_sentence(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.put_job(tfjob("W3", name="same"), ("Created", "made"), ("Failed", "it broke"))
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/same/status"
    cluster.endpoint.request("PATCH", path, {"status": {"diagnosis": STORED}})
    sentence = explained(cluster, capsys, "same")[0].removeprefix("same: ").removesuffix(".")
    assert main(["describe", "same", *cluster.flags]) == 0
    assert sentence in capsys.readouterr().out
    assert main(["wait", "same", *cluster.flags]) == 1
    assert sentence in capsys.readouterr().out


def test_a_running_job_shows_when_its_replicas_last_printed(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = job_with(cluster, "quiet")
    cluster.put_pod(job, "worker")
    lines = explained(cluster, capsys, "quiet")
    assert lines[0].startswith("quiet: nothing is wrong: the job runs")
    assert lines[lines.index("Activity:") + 1].startswith("  worker-0: ")
