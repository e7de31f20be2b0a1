"""The status of a pod as a kubelet writes it: phase, conditions, container statuses.

It depends only on the pod, its record and its previous status. A condition keeps its transition
time while its value stays the same.
"""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from typing import Any

from tfjob.k8s import time
from tfjob.local.node.checkpoint import ContainerRecord, PodRecord, Running, Terminated, Waiting

Json = Mapping[str, Any]
LOOPBACK = "127.0.0.1"
IDLE = "tfjob.dev/Idle"


def phase_of(record: PodRecord, policy: str) -> str:
    """Pending, Running, Succeeded or Failed."""
    if record.verdict is not None:
        return "Failed"
    if any(_failed_for_good(one, policy) for one in record.init):
        return "Failed"
    if not all(_succeeded(one) for one in record.init):
        return "Pending"
    if any(isinstance(one.state, Waiting) and one.last is None for one in record.containers):
        return "Pending"
    if any(isinstance(one.state, Running) for one in record.containers):
        return "Running"
    return _phase_when_all_stopped(record.containers, policy)


def is_finished(record: PodRecord, policy: str) -> bool:
    return phase_of(record, policy) in ("Succeeded", "Failed")


def is_over(pod: Json) -> bool:
    """Whether the phase in the API is final."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def pod_status(
    pod: Json, record: PodRecord, *, now: datetime, not_listening: Set[str] = frozenset()
) -> dict[str, Any]:
    """The status of a pod on this node; `not_listening` names containers that are not ready yet."""
    spec = pod.get("spec") or {}
    policy = str(spec.get("restartPolicy") or "Always")
    phase = phase_of(record, policy)
    status: dict[str, Any] = {
        "phase": phase,
        "conditions": _conditions(pod, record, phase=phase, now=now, not_listening=not_listening),
        "hostIP": LOOPBACK,
        "hostIPs": [{"ip": LOOPBACK}],
        "podIP": LOOPBACK,
        "podIPs": [{"ip": LOOPBACK}],
        "startTime": record.started_at,
        "qosClass": qos_class(spec),
        "containerStatuses": _container_statuses(
            spec.get("containers"), record.containers, not_listening=not_listening
        ),
    }
    if record.init:
        status["initContainerStatuses"] = _container_statuses(
            spec.get("initContainers"), record.init, is_init=True
        )
    if record.verdict is not None:
        status |= {"reason": record.verdict.reason, "message": record.verdict.message}
    return status


def unscheduled_status(pod: Json, *, reason: str, message: str, now: datetime) -> dict[str, Any]:
    """The status of a pod that cannot be scheduled."""
    scheduled = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    conditions = _with_times([scheduled], pod, now=now)
    return {"phase": "Pending", "conditions": conditions, "qosClass": qos_class(pod["spec"])}


def idle_condition(since: datetime) -> dict[str, Any]:
    """The condition of a pod whose containers do nothing."""
    idle = _condition(
        IDLE,
        holds=True,
        reason="NoOutputNoCPU",
        message=f"no output and no CPU time since {time.render(since)}",
    )
    return {**idle, "lastTransitionTime": time.render(since)}


def qos_class(spec: Json) -> str:
    """Guaranteed, Burstable or BestEffort, by requests and limits of CPU and memory."""
    every = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    guaranteed, anything = True, False
    for container in every:
        resources = container.get("resources") or {}
        limits = resources.get("limits") or {}
        requests = {**limits, **(resources.get("requests") or {})}
        for name in ("cpu", "memory"):
            anything = anything or name in requests
            guaranteed = guaranteed and name in limits and requests[name] == limits[name]
    if not anything:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _failed_for_good(one: ContainerRecord, policy: str) -> bool:
    state = one.state
    return policy == "Never" and isinstance(state, Terminated) and state.exit_code != 0


def _succeeded(one: ContainerRecord) -> bool:
    return isinstance(one.state, Terminated) and one.state.exit_code == 0


def _phase_when_all_stopped(containers: Sequence[ContainerRecord], policy: str) -> str:
    if policy == "Always":
        return "Running"
    if all(_succeeded(one) for one in containers):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def _container_statuses(
    specs: Sequence[Json] | None,
    records: Sequence[ContainerRecord],
    *,
    is_init: bool = False,
    not_listening: Set[str] = frozenset(),
) -> list[dict[str, Any]]:
    spec_of = {str(spec.get("name")): spec for spec in specs or ()}
    return [
        _container_status(
            spec_of.get(record.name, {}),
            record,
            is_init=is_init,
            is_silent=record.name in not_listening,
        )
        for record in records
    ]


def _container_status(
    spec: Json, record: ContainerRecord, *, is_init: bool, is_silent: bool
) -> dict[str, Any]:
    is_running = isinstance(record.state, Running)
    status: dict[str, Any] = {
        "name": record.name,
        "image": spec.get("image") or "",
        "imageID": "",
        "ready": (is_running and not is_silent) or (is_init and _succeeded(record)),
        "started": is_running,
        "restartCount": record.restarts,
        "state": _state(record.state),
        "lastState": _state(record.last) if record.last is not None else {},
    }
    if not isinstance(record.state, Waiting):
        status["containerID"] = container_id(record)
    return status


def container_id(record: ContainerRecord) -> str:
    return f"process://{record.pid}-{record.start_time}" if record.pid > 0 else ""


def _state(state: Waiting | Running | Terminated) -> dict[str, Any]:
    if isinstance(state, Waiting):
        return {"waiting": _present(reason=state.reason, message=state.message)}
    if isinstance(state, Running):
        return {"running": {"startedAt": state.started_at}}
    facts = _present(
        reason=state.reason,
        message=state.message,
        startedAt=state.started_at,
        finishedAt=state.finished_at,
        containerID=state.container_id,
    )
    return {"terminated": {"exitCode": state.exit_code, **facts}}


def _present(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}


def _conditions(
    pod: Json, record: PodRecord, *, phase: str, now: datetime, not_listening: Set[str]
) -> list[dict[str, Any]]:
    unready = [
        one.name
        for one in record.containers
        if not isinstance(one.state, Running) or one.name in not_listening
    ]
    waiting = [one.name for one in record.init if not _succeeded(one)]
    reason, message = _why_not_ready(phase, unready)
    ready = _condition("Ready", holds=not reason, reason=reason, message=message)
    containers = {**ready, "type": "ContainersReady"}
    initialized = _condition("Initialized", holds=True)
    if phase == "Succeeded":
        initialized["reason"] = "PodCompleted"
    elif waiting:
        listed = f"containers with incomplete status: [{' '.join(waiting)}]"
        why = "ContainersNotInitialized"
        initialized = _condition("Initialized", holds=False, reason=why, message=listed)
    prepared = _condition("PodReadyToStartContainers", holds=phase in ("Pending", "Running"))
    scheduled = _condition("PodScheduled", holds=True)
    return _with_times([prepared, initialized, ready, containers, scheduled], pod, now=now)


def _why_not_ready(phase: str, unready: Sequence[str]) -> tuple[str, str]:
    if phase == "Succeeded":
        return "PodCompleted", ""
    if phase == "Failed":
        return "PodFailed", ""
    if unready:
        return "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return "", ""


def _condition(kind: str, *, holds: bool, reason: str = "", message: str = "") -> dict[str, Any]:
    value = "True" if holds else "False"
    return {"type": kind, "status": value, **_present(reason=reason, message=message)}


def _with_times(
    conditions: Sequence[dict[str, Any]], pod: Json, *, now: datetime
) -> list[dict[str, Any]]:
    before = {old.get("type"): old for old in (pod.get("status") or {}).get("conditions") or ()}
    stamped = []
    for condition in conditions:
        old = before.get(condition["type"]) or {}
        same = old.get("status") == condition["status"] and old.get("lastTransitionTime")
        since = old["lastTransitionTime"] if same else time.render(now)
        stamped.append({**condition, "lastTransitionTime": since})
    return stamped
