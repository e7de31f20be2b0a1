import pytest

from tests.support.local_apiserver.serving import ThreadedApiServer, ended
from tests.support.other_jobs import old_job
from tests.support.tfjobs import tfjob
from tfjob.cli.main import main

EVENTS = "/api/v1/namespaces/default/events"


def described(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str], name: str
) -> list[str]:
    assert main(["describe", name, *cluster.flags]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_state_conditions_pods_and_events_are_shown(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = cluster.put_job(tfjob("W2", name="broken"), ("Created", "made"), ("Failed", "it broke"))
    cluster.put_pod(job, "worker", index=1, status=ended(3))
    cluster.put_pod(job, "worker", index=0)
    meta = job["metadata"]
    about = {"kind": "TFJob", "name": "broken", "namespace": "default", "uid": meta["uid"]}
    event = {
        "metadata": {"name": "broken.1"},
        "involvedObject": about,
        "reason": "Broken",
        "message": "so it is",
        "type": "Warning",
        "count": 2,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    cluster.endpoint.request("POST", EVENTS, event)
    lines = described(cluster, capsys, "broken")
    assert "State: Failed" in lines
    pods = lines[lines.index("Pods:") + 2 :][:2]
    assert pods[0].startswith("worker-0 broken-worker-0 Running 0")
    assert pods[1].endswith("tensorflow: Error, exit code 3")
    assert any(line.endswith("so it is (x2)") for line in lines)


def test_a_pod_that_cannot_be_placed_says_why(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = cluster.put_job(tfjob("W1", name="large"))
    why = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    cluster.put_pod(job, "worker", status={"phase": "Pending", "conditions": [why]})
    lines = described(cluster, capsys, "large")
    assert lines[lines.index("Pods:") + 2].endswith("Unschedulable: " + str(why["message"]))


def test_a_restarted_container_shows_how_it_ended(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = cluster.put_job(tfjob("W1", name="again"))
    container = {
        "name": "tensorflow",
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
    }
    status = {"phase": "Running", "containerStatuses": [container]}
    cluster.put_pod(job, "worker", status=status)
    lines = described(cluster, capsys, "again")
    why = "tensorflow: CrashLoopBackOff after OOMKilled, exit code 137"
    assert lines[lines.index("Pods:") + 2].endswith(why)


def test_a_job_that_no_operator_has_seen_is_reported(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.put_job(tfjob("W1", name="unseen"))
    lines = described(cluster, capsys, "unseen")
    assert "State: none yet: no operator has reconciled the job" in lines
    assert lines[lines.index("Pods:") + 1] == "none"


def test_a_job_of_another_controller_is_reported_until_it_has_a_status(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = {"managedBy": "kueue.x-k8s.io/multikueue"}
    cluster.put_job(tfjob("W1", name="away", run_policy=policy))
    lines = described(cluster, capsys, "away")
    silence = "the controller that `managedBy` names has not reported the job's status"
    assert f"State: none yet: {silence}" in lines
    assert f"Why: {silence} yet" in lines
    moment = "2026-01-01T00:00:00Z"
    running = {"type": "Running", "status": "True", "lastTransitionTime": moment}
    status = {"conditions": [running], "replicaStatuses": {"Worker": {"active": 1}}}
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs/away/status"
    cluster.endpoint.request("PATCH", path, {"status": status})
    lines = described(cluster, capsys, "away")
    assert "State: Running" in lines
    (why,) = (line for line in lines if line.startswith("Why: "))
    assert "1 of 1 replicas are active; another controller manages the job" in why


def test_phase_reason_and_tensorboard_of_other_apis_are_shown(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"
    cluster.endpoint.request("POST", jobs, old_job(name="old", tensorboard={"logDir": "/logs"}))
    status = {"phase": "Creating", "state": "Running", "reason": "no quota"}
    cluster.endpoint.request("PATCH", f"{jobs}/old/status", {"status": status})
    lines = described(cluster, capsys, "tfjobs.tensorflow.org/old")
    assert "API: tensorflow.org/v1alpha1 TfJob" in lines
    assert "State: Created (phase Creating)" in lines
    assert "Reason: no quota" in lines
    assert "Replicas: 1 master" in lines
    assert "TensorBoard: tensorboard-76no has no pod" in lines
    assert "Created True - TfJob old is created" in lines


def test_text_of_users_cannot_control_the_terminal(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\nFORGED"
    job = cluster.put_job(tfjob("W1", name="evil"), ("Created", evil), ("Failed", evil))
    waiting = {"reason": "CreateContainerError", "message": evil}
    container = {"name": "tensorflow", "state": {"waiting": waiting}}
    cluster.put_pod(job, "worker", status={"phase": "Pending", "containerStatuses": [container]})
    about = {"kind": "TFJob", "name": "evil", "uid": job["metadata"]["uid"]}
    event = {
        "metadata": {"name": "evil.1"},
        "involvedObject": {**about, "namespace": "default"},
        "reason": evil,
        "message": evil,
    }
    cluster.endpoint.request("POST", EVENTS, event)
    for words in (["describe", "evil"], ["wait", "evil"], ["get", "evil"]):
        main([*words, *cluster.flags])
        shown = capsys.readouterr().out
        assert {sign for sign in shown if ord(sign) < 32} <= {"\n"}
        assert not any(line.lstrip().startswith("FORGED") for line in shown.splitlines())


def test_a_command_that_was_not_found_shows_its_message(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = cluster.put_job(tfjob("W1", name="typo"))
    status = ended(127)
    message = 'command "pythonn" was not found'
    status["containerStatuses"][0]["state"]["terminated"]["message"] = message
    cluster.put_pod(job, "worker", status=status)
    lines = described(cluster, capsys, "typo")
    assert lines[lines.index("Pods:") + 2].endswith(f"exit code 127: {message}")


def test_events_of_one_second_are_in_order_and_include_warnings_of_pods(
    cluster: ThreadedApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    job = cluster.put_job(tfjob("W1", name="order"))
    own = {"kind": "TFJob", "name": "order", "uid": job["metadata"]["uid"]}
    pod = {"kind": "Pod", "name": "order-worker-0", "uid": "gone"}
    other = {"kind": "Pod", "name": "other-worker-0", "uid": "other"}
    for name, about, message in (
        ("order.z", own, "first"),
        ("order.y", pod, "second"),
        ("order.x", own, "third"),
        ("order.w", other, "of another job"),
    ):
        event = {
            "metadata": {"name": name},
            "involvedObject": {**about, "namespace": "default"},
            "type": "Warning",
            "reason": "R",
            "message": message,
            "lastTimestamp": "2099-01-01T00:00:00Z",
        }
        cluster.endpoint.request("POST", EVENTS, event)
    lines = described(cluster, capsys, "order")
    rows = [line.split(maxsplit=3)[-1] for line in lines[lines.index("Events:") + 2 :]]
    assert rows == ["first", "order-worker-0: second", "third"]
