"""A plan: the children to create, update and delete, the status to store, the events to record.

A plan names the children to create and does not contain their manifests: the controller builds
them one at a time, so a job with thousands of pods does not hold all their manifests in memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from tfjob.core.status import JobStatus
from tfjob.k8s.meta import ObjectMeta


class ChildKind(StrEnum):
    POD = "Pod"
    SERVICE = "Service"
    POD_GROUP = "PodGroup"
    JOB = "Job"


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class Create(msgspec.Struct, frozen=True):
    """One child to create. `body` is set if it is not built from a replica's template."""

    kind: str
    name: str
    type: str = ""
    index: int = 0
    body: Mapping[str, Any] | None = None


class Update(msgspec.Struct, frozen=True):
    """One child whose spec differs from the desired one; `body` is a merge patch."""

    kind: str
    name: str
    uid: str
    body: Mapping[str, Any]


class Delete(msgspec.Struct, frozen=True):
    """One child to delete, with its UID as a precondition."""

    kind: str
    name: str
    uid: str
    is_forced: bool = False


class JobEvent(msgspec.Struct, frozen=True):
    """An event about a job. Events with the same key are one occurrence, recorded once."""

    type: EventType
    reason: str
    message: str
    key: str


class Plan(msgspec.Struct, frozen=True):
    creates: Sequence[Create] = ()
    updates: Sequence[Update] = ()
    deletes: Sequence[Delete] = ()
    status: JobStatus | None = None
    events: Sequence[JobEvent] = ()
    requeue_at: datetime | None = None
    restarts: int = 0
    deletes_job: bool = False
    writes_status_first: bool = False

    @property
    def has_effects(self) -> bool:
        """The plan changes children or deletes the job."""
        return bool(self.creates or self.updates or self.deletes or self.deletes_job)

    @property
    def is_empty(self) -> bool:
        """Nothing to write: the observed state is the desired one."""
        return not (self.has_effects or self.status)


def deletes_of(kind: ChildKind, metas: Iterable[ObjectMeta]) -> list[Delete]:
    """Deletes of all objects that are not terminating yet."""
    return [
        Delete(kind=kind, name=meta.name, uid=meta.uid) for meta in metas if not meta.is_terminating
    ]
