"""Pod statuses as a kubelet writes them: a pod and an event in, the next status out.

Pure functions. The phase follows from the containers and the restart policy by the kubelet's own
rule, unless the event sets it. Ids and addresses derive from the pod's uid, so that the same pod
always looks the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

Pod = Mapping[str, Any]
Status = dict[str, Any]

_REASON_WHEN_OVER = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}
PHASES_OVER = frozenset(_REASON_WHEN_OVER)


@dataclass(frozen=True, kw_only=True)
class Exit:
    """How a container ended; without a reason, the kubelet's usual one."""

    code: int
    reason: str = ""
    message: str = ""

    def after(self, entry: Status, now: str) -> Status:
        """The terminated state of a container whose status was the given one."""
        return _without_blanks(
            exitCode=self.code,
            reason=self.reason or ("Completed" if self.code == 0 else "Error"),
            message=self.message,
            startedAt=entry["state"].get("running", {}).get("startedAt", now),
            finishedAt=now,
            containerID=entry.get("containerID", ""),
        )


def unschedulable(pod: Pod, now: str, *, message: str) -> Status:
    """The scheduler found no node; no kubelet knows the pod."""
    scheduled = _condition("PodScheduled", is_true=False, reason="Unschedulable", message=message)
    conditions = _stamped(pod, now, [scheduled])
    return {**pod["status"], "phase": "Pending", "conditions": conditions}


def waiting(
    pod: Pod, now: str, *, reason: str, message: str = "", has_sandbox: bool | None = None
) -> Status:
    """Every container waits, as with ContainerCreating, ImagePullBackOff or CrashLoopBackOff.

    Images are pulled when the volumes are mounted and the sandbox is there.
    """
    state = {"waiting": _without_blanks(reason=reason, message=message)}
    containers = [_stopped(entry, state) for entry in _entries(pod)]
    if has_sandbox is None:
        has_sandbox = reason not in {"ContainerCreating", "PodInitializing"}
    return _status(pod, now, containers=containers, has_sandbox=has_sandbox)


def running(pod: Pod, now: str) -> Status:
    """Every container that waits starts; one that runs or has ended stays as it is.

    Two actors may start the same pod, and the slower one may find it ended. An API server refuses
    to take an ended container back, unless the restart policy says so.
    """
    entries = _entries(pod)
    is_over = pod["status"].get("phase") in PHASES_OVER
    if is_over or not any("waiting" in entry["state"] for entry in entries):
        return {**pod["status"]}
    containers = [
        _started(pod, entry, now) if "waiting" in entry["state"] else entry for entry in entries
    ]
    return _status(pod, now, containers=containers)


def exited(pod: Pod, now: str, *, container: str, how: Exit) -> Status:
    """One container has ended; the phase stays, for a kubelet reports that a second later."""
    containers = _one_changed(pod, container, lambda entry: _ended(entry, now, how))
    return _status(pod, now, containers=containers, phase=pod["status"]["phase"])


def init_failed(pod: Pod, now: str, *, container: str, how: Exit) -> Status:
    """An init container has ended for good with an error, so nothing else ever starts."""
    entries = [
        _ended(_fresh(spec), now, how) if spec["name"] == container else _fresh(spec)
        for spec in pod["spec"].get("initContainers", [])
    ]
    state = {"waiting": {"reason": "PodInitializing"}}
    containers = [_stopped(entry, state) for entry in _entries(pod)]
    status = _status(pod, now, containers=containers, phase="Failed")
    return {**status, "initContainerStatuses": entries}


def stopped(pod: Pod, now: str, *, how: Exit) -> Status:
    """Every container that had not ended has ended in the same way; the phase stays for now."""
    return _status(pod, now, containers=_all_ended(pod, now, how), phase=pod["status"]["phase"])


def settled(pod: Pod, now: str) -> Status:
    """The phase follows from the containers."""
    return _status(pod, now, containers=_entries(pod))


def backing_off(pod: Pod, now: str) -> Status:
    """Every container that has ended waits to be started again."""
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    return _status(
        pod,
        now,
        containers=[
            _stopped(entry, state) if "terminated" in entry["state"] else entry
            for entry in _entries(pod)
        ],
    )


def restarted(
    pod: Pod, now: str, *, container: str, how: Exit | None = None, count: int = 1
) -> Status:
    """One container has started again, so many times more.

    `how` says how it ended each time; without it, as its status says.
    """

    def again(entry: Status) -> Status:
        ended = entry["state"].get("terminated") or entry["lastState"].get("terminated")
        last = ended if how is None else how.after(entry, now)
        restarts = entry["restartCount"] + count
        return _started(
            pod, {**entry, "lastState": {"terminated": last}, "restartCount": restarts}, now
        )

    return _status(pod, now, containers=_one_changed(pod, container, again))


def disrupted(pod: Pod, now: str, *, reason: str, message: str = "") -> Status:
    """The pod is about to be ended by a disruption; nothing else has changed yet."""
    condition = _condition("DisruptionTarget", is_true=True, reason=reason, message=message)
    before = pod["status"]
    conditions = before.get("conditions", [])
    others = [each for each in conditions if each["type"] != condition["type"]]
    marks = [each for each in conditions if each["type"] == condition["type"]]
    known: Pod = {"status": {"conditions": marks}}  # a second mark does not change the time
    return {**before, "conditions": [*others, *_stamped(known, now, [condition])]}


def rejected(pod: Pod, now: str, *, reason: str, message: str = "") -> Status:
    """The kubelet fails the pod as a whole, without reporting how its containers ended."""
    containers = [_stopped(entry, {}) for entry in _entries(pod)]
    status = _status(pod, now, containers=containers, phase="Failed")
    return {**status, **_without_blanks(reason=reason, message=message)}


def evicted(pod: Pod, now: str, *, message: str, reason: str = "Evicted") -> Status:
    """The kubelet has ended the pod, as when its node is short of memory or shuts down."""
    status = over(pod, now, how=Exit(code=137), phase="Failed")
    marked = disrupted(
        {**pod, "status": status}, now, reason="TerminationByKubelet", message=message
    )
    return {**marked, "reason": reason, "message": message}


def over(pod: Pod, now: str, *, how: Exit, phase: str | None = None) -> Status:
    """Nothing runs and nothing will; what had not ended has ended in the given way."""
    containers = _all_ended(pod, now, how)
    verdict = "Failed" if any(_exit_code(entry) for entry in containers) else "Succeeded"
    return _status(pod, now, containers=containers, phase=phase or verdict)


def phase_of(pod: Pod, containers: list[Status]) -> str:
    """The phase that a kubelet derives while it manages the pod."""
    states = [entry["state"] for entry in containers]
    if any("waiting" in entry["state"] and not entry["lastState"] for entry in containers):
        return "Pending"
    if any("running" in state for state in states):
        return "Running"
    codes = [_exit_code(entry) for entry in containers]
    if any(starts_again(pod, code) for code in codes):
        return "Running"
    return "Failed" if any(codes) else "Succeeded"


def _status(
    pod: Pod,
    now: str,
    *,
    containers: list[Status],
    phase: str | None = None,
    has_sandbox: bool = False,
) -> Status:
    before = pod["status"]
    verdict = phase or phase_of(pod, containers)
    is_prepared = verdict == "Running" or (has_sandbox and verdict == "Pending")
    has_sandbox = is_prepared or "podIP" in before
    return {
        **before,
        **(_addresses(pod) if has_sandbox else {}),
        "observedGeneration": pod["metadata"].get("generation", 1),
        "phase": verdict,
        "startTime": before.get("startTime", now),
        "hostIP": "10.0.0.1",
        "hostIPs": [{"ip": "10.0.0.1"}],
        "conditions": _stamped(pod, now, _conditions(verdict, containers, is_prepared)),
        "containerStatuses": containers,
    }


def _addresses(pod: Pod) -> Status:
    digits = sha256(pod["metadata"]["uid"].encode()).digest()
    address = f"10.244.{digits[0]}.{1 + digits[1] % 254}"
    return {"podIP": address, "podIPs": [{"ip": address}]}


def _conditions(phase: str, containers: list[Status], is_prepared: bool) -> list[Status]:
    over_reason = _REASON_WHEN_OVER.get(phase, "")
    unready = [entry["name"] for entry in containers if not entry["ready"]]
    is_ready = not unready
    reason = "" if is_ready else over_reason or "ContainersNotReady"
    message = (
        "" if is_ready or over_reason else f"containers with unready status: [{' '.join(unready)}]"
    )
    initialized = over_reason if phase == "Succeeded" else ""
    return [
        _condition("PodReadyToStartContainers", is_true=is_prepared),
        _condition("Initialized", is_true=True, reason=initialized),
        _condition("Ready", is_true=is_ready, reason=reason, message=message),
        _condition("ContainersReady", is_true=is_ready, reason=reason, message=message),
        _condition("PodScheduled", is_true=True),
    ]


def _condition(kind: str, *, is_true: bool, reason: str = "", message: str = "") -> Status:
    return _without_blanks(type=kind, status=str(is_true), reason=reason, message=message)


def _stamped(pod: Pod, now: str, conditions: list[Status]) -> list[Status]:
    """With the time of the last change, and with the conditions that others have written."""
    before = {entry["type"]: entry for entry in pod["status"].get("conditions", [])}
    changed = {entry["type"] for entry in conditions}
    kept = [entry for kind, entry in before.items() if kind not in changed]
    stamped = []
    for entry in conditions:
        old = before.get(entry["type"], {})
        is_same = old.get("status") == entry["status"]
        changed_at = old.get("lastTransitionTime", now) if is_same else now
        stamped.append({**entry, "lastTransitionTime": changed_at})
    return [*stamped, *kept]


def _entries(pod: Pod) -> list[Status]:
    known = {entry["name"]: entry for entry in pod["status"].get("containerStatuses", [])}
    return [{**_fresh(spec), **known.get(spec["name"], {})} for spec in pod["spec"]["containers"]]


def _fresh(container: Mapping[str, Any]) -> Status:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": False,
        "started": False,
        "restartCount": 0,
        "state": {"waiting": {"reason": "ContainerCreating"}},
        "lastState": {},
    }


def _all_ended(pod: Pod, now: str, how: Exit) -> list[Status]:
    return [
        entry if "terminated" in entry["state"] else _ended(entry, now, how)
        for entry in _entries(pod)
    ]


def _one_changed(pod: Pod, container: str, change: Callable[[Status], Status]) -> list[Status]:
    entries = _entries(pod)
    names = [entry["name"] for entry in entries]
    if container not in names:
        raise LookupError(
            f"pod {pod['metadata']['name']}: has no container {container!r}, only "
            f"{', '.join(names)}; nothing was changed"
        )
    return [change(entry) if entry["name"] == container else entry for entry in entries]


def _started(pod: Pod, entry: Status, now: str) -> Status:
    seed = f"{pod['metadata']['uid']}/{entry['name']}/{entry['restartCount']}"
    return {
        **entry,
        "imageID": f"sha256:{sha256(entry['image'].encode()).hexdigest()}",
        "containerID": f"containerd://{sha256(seed.encode()).hexdigest()}",
        "ready": True,
        "started": True,
        "state": {"running": {"startedAt": now}},
    }


def _ended(entry: Status, now: str, how: Exit) -> Status:
    return _stopped(entry, {"terminated": how.after(entry, now)})


def _stopped(entry: Status, state: Status) -> Status:
    ended_before = entry["state"].get("terminated")
    last = {"terminated": ended_before} if ended_before and "waiting" in state else None
    return {
        **entry,
        "ready": False,
        "started": False,
        "state": state,
        "lastState": last or entry.get("lastState", {}),
    }


def _exit_code(entry: Status) -> int:
    ended = entry["state"].get("terminated") or entry["lastState"].get("terminated") or {}
    code: int = ended.get("exitCode", 0)
    return code


def starts_again(pod: Pod, exit_code: int) -> bool:
    """Whether the pod's restart policy starts a container again that has ended so."""
    policy = pod["spec"].get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)


def _without_blanks(**fields: Any) -> Status:
    return {name: value for name, value in fields.items() if value != ""}
