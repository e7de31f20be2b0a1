"""A plan under construction: collects what the policies decide in one reconcile, in order."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType

import msgspec

from tfjob.core.job import Job
from tfjob.core.messages import MessageTemplate
from tfjob.core.plan import Create, Delete, EventType, JobEvent, Plan, Rule, Update
from tfjob.core.status import (
    Condition,
    ConditionType,
    JobStatus,
    keeps_condition,
    with_condition,
)
from tfjob.k8s import time


class PlanBuilder:
    """Holds the status to be stored, the changes to children, and the events."""

    def __init__(self, job: Job, *, now: datetime) -> None:
        self.job = job
        self.now = now
        self.status = job.status
        self.creates: list[Create] = []
        self.updates: list[Update] = []
        self.deletes: list[Delete] = []
        self.events: list[JobEvent] = []
        self.replaced = 0
        self._requeues: list[datetime] = []

    @property
    def timestamp(self) -> datetime:
        """The current time in whole seconds, as the API server stores it."""
        return time.truncate(self.now)

    def set_status(self, **fields: object) -> None:
        self.status = msgspec.structs.replace(self.status, **fields)

    def set_condition(
        self,
        kind: ConditionType,
        template: MessageTemplate,
        *,
        is_true: bool = True,
        params: Mapping[str, object] = MappingProxyType({}),
        detail: str = "",
    ) -> str | None:
        """Set a condition; returns the rendered template if the status changed, else None.

        `detail` follows the rendered template in the condition's message.
        """
        value = "True" if is_true else "False"
        if keeps_condition(self.status, kind, value=value, reason=template.reason):
            return None
        message = template.render(name=self.job.name, namespace=self.job.namespace, **params)
        condition = Condition(
            type=str(kind),
            status=value,
            reason=template.reason,
            message=f"{message}: {detail}" if detail else message,
            last_update=self.timestamp,
            last_transition=self.timestamp,
        )
        self.status = with_condition(self.status, condition)
        return message

    def record_event(
        self,
        kind: EventType,
        reason: str,
        message: str,
        *,
        key: str = "",
        child: str = "",
        rule: Rule | None = None,
    ) -> None:
        """Record an event; without a key, it is a new occurrence each time."""
        key = key or f"{reason}/{time.render(self.now)}"
        event = JobEvent(type=kind, reason=reason, message=message, key=key, child=child, rule=rule)
        self.events.append(event)

    def requeue_at(self, moment: datetime | None) -> None:
        if moment is not None:
            self._requeues.append(moment)

    def extend_events(self, events: Iterable[JobEvent]) -> None:
        self.events.extend(events)

    def plan(self, *, deletes_job: bool = False) -> Plan:
        changed: JobStatus | None = None if self.status == self.job.status else self.status
        return Plan(
            creates=self.creates,
            updates=self.updates,
            deletes=_once_each(self.deletes),
            status=changed,
            events=self.events,
            requeue_at=min(self._requeues, default=None),
            replaced=self.replaced,
            deletes_job=deletes_job,
            writes_status_first=changed is not None and self._writes_status_first(),
        )

    def _writes_status_first(self) -> bool:
        """Whether the status must be stored before children change.

        Decisions about pods are, because nothing else records them once the pods are deleted. So
        are suspension and resumption, which determine the run that a pod belongs to.
        """
        before, after = self.job.status, self.status
        suspended = ConditionType.SUSPENDED
        toggles = after.is_true(suspended) != before.is_true(suspended)
        finishes = after.is_finished and not before.is_finished
        return (
            finishes
            or toggles
            or bool(self.deletes)
            or _pod_decisions(before) != _pod_decisions(after)
        )


def _once_each(deletes: Iterable[Delete]) -> list[Delete]:
    """Each object once. If several rules delete an object, the first one counts."""
    found: dict[tuple[str, str, str, bool], Delete] = {}
    for each in deletes:
        found.setdefault((each.kind, each.name, each.uid, each.is_forced), each)
    return list(found.values())


def _pod_decisions(status: JobStatus) -> dict[str, tuple[object, ...]]:
    """What the status records about pods that may no longer exist."""
    return {
        kind: (each.restarts, each.completed, each.records)
        for kind, each in status.replicas.items()
        if each.restarts or each.completed or each.records
    }
