"""The status of a job and the rules for its conditions.

The conditions of a Failed job never change again. Running and Restarting exclude each other. The
condition set last is the last in the list, because tools read it as the job's state.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import cached_property

import msgspec

from tfjob.core.diagnosis.diagnosis import Diagnosis


class ConditionType(StrEnum):
    CREATED = "Created"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    SUSPENDED = "Suspended"


class Condition(msgspec.Struct, frozen=True):
    type: str
    status: str
    reason: str
    message: str
    last_update: datetime | None
    last_transition: datetime | None

    @property
    def is_true(self) -> bool:
        return self.status == "True"


class RecordCause(StrEnum):
    """Why the status has a record of a pod."""

    FAILED = "Failed"
    """It failed; its restart counts."""
    DISRUPTED = "Disrupted"
    """It was evicted, preempted or deleted by someone else; it is replaced however it ends."""
    CONSEQUENCE = "Consequence"
    """It ended because another replica was lost; its restart does not count."""
    GROUP = "Group"
    """It was running, and is restarted because its group lost another replica; does not count."""
    IN_PLACE = "InPlace"
    """It continues after the kubelet has restarted containers in it."""
    REMOVED = "Removed"
    """The operator deletes it (scale-down, resume); how it ends does not count."""


class PodRecord(msgspec.Struct, frozen=True):
    """The decision about one pod, by UID, so that it is not made twice.

    `streak` counts consecutive failures of the index; `at` is when the last one was observed.
    `in_place` are container restarts of the pod that are not in the stored count yet; `excused`
    are those of them that followed the loss of another replica and never count.
    """

    index: int
    uid: str
    streak: int
    at: datetime
    cause: RecordCause = RecordCause.FAILED
    in_place: int = 0
    excused: int = 0
    incident: str = ""
    """The incident in which its group is restarted."""

    @property
    def is_restart(self) -> bool:
        """Whether the pod is replaced."""
        return self.cause in _REPLACED


_REPLACED = frozenset(
    {RecordCause.FAILED, RecordCause.DISRUPTED, RecordCause.CONSEQUENCE, RecordCause.GROUP}
)


class Limit(StrEnum):
    """The limit that ended a job."""

    BACKOFF = "BackoffLimit"
    DEADLINE = "ActiveDeadline"


class ReplicaStatus(msgspec.Struct, frozen=True, dict=True):
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    restarts: int = 0
    completed: frozenset[int] = frozenset()
    records: tuple[PodRecord, ...] = ()
    selector: str = ""

    def record_of(self, index: int) -> PodRecord | None:
        """The record of an index, not counting pods that the operator removes."""
        return self._recent_by_index.get(index) if self.records else None

    def has_removed(self, uid: str) -> bool:
        """Whether the operator removes the pod with this UID."""
        return bool(self.records) and uid in self.removed

    @cached_property
    def removed(self) -> frozenset[str]:
        """UIDs of pods that the operator removes."""
        return frozenset(each.uid for each in self.records if each.cause is RecordCause.REMOVED)

    @cached_property
    def _recent_by_index(self) -> Mapping[int, PodRecord]:
        """The records by replica index, because a linear search is slow in a large job."""
        kept = (each for each in reversed(self.records) if each.cause is not RecordCause.REMOVED)
        return {each.index: each for each in kept}


class JobStatus(msgspec.Struct, frozen=True):
    conditions: tuple[Condition, ...] = ()
    replicas: Mapping[str, ReplicaStatus] = {}
    start_time: datetime | None = None
    completion_time: datetime | None = None
    last_reconcile_time: datetime | None = None
    limit_reached: Limit | None = None
    training_completed: datetime | None = None
    """When the training succeeded, if the job then waits for evaluators."""
    diagnosis: Diagnosis | None = None

    def condition(self, kind: str) -> Condition | None:
        for each in self.conditions:
            if each.type == kind:
                return each
        return None

    def is_true(self, kind: str) -> bool:
        found = self.condition(kind)
        return found is not None and found.is_true

    @property
    def is_finished(self) -> bool:
        return self.is_true(ConditionType.SUCCEEDED) or self.is_true(ConditionType.FAILED)

    def of(self, kind: str) -> ReplicaStatus:
        return self.replicas.get(kind, _EMPTY)

    @property
    def restarts(self) -> int:
        return sum(each.restarts for each in self.replicas.values())

    @property
    def has_records(self) -> bool:
        """Whether any pod has a record, which is rare."""
        return any(each.records for each in self.replicas.values())


_EMPTY = ReplicaStatus()
_EXCLUSIVE: Mapping[str, str] = {
    ConditionType.RUNNING: ConditionType.RESTARTING,
    ConditionType.RESTARTING: ConditionType.RUNNING,
}
_TERMINAL = frozenset({ConditionType.SUCCEEDED, ConditionType.FAILED})


def keeps_condition(status: JobStatus, kind: str, *, value: str, reason: str) -> bool:
    """Whether setting a condition changes nothing: it is already set, or the job has failed."""
    if status.is_true(ConditionType.FAILED):
        return True
    old = status.condition(kind)
    return old is not None and (old.status, old.reason) == (value, reason)


def with_condition(status: JobStatus, new: Condition) -> JobStatus:
    """The status with `new` set; the same object if nothing changes."""
    kind = new.type
    if keeps_condition(status, kind, value=new.status, reason=new.reason):
        return status
    old = status.condition(kind)
    if old is not None and old.status == new.status:
        new = msgspec.structs.replace(new, last_transition=old.last_transition)
    dropped = {kind, _EXCLUSIVE.get(kind)}
    kept = [each for each in status.conditions if each.type not in dropped]
    if kind in _TERMINAL:
        kept = [_ended(each, now=new.last_update) for each in kept]
    return msgspec.structs.replace(status, conditions=(*kept, new))


def with_condition_false(status: JobStatus, kind: str, *, now: datetime) -> JobStatus:
    """The status with a true condition set to false, at the same position in the list."""
    if not status.is_true(kind):
        return status
    changed = tuple(
        _turned_false(each, now=now) if each.type == kind else each for each in status.conditions
    )
    return msgspec.structs.replace(status, conditions=changed)


def _ended(condition: Condition, *, now: datetime | None) -> Condition:
    if condition.type in {ConditionType.RUNNING, ConditionType.RESTARTING} and condition.is_true:
        return _turned_false(condition, now=now)
    return condition


def _turned_false(condition: Condition, *, now: datetime | None) -> Condition:
    return msgspec.structs.replace(condition, status="False", last_update=now, last_transition=now)
