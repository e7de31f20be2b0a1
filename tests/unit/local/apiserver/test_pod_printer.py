"""Table rows of pods."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tfjob.local.apiserver.pod_printer import pod_row, shown_state

Json = dict[str, Any]
NOW = datetime(2026, 1, 1, 12, 10, tzinfo=UTC)
RUNNING: Json = {"running": {}}
DONE: Json = {"terminated": {"exitCode": 0, "reason": "Completed"}}
FAILED: Json = {"terminated": {"exitCode": 1, "reason": "Error"}}
READY = {"type": "Ready", "status": "True"}


def cells(spec: Json, status: Json) -> list[Any]:
    """READY, STATUS and RESTARTS."""
    pod = {"metadata": {"name": "p"}, "spec": spec, "status": status}
    return pod_row(pod, NOW)[1:4]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "X"}}}]}, "X"),
        (
            {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]},
            "ExitCode:3",
        ),
        ({"phase": "Pending", "initContainerStatuses": [{"state": {"running": {}}}]}, "Init:0/1"),
    ],
)
def test_status_is_the_reason_of_a_container_or_else_the_phase(status: Json, state: str) -> None:
    pod = {"metadata": {}, "spec": {"initContainers": [{}]}, "status": status}
    assert shown_state(pod) == state


@pytest.mark.parametrize(
    ("others", "conditions", "state"),
    [
        ([{"ready": True, "state": RUNNING}], [READY], "Running"),
        ([{"ready": True, "state": RUNNING}], [], "NotReady"),
        ([{"state": FAILED}], [], "Error"),
        ([], [], "Completed"),
    ],
)
def test_a_completed_container_gives_way_to_one_that_runs_or_failed(
    others: list[Json], conditions: list[Json], state: str
) -> None:
    status = {"containerStatuses": [{"state": DONE}, *others], "conditions": conditions}
    assert cells({}, status)[1] == state


def test_a_gated_pod_is_shown_as_gated() -> None:
    gate = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    assert cells({}, {"phase": "Pending", "conditions": [gate]})[1] == "SchedulingGated"


def test_restarts_show_the_time_since_the_last_one() -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T12:05:00Z"}}
    container = {"restartCount": 3, "ready": True, "state": RUNNING, "lastState": ended}
    status = {"phase": "Running", "containerStatuses": [container]}
    assert cells({"containers": [{}]}, status) == ["1/1", "Running", "3 (5m ago)"]


def test_restarts_of_init_containers_count_until_they_have_finished() -> None:
    spec = {"initContainers": [{"name": "i"}], "containers": [{"name": "c"}]}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    status: Json = {
        "phase": "Pending",
        "initContainerStatuses": [{"name": "i", "restartCount": 2, "state": waiting}],
        "containerStatuses": [{"name": "c", "restartCount": 1, "state": {}}],
    }
    assert cells(spec, status) == ["0/1", "Init:CrashLoopBackOff", "2"]
    status["initContainerStatuses"][0]["state"] = DONE
    assert cells(spec, status) == ["0/1", "Pending", "1"]


def test_a_native_sidecar_counts_as_a_container() -> None:
    spec = {
        "initContainers": [{"name": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "c"}],
    }
    sidecar = {"name": "s", "restartCount": 2, "started": True, "ready": True, "state": RUNNING}
    container = {"name": "c", "ready": True, "state": RUNNING}
    status = {
        "phase": "Running",
        "initContainerStatuses": [sidecar],
        "containerStatuses": [container],
    }
    assert cells(spec, status) == ["2/2", "Running", "2"]
    status["initContainerStatuses"] = [{**sidecar, "started": False, "ready": False}]
    assert cells(spec, status)[1] == "Init:0/1"


def test_readiness_gates_show_how_many_are_true() -> None:
    pod = {
        "metadata": {"name": "p"},
        "spec": {"readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}]},
        "status": {"conditions": [{"type": "b", "status": "True"}]},
    }
    assert pod_row(pod, NOW)[-1] == "1/2"
