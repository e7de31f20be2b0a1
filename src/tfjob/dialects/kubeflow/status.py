"""The status of a TFJob as it is stored, both ways.

Reading is lenient: whatever stands there, a usable status comes back. Writing leaves zeros out.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tfjob.core import indexes
from tfjob.core.job import MAX_REPLICAS
from tfjob.core.status import Condition, JobStatus, RecentRestart, ReplicaStatus
from tfjob.k8s import time

_COUNTS = ("active", "succeeded", "failed", "restarts")
_MOST = 2**31 - 1


def encode(status: JobStatus) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "conditions": [_condition(each) for each in status.conditions],
        "replicaStatuses": {kind: _replica(each) for kind, each in status.replicas.items()},
        "startTime": _moment(status.start_time),
        "completionTime": _moment(status.completion_time),
        "lastReconcileTime": _moment(status.last_reconcile_time),
    }
    return {key: value for key, value in shown.items() if value}


def decode(stored: object) -> JobStatus:
    given = _mapping(stored)
    replicas = _mapping(given.get("replicaStatuses"))
    conditions = given.get("conditions")
    return JobStatus(
        conditions=_conditions(conditions if isinstance(conditions, list) else []),
        replicas={kind: _read_replica(_mapping(each)) for kind, each in replicas.items()},
        start_time=time.parse(given.get("startTime")),
        completion_time=time.parse(given.get("completionTime")),
        last_reconcile_time=time.parse(given.get("lastReconcileTime")),
    )


def _condition(condition: Condition) -> dict[str, Any]:
    shown = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastUpdateTime": _moment(condition.last_update),
        "lastTransitionTime": _moment(condition.last_transition),
    }
    return {key: value for key, value in shown.items() if value}


def _replica(replica: ReplicaStatus) -> dict[str, Any]:
    shown: dict[str, Any] = {key: getattr(replica, key) for key in _COUNTS}
    shown["completedIndexes"] = indexes.render(replica.completed)
    shown["recentRestarts"] = [
        {"index": each.index, "uid": each.uid, "streak": each.streak, "time": _moment(each.at)}
        for each in replica.recent
    ]
    shown["selector"] = replica.selector
    return {key: value for key, value in shown.items() if value}


def _conditions(stored: list[Any]) -> tuple[Condition, ...]:
    """The newest entry of each type: a list by hand may name one twice."""
    found: dict[str, Condition] = {}
    for each in map(_mapping, stored):
        kind = each.get("type")
        if not isinstance(kind, str) or not kind:
            continue
        found.pop(kind, None)
        found[kind] = Condition(
            type=kind,
            status=_text(each.get("status")),
            reason=_text(each.get("reason")),
            message=_text(each.get("message")),
            last_update=time.parse(each.get("lastUpdateTime")),
            last_transition=time.parse(each.get("lastTransitionTime")),
        )
    return tuple(found.values())


def _read_replica(stored: Mapping[str, Any]) -> ReplicaStatus:
    recent = stored.get("recentRestarts")
    return ReplicaStatus(
        **{key: _number(stored.get(key)) for key in _COUNTS},
        completed=indexes.parse(stored.get("completedIndexes"), below=MAX_REPLICAS),
        recent=tuple(
            entry
            for each in (recent if isinstance(recent, list) else [])
            if (entry := _read_restart(_mapping(each))) is not None
        ),
        selector=_text(stored.get("selector")),
    )


def _read_restart(stored: Mapping[str, Any]) -> RecentRestart | None:
    at = time.parse(stored.get("time"))
    if at is None:
        return None
    return RecentRestart(
        index=_number(stored.get("index")),
        uid=_text(stored.get("uid")),
        streak=_number(stored.get("streak")),
        at=at,
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return min(max(value, 0), _MOST)


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else time.render(moment)
