"""The table row of a pod: ready containers, status and restarts, as kube-apiserver shows them.

Init containers count until they have finished; native sidecars count like other containers.
"""

from datetime import datetime
from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver.duration import short, since

Json = dict[str, Any]
NONE = "<none>"


def pod_row(pod: Json, now: datetime) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    addresses = status.get("podIPs") or ()
    return [
        pod["metadata"]["name"],
        f"{_ready(pod)}/{len(spec.get('containers') or ()) + len(_sidecars(pod))}",
        shown_state(pod),
        _restarts(_counted(pod), now),
        since(pod["metadata"].get("creationTimestamp"), now),
        (addresses[0].get("ip") if addresses else status.get("podIP")) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def shown_state(pod: Json) -> str:
    """The STATUS column: a container's reason takes precedence over the phase."""
    status = pod.get("status") or {}
    state = status.get("reason") or status.get("phase") or ""
    if any(
        each.get("type") == "PodScheduled" and each.get("reason") == _GATED
        for each in status.get("conditions") or ()
    ):
        state = _GATED
    state = _init_state(pod) or state
    if not _is_initializing(pod):
        state = _container_state(status, state)
    if "deletionTimestamp" in pod["metadata"]:
        is_over = status.get("phase") in {"Succeeded", "Failed"}
        return (
            "Unknown" if status.get("reason") == "NodeLost" else state if is_over else "Terminating"
        )
    return state


_GATED = "SchedulingGated"


def _sidecars(pod: Json) -> list[str]:
    containers = (pod.get("spec") or {}).get("initContainers") or ()
    return [each.get("name", "") for each in containers if each.get("restartPolicy") == "Always"]


def _awaited_init(pod: Json) -> int | None:
    """The index of the init container that must finish, or start if it is a sidecar, next."""
    sidecars = _sidecars(pod)
    for index, each in enumerate((pod.get("status") or {}).get("initContainerStatuses") or ()):
        ended = (each.get("state") or {}).get("terminated")
        if ended is not None and not ended.get("exitCode"):
            continue
        if each.get("name") in sidecars and each.get("started"):
            continue
        return index
    return None


def _is_initializing(pod: Json) -> bool:
    return _awaited_init(pod) is not None and not _has_condition(
        pod.get("status") or {}, "Initialized"
    )


def _has_condition(status: Json, name: object) -> bool:
    conditions = status.get("conditions") or ()
    return any(each.get("type") == name and each.get("status") == "True" for each in conditions)


def _init_state(pod: Json) -> str:
    index = _awaited_init(pod)
    if index is None:
        return ""
    state = pod["status"]["initContainerStatuses"][index].get("state") or {}
    if state.get("terminated") is not None:
        return f"Init:{_ending(state['terminated'])}"
    reason = (state.get("waiting") or {}).get("reason", "")
    if reason and reason != "PodInitializing":
        return f"Init:{reason}"
    return f"Init:{index}/{len((pod.get('spec') or {}).get('initContainers') or ())}"


def _counted(pod: Json) -> list[Json]:
    """The containers whose restarts are shown: init containers, then sidecars and the others."""
    status = pod.get("status") or {}
    inits = list(status.get("initContainerStatuses") or ())
    awaited = _awaited_init(pod)
    inits = inits if awaited is None else inits[: awaited + 1]
    if _is_initializing(pod):
        return inits
    sidecars = _sidecars(pod)
    others = status.get("containerStatuses") or ()
    return [*(each for each in inits if each.get("name") in sidecars), *others]


def _ready(pod: Json) -> int:
    sidecars = _sidecars(pod)
    return sum(
        bool(each.get("ready"))
        and (each.get("name") in sidecars or "running" in (each.get("state") or {}))
        for each in _counted(pod)
    )


def _gates(spec: Json, status: Json) -> str:
    gates = spec.get("readinessGates") or ()
    passed = sum(_has_condition(status, each.get("conditionType")) for each in gates)
    return f"{passed}/{len(gates)}" if gates else NONE


def _ending(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _container_state(status: Json, phase: str) -> str:
    state, error = phase, ""
    has_running = False
    for container in reversed(status.get("containerStatuses") or []):
        now = container.get("state") or {}
        waiting, ended = now.get("waiting") or {}, now.get("terminated")
        if waiting.get("reason"):
            state = waiting["reason"]
        elif ended is not None:
            state = _ending(ended)
            error = state if ended.get("exitCode") else error
        elif container.get("ready") and "running" in now:
            has_running = True
    if state != "Completed":
        return state
    if has_running and _has_condition(status, "Ready"):
        return "Running"
    return error or ("NotReady" if has_running else state)


def _restarts(containers: list[Json], now: datetime) -> str:
    """The number, and how long ago the last container that was restarted ended."""
    count = sum(each.get("restartCount") or 0 for each in containers)
    ends = [
        time.parse(((each.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))
        for each in containers
    ]
    known = [moment for moment in ends if moment is not None]
    if not count or not known:
        return str(count)
    return f"{count} ({short((now - max(known)).total_seconds())} ago)"
