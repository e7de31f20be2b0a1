"""A pod's status as a kubelet writes it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tfjob.local.node.checkpoint import (
    ContainerRecord,
    PodFailure,
    PodRecord,
    Running,
    State,
    Terminated,
    Waiting,
)
from tfjob.local.node.pod_status import (
    phase_of,
    pod_status,
    qos_class,
    unscheduled_status,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
THEN = "2026-01-01T00:00:00Z"
UP = Running(THEN)
OK = Terminated(exit_code=0, reason="Completed", started_at=THEN, finished_at=THEN)
BAD = Terminated(exit_code=3, reason="Error", started_at=THEN, finished_at=THEN)
NEW = Waiting("ContainerCreating")
LOOP = Waiting("CrashLoopBackOff", "back-off 10s")


def one(state: State, *, name: str = "c", last: Terminated | None = None) -> ContainerRecord:
    return ContainerRecord(name=name, state=state, last=last)


def record(*containers: ContainerRecord, **more: Any) -> PodRecord:
    facts: dict[str, Any] = {"namespace": "ns", "name": "p", "uid": "u", "started_at": THEN}
    return PodRecord(**facts, containers=containers, **more)


@pytest.mark.parametrize(
    ("states", "policy", "phase"),
    [
        ((NEW,), "Never", "Pending"),
        ((UP,), "Never", "Running"),
        ((UP, BAD), "Never", "Running"),
        ((UP, NEW), "Never", "Pending"),
        ((OK, OK), "Never", "Succeeded"),
        ((OK, BAD), "Never", "Failed"),
        ((OK, OK), "OnFailure", "Succeeded"),
        ((OK, BAD), "OnFailure", "Running"),
        ((OK, OK), "Always", "Running"),
    ],
)
def test_phase_follows_the_containers(states: tuple[State, ...], policy: str, phase: str) -> None:
    containers = [one(state, name=f"c{n}") for n, state in enumerate(states)]
    assert phase_of(record(*containers), policy) == phase


def test_a_container_that_waits_for_its_restart_keeps_the_pod_running() -> None:
    assert phase_of(record(one(LOOP, last=BAD)), "OnFailure") == "Running"


@pytest.mark.parametrize(
    ("init", "policy", "phase"),
    [(UP, "Never", "Pending"), (BAD, "Never", "Failed"), (BAD, "OnFailure", "Pending")],
)
def test_the_phase_follows_init_containers_first(init: State, policy: str, phase: str) -> None:
    assert phase_of(record(one(NEW), init=(one(init, name="i"),)), policy) == phase


def test_a_verdict_on_the_pod_overrides_its_containers() -> None:
    judged = record(one(UP), verdict=PodFailure("DeadlineExceeded", "too long"))
    status = pod_status({"spec": {}}, judged, now=NOW)
    assert (status["phase"], status["reason"], status["message"]) == (
        "Failed",
        "DeadlineExceeded",
        "too long",
    )


def pod(policy: str = "Never", **status: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "tf:2"}]
    spec = {"restartPolicy": policy, "containers": containers, "initContainers": [{"name": "i"}]}
    return {"spec": spec, "status": status}


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c.get("reason", "")) for c in status["conditions"]}


def test_a_running_pod_is_ready() -> None:
    status = pod_status(pod(), record(one(UP)), now=NOW)
    assert conditions(status) == {
        "PodReadyToStartContainers": ("True", ""),
        "Initialized": ("True", ""),
        "Ready": ("True", ""),
        "ContainersReady": ("True", ""),
        "PodScheduled": ("True", ""),
    }
    (container,) = status["containerStatuses"]
    assert container["state"] == {"running": {"startedAt": THEN}}
    assert (container["ready"], container["started"], container["image"]) == (True, True, "tf:2")
    assert (status["podIP"], status["startTime"]) == ("127.0.0.1", THEN)


def test_conditions_of_a_finished_pod_have_its_reason() -> None:
    done = conditions(pod_status(pod(), record(one(OK)), now=NOW))
    assert done["Ready"] == ("False", "PodCompleted")
    assert done["Initialized"] == ("True", "PodCompleted")
    failed = conditions(pod_status(pod(), record(one(BAD)), now=NOW))
    assert failed["Ready"] == ("False", "PodFailed")


def test_unready_and_uninitialised_containers_are_named() -> None:
    status = pod_status(pod(), record(one(NEW), init=(one(UP, name="i"),)), now=NOW)
    texts = {c["type"]: c.get("message") for c in status["conditions"]}
    assert texts["Ready"] == "containers with unready status: [c]"
    assert texts["Initialized"] == "containers with incomplete status: [i]"
    assert status["initContainerStatuses"][0]["state"] == {"running": {"startedAt": THEN}}


def test_an_init_container_that_succeeded_is_ready() -> None:
    status = pod_status(pod(), record(one(UP), init=(one(OK, name="i"),)), now=NOW)
    assert status["initContainerStatuses"][0]["ready"] is True


def test_last_state_and_restart_count_are_shown() -> None:
    crashed = ContainerRecord(name="c", state=LOOP, last=BAD, restarts=2, pid=9, start_time="8")
    (shown,) = pod_status(pod("Always"), record(crashed), now=NOW)["containerStatuses"]
    assert shown["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}
    assert shown["lastState"]["terminated"]["exitCode"] == 3
    assert shown["restartCount"] == 2


def test_a_condition_keeps_its_time_while_its_value_stays() -> None:
    before = [{"type": "Ready", "status": "True", "lastTransitionTime": THEN}]
    status = pod_status(pod(conditions=before), record(one(UP)), now=NOW)
    times = {c["type"]: c["lastTransitionTime"] for c in status["conditions"]}
    assert times["Ready"] == THEN
    assert times["Initialized"] == "2026-01-02T03:04:05Z"


def test_an_unschedulable_pod_is_pending_with_the_reason() -> None:
    status = unscheduled_status(pod(), reason="Unschedulable", message="0/1", now=NOW)
    assert status["phase"] == "Pending"
    (condition,) = status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_quality_of_service_follows_requests_and_limits(
    resources: dict[str, Any], expected: str
) -> None:
    assert qos_class({"containers": [{"resources": resources}]}) == expected
