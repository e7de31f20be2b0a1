"""The status of a Deployment: counts and conditions, as kube-controller-manager writes them.

A pure function of the Deployment and its ReplicaSets. A condition keeps its times while nothing
about it changes.
"""

import math
from typing import Any

Json = dict[str, Any]


def is_empty(replica_set: Json) -> bool:
    """Whether the set has no pods, not even terminating ones."""
    status = replica_set.get("status") or {}
    is_seen = status.get("observedGeneration") == replica_set["metadata"]["generation"]
    nothing = not status.get("replicas") and not status.get("terminatingReplicas")
    return not replica_set["spec"]["replicas"] and is_seen and nothing


def most_extra(deployment: Json) -> int:
    """maxSurge as a number of pods."""
    return _share(deployment, "maxSurge", is_rounded_up=True)


def status_of(deployment: Json, sets: list[Json], *, new: Json | None, now: str) -> Json:
    """The status; most zero counts are omitted, as in Kubernetes."""
    wanted = deployment["spec"]["replicas"]
    total, ready, available, going = (
        _sum(sets, field)
        for field in ("replicas", "readyReplicas", "availableReplicas", "terminatingReplicas")
    )
    counts = {
        "replicas": total,
        "updatedReplicas": _sum([new] if new else [], "replicas"),
        "readyReplicas": ready,
        "availableReplicas": available,
        "unavailableReplicas": max(total - available, 0),
    }
    status: Json = {
        "observedGeneration": deployment["metadata"]["generation"],
        **{name: count for name, count in counts.items() if count},
        "terminatingReplicas": going,
    }
    stood = list((deployment.get("status") or {}).get("conditions") or ())
    least = wanted - min(_most_missing(deployment), wanted)
    conditions = _with(stood, _availability(is_enough=available >= least), now)
    if new is not None:
        is_done = counts["updatedReplicas"] == wanted == total == available
        if not _was_done(stood, new) or counts["updatedReplicas"] != total:
            conditions = _with(conditions, _progress(new, is_done=is_done), now)
    return {**status, "conditions": conditions}


def _availability(*, is_enough: bool) -> Json:
    if is_enough:
        reason, words = "MinimumReplicasAvailable", "Deployment has minimum availability."
    else:
        reason = "MinimumReplicasUnavailable"
        words = "Deployment does not have minimum availability."
    return {"type": "Available", "status": str(is_enough), "reason": reason, "message": words}


def _progress(new: Json, *, is_done: bool) -> Json:
    name = new["metadata"]["name"]
    reason, words = "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'
    if is_done:
        reason = "NewReplicaSetAvailable"
        words = f'ReplicaSet "{name}" has successfully progressed.'
    return {"type": "Progressing", "status": "True", "reason": reason, "message": words}


def _was_done(conditions: list[Json], new: Json) -> bool:
    """Whether the rollout was complete before: later pod changes do not restart it."""
    done = _progress(new, is_done=True)
    return any(one.items() >= done.items() for one in conditions)


def _with(conditions: list[Json], fresh: Json, now: str) -> list[Json]:
    before = next((one for one in conditions if one["type"] == fresh["type"]), {})
    if all(before.get(field) == value for field, value in fresh.items()):
        return conditions
    since = before.get("lastTransitionTime", now)
    times = {
        "lastUpdateTime": now,
        "lastTransitionTime": since if before.get("status") == fresh["status"] else now,
    }
    rest = [one for one in conditions if one["type"] != fresh["type"]]
    return [*rest, {**fresh, **times}]


def _most_missing(deployment: Json) -> int:
    missing = _share(deployment, "maxUnavailable", is_rounded_up=False)
    is_rolling = (deployment["spec"].get("strategy") or {}).get("type") == "RollingUpdate"
    return missing or int(is_rolling and not most_extra(deployment))


def _share(deployment: Json, field: str, *, is_rounded_up: bool) -> int:
    """A number of pods, or a percentage of the Deployment's replicas."""
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    amount = rolling.get(field, 0)
    if isinstance(amount, int):
        return int(amount)
    digits = str(amount).removesuffix("%")
    part = (int(digits) if digits.isdecimal() else 0) * int(deployment["spec"]["replicas"]) / 100
    return math.ceil(part) if is_rounded_up else math.floor(part)


def _sum(sets: list[Json], field: str) -> int:
    return sum(int((one.get("status") or {}).get(field) or 0) for one in sets)
