"""A plan: the children to create, update and delete, the status to store, the events to record.

A plan names the children to create and does not contain their manifests: the controller builds
them one at a time, so a job with thousands of pods does not hold all their manifests in memory.
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
    """Why a child is created or deleted, as a code that users can look up."""

    MISSING_REPLICA = "MissingReplica"
    MISSING_SERVICE = "MissingService"
    MISSING_COMPANION = "MissingCompanion"
    GANG_SCHEDULING = "GangScheduling"
    RESTART_POLICY = "RestartPolicy"
    DISRUPTION = "Disruption"
    PEER_LOST = "PeerLost"
    GANG_RESIZED = "GangResized"
    REQUEUED = "Requeued"
    GROUP_RESTART = "GroupRestart"
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


RESTART_RULES: Final = frozenset(
    {Rule.RESTART_POLICY, Rule.DISRUPTION, Rule.PEER_LOST, Rule.GROUP_RESTART}
)
"""Rules that replace the pod of a replica with a new one."""


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
    rule: Rule = Rule.MISSING_REPLICA
    is_outside: bool = False
    """The pod is created outside the PodGroup of its job."""
    is_unqueued: bool = False
    """The pod is created outside the queue's pod group of its job."""
    incident: str = ""
    """The pod is created in a restart of its group, whose old pods must be gone."""


class Update(msgspec.Struct, frozen=True):
    """One child whose spec differs from the desired one; `body` is a merge patch."""

    kind: str
    name: str
    uid: str
    body: Mapping[str, Any]
    is_retry: bool = False
    """The update only makes a scheduler retry, and may be deferred."""


class Delete(msgspec.Struct, frozen=True):
    """One child to delete, with its UID as a precondition."""

    kind: str
    name: str
    uid: str
    rule: Rule
    is_forced: bool = False


class FinalizerRemoval(msgspec.Struct, frozen=True):
    """One pod to remove a finalizer from, with its UID as a precondition."""

    name: str
    uid: str
    finalizer: str


class JobEvent(msgspec.Struct, frozen=True):
    """An event about a job. Events with the same key are one occurrence, recorded once."""

    type: EventType
    reason: str
    message: str
    key: str
    child: str = ""
    """The child that the rule applies to, if any."""
    rule: Rule | None = None


class Plan(msgspec.Struct, frozen=True):
    creates: Sequence[Create] = ()
    updates: Sequence[Update] = ()
    deletes: Sequence[Delete] = ()
    finalizer_removals: Sequence[FinalizerRemoval] = ()
    status: JobStatus | None = None
    events: Sequence[JobEvent] = ()
    requeue_at: datetime | None = None
    replaced: int = 0
    """Pods whose replacement the status newly records, whether or not it counts as a restart."""
    deletes_job: bool = False
    writes_status_first: bool = False

    @property
    def changes_children(self) -> bool:
        return bool(self.creates or self.updates or self.deletes or self.finalizer_removals)

    @property
    def has_effects(self) -> bool:
        """The plan changes children or deletes the job."""
        return self.changes_children or self.deletes_job

    @property
    def needs_fresh_pods(self) -> bool:
        """The plan is wrong if its pods are older than the job's status: it stores a decision about
        them, or creates a group that must not meet its old pods."""
        return self.writes_status_first or any(each.incident for each in self.creates)

    @property
    def is_empty(self) -> bool:
        """Nothing to write: the observed state is the desired one."""
        return not (self.has_effects or self.status)


def deletes_of(kind: ChildKind, metas: Iterable[ObjectMeta], *, rule: Rule) -> list[Delete]:
    """Deletes of all objects that are not terminating yet."""
    return [
        Delete(kind=kind, name=meta.name, uid=meta.uid, rule=rule)
        for meta in metas
        if not meta.is_terminating
    ]
