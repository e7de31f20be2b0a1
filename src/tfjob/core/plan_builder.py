"""A plan under construction: what the policies ask for in one pass, collected in order."""

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
    with_condition,
)
from tfjob.k8s import time


class PlanBuilder:
    """Holds the status as it will be stored and everything to do before and after."""

    def __init__(self, job: Job, *, now: datetime) -> None:
        self.job = job
        self.now = now
        self.status = job.status
        self.creates: list[Create] = []
        self.updates: list[Update] = []
        self.deletes: list[Delete] = []
        self.events: list[JobEvent] = []
        self.restarts = 0
        self._wakes: list[datetime] = []

    @property
    def stamp(self) -> datetime:
        return time.whole(self.now)

    def set_status(self, **fields: object) -> None:
        self.status = msgspec.structs.replace(self.status, **fields)

    def set_condition(
        self,
        kind: ConditionType,
        phrase: MessageTemplate,
        *,
        is_true: bool = True,
        facts: Mapping[str, object] = MappingProxyType({}),
    ) -> str | None:
        """Set a condition; returns its message if that changed anything, else None."""
        message = phrase.say(name=self.job.name, namespace=self.job.namespace, **facts)
        condition = Condition(
            type=str(kind),
            status="True" if is_true else "False",
            reason=phrase.reason,
            message=message,
            last_update=self.stamp,
            last_transition=self.stamp,
        )
        before = self.status
        self.status = with_condition(before, condition)
        return None if self.status is before else message

    def tell(
        self,
        kind: EventType,
        reason: str,
        message: str,
        *,
        key: str = "",
        child: str = "",
        rule: Rule | None = None,
    ) -> None:
        """An event; without a key it is a fact of this moment."""
        key = key or f"{reason}/{time.render(self.now)}"
        event = JobEvent(type=kind, reason=reason, message=message, key=key, child=child, rule=rule)
        self.events.append(event)

    def wake(self, moment: datetime | None) -> None:
        if moment is not None:
            self._wakes.append(moment)

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
            wake_at=min(self._wakes, default=None),
            restarts=self.restarts,
            deletes_job=deletes_job,
            is_status_first=changed is not None and self._is_status_first(),
        )

    def _is_status_first(self) -> bool:
        """What is decided about pods is stored before it is carried out: nothing else remembers
        it once they are gone. So is a suspension and its end: they say which run a pod is of."""
        before, after = self.job.status, self.status
        suspended = ConditionType.SUSPENDED
        turns = after.is_true(suspended) != before.is_true(suspended)
        ends = after.is_finished and not before.is_finished
        return ends or turns or bool(self.deletes) or _decided(before) != _decided(after)


def _once_each(deletes: Iterable[Delete]) -> list[Delete]:
    """Each object once; where several rules delete it, the first in order is the cause."""
    found: dict[tuple[str, str, str, bool], Delete] = {}
    for each in deletes:
        found.setdefault((each.kind, each.name, each.uid, each.is_forced), each)
    return list(found.values())


def _decided(status: JobStatus) -> dict[str, tuple[object, ...]]:
    """What a status remembers of pods that may be gone."""
    return {
        kind: (each.restarts, each.completed, each.recent)
        for kind, each in status.replicas.items()
        if each.restarts or each.completed or each.recent
    }
