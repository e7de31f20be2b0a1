"""The table row of a pod: ready containers, status, restarts. Pure."""

from datetime import datetime
from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver.duration import short, since

Json = dict[str, Any]
NONE = "<none>"


def pod_row(pod: Json, now: datetime) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    containers = status.get("containerStatuses") or []
    ready = sum(1 for c in containers if c.get("ready") and "running" in (c.get("state") or {}))
    addresses = status.get("podIPs") or ()
    gates = spec.get("readinessGates") or ()
    return [
        pod["metadata"]["name"],
        f"{ready}/{len(spec.get('containers') or ())}",
        shown_state(pod),
        _restarts(status, now),
        since(pod["metadata"].get("creationTimestamp"), now),
        (addresses[0].get("ip") if addresses else status.get("podIP")) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        f"0/{len(gates)}" if gates else NONE,
    ]


def shown_state(pod: Json) -> str:
    """The STATUS column: a container's reason before the phase."""
    status = pod.get("status") or {}
    state = status.get("reason") or status.get("phase") or ""
    state = _init_state(pod) or _container_state(status, state)
    if "deletionTimestamp" in pod["metadata"]:
        is_over = status.get("phase") in {"Succeeded", "Failed"}
        return (
            "Unknown" if status.get("reason") == "NodeLost" else state if is_over else "Terminating"
        )
    return state


def _init_state(pod: Json) -> str:
    status = pod.get("status") or {}
    total = len((pod.get("spec") or {}).get("initContainers") or ())
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None:
            if not ended.get("exitCode"):
                continue
            return f"Init:{_ending(ended)}"
        reason = waiting.get("reason", "")
        if reason and reason != "PodInitializing":
            return f"Init:{reason}"
        return f"Init:{index}/{total}"
    return ""


def _ending(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _container_state(status: Json, phase: str) -> str:
    state = phase
    has_running = False
    for container in reversed(status.get("containerStatuses") or []):
        now = container.get("state") or {}
        waiting, ended = now.get("waiting") or {}, now.get("terminated")
        if waiting.get("reason"):
            state = waiting["reason"]
        elif ended is not None:
            state = _ending(ended)
        elif container.get("ready") and "running" in now:
            has_running = True
    if state == "Completed" and has_running:
        conditions = status.get("conditions") or ()
        is_ready = any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions)
        return "Running" if is_ready else "NotReady"
    return state


def _restarts(status: Json, now: datetime) -> str:
    containers = status.get("containerStatuses") or ()
    count = sum(c.get("restartCount") or 0 for c in containers)
    ends = [
        time.parse(((c.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))
        for c in containers
    ]
    known = [moment for moment in ends if moment is not None]
    if not count or not known:
        return str(count)
    return f"{count} ({short((now - max(known)).total_seconds())} ago)"
