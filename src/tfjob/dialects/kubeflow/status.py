"""Encodes and decodes the status of a TFJob.

Decoding is lenient and always returns a usable status. Encoding omits zero and empty values.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from tfjob.core import indexes
from tfjob.core.job import MAX_REPLICAS
from tfjob.core.status import Condition, JobStatus, ReplicaStatus
from tfjob.dialects import diagnosis_field
from tfjob.dialects.stored_values import (
    mapping,
    mappings,
    number,
    read_limit,
    read_records,
    render_records,
    render_time,
    text,
)
from tfjob.k8s import time

FIELDS = frozenset(
    {
        "conditions",
        "diagnosis",
        "replicaStatuses",
        "startTime",
        "completionTime",
        "lastReconcileTime",
        "limitReached",
        "trainingCompletionTime",
    }
)
_COUNTS = ("active", "succeeded", "failed", "restarts")


_MAX_TYPES = 32
"""Replica types that are read of a stored status; whoever may write it could add any number."""


def encode(status: JobStatus) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "conditions": [_condition(each) for each in status.conditions],
        "replicaStatuses": {kind: _replica(each) for kind, each in status.replicas.items()},
        "startTime": render_time(status.start_time),
        "completionTime": render_time(status.completion_time),
        "lastReconcileTime": render_time(status.last_reconcile_time),
        "limitReached": status.limit_reached and str(status.limit_reached),
        "trainingCompletionTime": render_time(status.training_completed),
        diagnosis_field.NAME: diagnosis_field.encoded(status),
    }
    return {key: value for key, value in shown.items() if value}


def decode(stored: object) -> JobStatus:
    given = mapping(stored)
    replicas = mapping(given.get("replicaStatuses"))
    return JobStatus(
        conditions=_conditions(given.get("conditions")),
        replicas={
            kind: _read_replica(mapping(each))
            for kind, each in islice(replicas.items(), _MAX_TYPES)
        },
        start_time=time.parse(given.get("startTime")),
        completion_time=time.parse(given.get("completionTime")),
        last_reconcile_time=time.parse(given.get("lastReconcileTime")),
        limit_reached=read_limit(given.get("limitReached")),
        training_completed=time.parse(given.get("trainingCompletionTime")),
        diagnosis=diagnosis_field.decoded(given),
    )


def _condition(condition: Condition) -> dict[str, Any]:
    shown = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastUpdateTime": render_time(condition.last_update),
        "lastTransitionTime": render_time(condition.last_transition),
    }
    return {key: value for key, value in shown.items() if value}


def _replica(replica: ReplicaStatus) -> dict[str, Any]:
    shown: dict[str, Any] = {key: getattr(replica, key) for key in _COUNTS}
    shown["completedIndexes"] = indexes.render(replica.completed)
    shown["recentRestarts"] = render_records(replica.records)
    shown["selector"] = replica.selector
    return {key: value for key, value in shown.items() if value}


def _conditions(stored: object) -> tuple[Condition, ...]:
    """The last entry of each type: a list edited by hand may have duplicates."""
    found: dict[str, Condition] = {}
    for each in mappings(stored):
        kind = each.get("type")
        if not isinstance(kind, str) or not kind:
            continue
        found.pop(kind, None)
        found[kind] = Condition(
            type=kind,
            status=text(each.get("status")),
            reason=text(each.get("reason")),
            message=text(each.get("message")),
            last_update=time.parse(each.get("lastUpdateTime")),
            last_transition=time.parse(each.get("lastTransitionTime")),
        )
    return tuple(found.values())


def _read_replica(stored: Mapping[str, Any]) -> ReplicaStatus:
    return ReplicaStatus(
        **{key: number(stored.get(key)) for key in _COUNTS},
        completed=indexes.parse(stored.get("completedIndexes"), below=MAX_REPLICAS),
        records=read_records(stored.get("recentRestarts")),
        selector=text(stored.get("selector")),
    )
