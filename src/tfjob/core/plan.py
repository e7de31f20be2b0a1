"""What shall be done for a job, as data: children to make and remove, the status to store.

A plan is a value. Children are named, not built: a thousand pods are rendered one at a time by
whoever sends them, so that a wide job needs no wide memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from tfjob.core.status import JobStatus
from tfjob.k8s.meta import ObjectMeta


class ChildKind(StrEnum):
    POD = "Pod"
    SERVICE = "Service"
    POD_GROUP = "PodGroup"
    JOB = "Job"


class Rule(StrEnum):
    """Why a child is made or removed, in a word that users can look up."""

    MISSING_REPLICA = "MissingReplica"
    MISSING_SERVICE = "MissingService"
    MISSING_COMPANION = "MissingCompanion"
    GANG_SCHEDULING = "GangScheduling"
    RESTART_POLICY = "RestartPolicy"
    DISRUPTION = "Disruption"
    SCALE_DOWN = "ScaleDown"
    SUPERSEDED = "Superseded"
    SUSPENDED = "Suspended"
    CLEAN_POD_POLICY = "CleanPodPolicy"
    BACKOFF_LIMIT = "BackoffLimit"
    ACTIVE_DEADLINE = "ActiveDeadline"
    JOB_FINISHED = "JobFinished"
    INVALID_SPEC = "InvalidSpec"
    STUCK_TERMINATING = "StuckTerminating"
    TTL_AFTER_FINISHED = "TTLAfterFinished"


RESTART_RULES: Final = frozenset({Rule.RESTART_POLICY, Rule.DISRUPTION})
"""Rules under which a replica's pod is replaced by another."""


class EventType(StrEnum):
    NORMAL = "Normal"
    WARNING = "Warning"


class Create(msgspec.Struct, frozen=True):
    """One child to make. `body` is set where it is not built from a replica's template."""

    kind: str
    name: str
    type: str = ""
    index: int = 0
    body: Mapping[str, Any] | None = None
    rule: Rule = Rule.MISSING_REPLICA


class Update(msgspec.Struct, frozen=True):
    """One child whose spec differs from what it should be; `body` is a merge patch."""

    kind: str
    name: str
    uid: str
    body: Mapping[str, Any]


class Delete(msgspec.Struct, frozen=True):
    """One child to remove, and only if it is still the one that was seen."""

    kind: str
    name: str
    uid: str
    rule: Rule
    is_forced: bool = False


class JobEvent(msgspec.Struct, frozen=True):
    """Something to tell about a job. Events of one key are one fact, however often it is seen."""

    type: EventType
    reason: str
    message: str
    key: str
    child: str = ""
    """The child that the rule was applied to, where there is one."""
    rule: Rule | None = None


class Plan(msgspec.Struct, frozen=True):
    creates: Sequence[Create] = ()
    updates: Sequence[Update] = ()
    deletes: Sequence[Delete] = ()
    status: JobStatus | None = None
    events: Sequence[JobEvent] = ()
    wake_at: datetime | None = None
    restarts: int = 0
    deletes_job: bool = False
    is_status_first: bool = False

    @property
    def has_effects(self) -> bool:
        """Something is done to children, or to the job itself, besides telling its status."""
        return bool(self.creates or self.updates or self.deletes or self.deletes_job)

    @property
    def is_quiet(self) -> bool:
        """Nothing to write: the world is as it should be."""
        return not (self.has_effects or self.status)


def deletes_of(kind: ChildKind, metas: Iterable[ObjectMeta], *, rule: Rule) -> list[Delete]:
    """Deletes of everything that is not already on its way out."""
    return [
        Delete(kind=kind, name=meta.name, uid=meta.uid, rule=rule)
        for meta in metas
        if not meta.is_terminating
    ]
