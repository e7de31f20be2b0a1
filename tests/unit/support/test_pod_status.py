"""Statuses are what a kubelet would have written."""

from typing import Any

import pytest

from tests.support.fake_kubelet import lifecycle, pod_status
from tests.support.fake_kubelet.pod_status import Exit, Status

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"


def pod(*containers: str, policy: str = "Never", status: Status | None = None) -> dict[str, Any]:
    names = containers or ("tensorflow",)
    return {
        "metadata": {"name": "worker-0", "uid": "3f1c", "generation": 2},
        "spec": {
            "restartPolicy": policy,
            "containers": [{"name": name, "image": "tf"} for name in names],
        },
        "status": status or {"phase": "Pending"},
    }


def running(*containers: str, policy: str = "Never") -> dict[str, Any]:
    fresh = pod(*containers, policy=policy)
    fresh["spec"]["nodeName"] = "n0"
    return {**fresh, "status": pod_status.running(fresh, EARLIER)}


def ended(before: dict[str, Any], code: int) -> Status:
    """The status once a kubelet has reported a container's end and all that follows from it."""
    status = pod_status.exited(before, NOW, container="tensorflow", how=Exit(code=code))
    step: Status | lifecycle.Action | None = status
    while isinstance(step, dict):
        status = step
        step = lifecycle.next_step({**before, "status": status}, NOW)
    return status


def condition(status: Status, kind: str) -> Status:
    return next(entry for entry in status["conditions"] if entry["type"] == kind)


def states(status: Status) -> list[str]:
    return [next(iter(entry["state"])) for entry in status["containerStatuses"]]


@pytest.mark.parametrize("is_phase_reported", [False, True])
def test_start_that_comes_late_leaves_an_ended_pod_as_it_is(is_phase_reported: bool) -> None:
    before = running()
    exited = pod_status.exited(before, NOW, container="tensorflow", how=Exit(code=0))
    status = ended(before, 0) if is_phase_reported else exited
    assert pod_status.running({**before, "status": status}, NOW) == status


def test_running_pod_is_ready_and_has_an_address() -> None:
    status = pod_status.running(pod(), NOW)
    container = status["containerStatuses"][0]
    assert status["phase"] == "Running"
    assert status["startTime"] == NOW
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    assert status["observedGeneration"] == 2
    assert condition(status, "Ready")["status"] == "True"
    assert (container["ready"], container["started"]) == (True, True)
    assert container["state"] == {"running": {"startedAt": NOW}}
    assert container["containerID"].startswith("containerd://")


def test_container_that_runs_keeps_its_start_time() -> None:
    status = pod_status.running(running(), NOW)
    assert status["containerStatuses"][0]["state"]["running"]["startedAt"] == EARLIER
    assert condition(status, "Ready")["lastTransitionTime"] == EARLIER


def is_prepared(status: Status) -> bool:
    return bool(condition(status, "PodReadyToStartContainers")["status"] == "True")


def test_pod_whose_image_is_not_pulled_is_pending_and_has_its_sandbox() -> None:
    status = pod_status.waiting(pod(), NOW, reason="ImagePullBackOff", message="no image")
    waits = status["containerStatuses"][0]["state"]["waiting"]
    assert status["phase"] == "Pending"
    assert waits == {"reason": "ImagePullBackOff", "message": "no image"}
    assert "podIP" in status
    assert condition(status, "Ready")["message"] == "containers with unready status: [tensorflow]"
    assert is_prepared(status)


def test_pod_whose_container_is_not_created_has_no_address() -> None:
    status = pod_status.waiting(pod(), NOW, reason="ContainerCreating")
    assert "podIP" not in status
    assert not is_prepared(status)


def test_init_container_that_fails_for_good_fails_the_pod() -> None:
    given = pod()
    given = {**given, "spec": {**given["spec"], "initContainers": [{"name": "fetch"}]}}
    status = pod_status.init_failed(given, NOW, container="fetch", how=Exit(code=4))
    assert status["phase"] == "Failed"
    (fetch,) = status["initContainerStatuses"]
    assert fetch["state"]["terminated"]["exitCode"] == 4
    waits = status["containerStatuses"][0]["state"]["waiting"]
    assert waits == {"reason": "PodInitializing"}


@pytest.mark.parametrize(
    ("code", "phase", "reason", "ready_reason"),
    [(0, "Succeeded", "Completed", "PodCompleted"), (3, "Failed", "Error", "PodFailed")],
)
def test_last_container_decides_the_phase_under_never(
    code: int, phase: str, reason: str, ready_reason: str
) -> None:
    status = ended(running(), code)
    state = status["containerStatuses"][0]["state"]["terminated"]
    assert status["phase"] == phase
    assert (state["exitCode"], state["reason"]) == (code, reason)
    assert (state["startedAt"], state["finishedAt"]) == (EARLIER, NOW)
    assert condition(status, "Ready")["reason"] == ready_reason


def test_given_reason_is_kept() -> None:
    how = Exit(code=137, reason="OOMKilled")
    status = pod_status.exited(running(), NOW, container="tensorflow", how=how)
    assert status["containerStatuses"][0]["state"]["terminated"]["reason"] == "OOMKilled"


def test_pod_runs_on_while_a_sidecar_runs() -> None:
    both = running("tensorflow", "sidecar")
    status = pod_status.exited(both, NOW, container="tensorflow", how=Exit(code=0))
    assert status["phase"] == "Running"
    assert states(status) == ["terminated", "running"]
    assert condition(status, "Ready")["status"] == "False"


@pytest.mark.parametrize(
    ("policy", "code", "restarts"),
    [("Always", 0, 1), ("Always", 1, 1), ("OnFailure", 1, 1), ("OnFailure", 0, 0), ("Never", 1, 0)],
)
def test_restart_policy_decides_whether_a_container_starts_again(
    policy: str, code: int, restarts: int
) -> None:
    status = ended(running(policy=policy), code)
    assert status["containerStatuses"][0]["restartCount"] == restarts
    assert (status["phase"] == "Running") == bool(restarts)


def test_restarted_container_remembers_how_it_ended_and_is_another() -> None:
    before = running(policy="OnFailure")
    status = pod_status.restarted(before, NOW, container="tensorflow", how=Exit(code=1), count=3)
    container = status["containerStatuses"][0]
    old = before["status"]["containerStatuses"][0]
    assert container["restartCount"] == 3
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert container["lastState"]["terminated"]["containerID"] == old["containerID"]
    assert container["containerID"] != old["containerID"]


def test_crash_loop_keeps_the_phase_running() -> None:
    crashed = running(policy="OnFailure")
    crashed["status"] = pod_status.restarted(crashed, NOW, container="tensorflow", how=Exit(code=1))
    status = pod_status.waiting(crashed, NOW, reason="CrashLoopBackOff")
    assert status["phase"] == "Running"
    assert states(status) == ["waiting"]


def test_evicted_pod_failed_for_a_reason() -> None:
    status = pod_status.evicted(running(policy="Always"), NOW, message="low on memory")
    assert status["phase"] == "Failed"
    assert (status["reason"], status["message"]) == ("Evicted", "low on memory")
    assert condition(status, "DisruptionTarget")["reason"] == "TerminationByKubelet"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


def test_unschedulable_pod_is_unknown_to_kubelets() -> None:
    status = pod_status.unschedulable(pod(), NOW, message="0/3 nodes are available")
    assert status["phase"] == "Pending"
    assert "containerStatuses" not in status
    assert condition(status, "PodScheduled") == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes are available",
        "lastTransitionTime": NOW,
    }


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (143, "Failed")])
def test_pod_that_is_over_has_a_final_phase_whatever_its_policy(code: int, phase: str) -> None:
    status = pod_status.over(running(policy="Always"), NOW, how=Exit(code=code))
    assert status["phase"] == phase


def test_container_that_had_ended_keeps_its_exit_code_when_the_pod_is_over() -> None:
    both = running("tensorflow", "sidecar")
    both["status"] = pod_status.exited(both, NOW, container="tensorflow", how=Exit(code=0))
    status = pod_status.over(both, NOW, how=Exit(code=143))
    codes = [entry["state"]["terminated"]["exitCode"] for entry in status["containerStatuses"]]
    assert codes == [0, 143]
    assert status["phase"] == "Failed"


def test_conditions_of_others_are_kept() -> None:
    gated = pod(status={"phase": "Pending", "conditions": [{"type": "mine", "status": "True"}]})
    assert condition(pod_status.running(gated, NOW), "mine") == {"type": "mine", "status": "True"}


def test_unknown_container_is_rejected_by_name() -> None:
    with pytest.raises(LookupError, match="pod worker-0: has no container 'main', only tensorflow"):
        pod_status.exited(running(), NOW, container="main", how=Exit(code=0))
