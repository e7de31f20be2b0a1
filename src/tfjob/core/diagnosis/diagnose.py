"""Chooses the dominant cause of a job's state and updates the stored diagnosis.

What keeps a replica from running now takes precedence over earlier incidents. The stored cause is
kept as long as it holds, so that it does not change with every pod. A change that only adds
consequences to an incident is stored with the next write of the status, at the latest when the
window for consequences is over.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from tfjob.core.diagnosis import (
    api_refusals,
    deadlock,
    failures,
    gang_waits,
    pod_events,
    waiting,
)
from tfjob.core.diagnosis.causes import BLOCKING, CATALOGUE, Cause, CauseGroup
from tfjob.core.diagnosis.consequences import WINDOW
from tfjob.core.diagnosis.diagnosis import Diagnosis, Incident, fitted
from tfjob.core.diagnosis.failures import Failure
from tfjob.core.diagnosis.incidents import merged
from tfjob.core.diagnosis.waiting import Wait
from tfjob.core.job import Job
from tfjob.core.observe import Children, ObservedState, ReplicaInstance, observe
from tfjob.core.plan import EventType, Plan
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.status import ConditionType, JobStatus, Limit
from tfjob.k8s import time

_JOB: Final = "the job"
_LIMITS: Final = {
    Limit.BACKOFF: Cause.BACKOFF_LIMIT_EXCEEDED,
    Limit.DEADLINE: Cause.DEADLINE_EXCEEDED,
}
_SUSPENDED: Final = ConditionType.SUSPENDED
_OWN_EVENTS: Final = frozenset({Cause.SUSPENDED, *_LIMITS.values()})
"""Causes that are already reported by other events of the job."""


def update(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    """Set the diagnosis of a job that was not finished before this reconcile."""
    stored = builder.job.status.diagnosis
    found = _diagnosis(builder, children, observed)
    if stored is not None and found is not None and _only_grew(stored, found):
        latest = found.latest
        moment = builder.now if latest is None else time.add(latest.at, WINDOW)
        if moment > builder.now and not _writes_anyway(builder):
            builder.requeue_at(moment)
            found = stored
    builder.set_status(diagnosis=found)
    if found is None or found.cause in _OWN_EVENTS:
        return
    if stored is None or _identity(stored) != _identity(found):
        key = f"diagnosis/{found.cause}/{found.replica}/{time.render(found.since)}"
        message = f"{found.message}. {found.remedy}"
        builder.record_event(EventType.WARNING, str(found.cause), message, key=key)


def of(job: Job, children: Children, *, now: datetime) -> Diagnosis | None:
    """The diagnosis of a job from its current children and the stored diagnosis."""
    return _diagnosis(PlanBuilder(job, now=now), children, observe(job, children))


def with_refusal(
    job: Job, plan: Plan, *, child: str, error: str, is_final: bool, now: datetime
) -> Plan:
    """The plan with a diagnosis of a create that the API server has refused.

    An error that is not final and has no known cause is an outage, which needs no diagnosis.
    """
    status = job.status if plan.status is None else plan.status
    cause, stored = api_refusals.cause_of(error), status.diagnosis
    replica = _replica_named(job, child)
    if _is_about(stored, cause, replica) or _runs_without(job, status, child):
        return plan
    if cause is Cause.CREATE_REFUSED and not is_final:
        return plan
    return _with_wait(plan, status, Wait(cause=cause, replica=replica, detail=error), now=now)


def with_old_child(job: Job, plan: Plan, *, child: str, now: datetime) -> Plan:
    """The plan with a diagnosis of a create that waits for an object of an earlier job."""
    status = job.status if plan.status is None else plan.status
    cause, replica = Cause.OLD_POD_TERMINATING, _replica_named(job, child)
    if _is_about(status.diagnosis, cause, replica) or _runs_without(job, status, child):
        return plan
    return _with_wait(plan, status, Wait(cause=cause, replica=replica, detail=child), now=now)


def _with_wait(plan: Plan, status: JobStatus, wait: Wait, *, now: datetime) -> Plan:
    found, stored = _of_wait(wait, now=now), status.diagnosis
    if stored is not None:
        found = msgspec.structs.replace(
            found,
            incidents=stored.incidents,
            incident_count=stored.incident_count,
            last_lines=stored.last_lines,
        )
    return msgspec.structs.replace(
        plan, status=msgspec.structs.replace(status, diagnosis=fitted(found))
    )


def _diagnosis(
    builder: PlanBuilder, children: Children, observed: ObservedState
) -> Diagnosis | None:
    stored = builder.job.status.diagnosis
    suspected = observed.suspects
    may_wait = _may_wait(builder) or any(waiting.of_stalled_job(observed))
    if not suspected and stored is None and not may_wait:
        return None
    seen = [
        failure
        for instance in suspected
        for failure in failures.of_instance(instance, now=builder.now, events=children.events)
    ]
    before = () if stored is None else stored.incidents
    count = 0 if stored is None else stored.incident_count
    forgotten_until = None if stored is None else stored.forgotten_until
    incidents = merged(builder.job, before, seen, forgotten_until=forgotten_until)
    count += len(incidents) - len(before)
    found = _dominant(builder, children, observed, incidents=incidents, seen=seen)
    if found is None:
        return None
    return fitted(msgspec.structs.replace(found, incidents=incidents, incident_count=count))


def _may_wait(builder: PlanBuilder) -> bool:
    """Whether the job as a whole may have to wait for something."""
    status = builder.status
    return builder.job.gang is not None or status.is_finished or status.is_true(_SUSPENDED)


def _dominant(
    builder: PlanBuilder,
    children: Children,
    observed: ObservedState,
    *,
    incidents: Sequence[Incident],
    seen: Sequence[Failure],
) -> Diagnosis | None:
    stored = builder.job.status.diagnosis
    incident = _chosen(incidents, stored=stored, seen=seen)
    limit = _LIMITS.get(builder.status.limit_reached) if builder.status.limit_reached else None
    if limit is not None:
        return _of_limit(limit, incident, seen, stored=stored, now=builder.timestamp)
    if not builder.status.is_finished:
        wait = _chosen_wait(builder, children, observed)
        if wait is not None:
            lines = _lines_of(incident, seen, stored=stored)
            found = _kept_wait(wait, stored) or _of_wait(wait, now=builder.timestamp)
            return msgspec.structs.replace(found, last_lines=lines)
    return None if incident is None else _of_incident(incident, seen, stored=stored)


def _chosen(
    incidents: Sequence[Incident], *, stored: Diagnosis | None, seen: Sequence[Failure]
) -> Incident | None:
    """The incident that explains the present state.

    Among the incidents at about the time of the latest one, this is the earliest whose pod still
    exists, or the stored one if all pods are gone.
    """
    if not incidents:
        return None
    recent = [each for each in incidents if incidents[-1].at - each.at <= WINDOW]
    visible = {each.incident.key for each in seen}
    still = [each for each in recent if each.key in visible]
    if still:
        return still[0]
    known = [each for each in recent if stored is not None and _shows(stored, each)]
    return (known or recent)[0]


def _shows(stored: Diagnosis, incident: Incident) -> bool:
    """Whether the stored diagnosis is about this incident."""
    if stored.replica != incident.replica or stored.since != incident.at:
        return False
    return stored.cause is incident.cause


def _of_incident(
    incident: Incident, seen: Sequence[Failure], *, stored: Diagnosis | None
) -> Diagnosis:
    return Diagnosis(
        cause=incident.cause,
        message=incident.sentence,
        since=incident.at,
        replica=incident.replica,
        node=incident.node,
        reason=incident.reason,
        exit_code=incident.exit_code,
        last_lines=_lines_of(incident, seen, stored=stored),
    )


def _of_limit(
    limit: Cause,
    incident: Incident | None,
    seen: Sequence[Failure],
    *,
    stored: Diagnosis | None,
    now: datetime,
) -> Diagnosis:
    message = f"{_JOB} {CATALOGUE[limit].text}"
    if incident is None:
        return Diagnosis(cause=limit, message=message, since=now)
    found = _of_incident(incident, seen, stored=stored)
    if limit is Cause.DEADLINE_EXCEEDED:
        return msgspec.structs.replace(
            found, cause=limit, message=message, since=now, replica="", node="", exit_code=None
        )
    return msgspec.structs.replace(
        found, cause=limit, message=f"{message}; {found.message}", reason=str(incident.cause)
    )


def _lines_of(
    incident: Incident | None, seen: Sequence[Failure], *, stored: Diagnosis | None
) -> str:
    """The last output before the incident, from its pod or from the stored diagnosis."""
    if incident is None:
        return ""
    for each in seen:
        if each.incident.key == incident.key and each.output:
            return each.output
    known = () if stored is None else stored.incidents
    return stored.last_lines if stored and any(each.key == incident.key for each in known) else ""


def _chosen_wait(builder: PlanBuilder, children: Children, observed: ObservedState) -> Wait | None:
    """Why the job waits: the stored cause if it still holds, else the first in the catalogue."""
    found = [
        wait
        for instance in observed.suspects
        for wait in waiting.of_instance(instance, now=builder.now, events=children.events)
    ]
    found.extend(_job_waits(builder, children, observed))
    builder.requeue_at(min((each.due for each in found if each.due is not None), default=None))
    starting = (each.pod for each in observed.suspects if each.pod is not None)
    builder.requeue_at(pod_events.next_lookup_at(starting, now=builder.now))
    if children.has_unread_events:
        builder.requeue_at(time.add(builder.now, pod_events.FIRST_LOOKUP))
    due = [each for each in found if each.due is None]
    stored = builder.job.status.diagnosis
    deadlocks = [each for each in due if each.cause is Cause.DEADLOCKED]
    kept = deadlocks or [each for each in due if _is_about(stored, each.cause, each.replica)]
    causes = list(Cause)
    return min(kept or due, key=lambda each: (causes.index(each.cause), each.replica), default=None)


def _job_waits(builder: PlanBuilder, children: Children, observed: ObservedState) -> Sequence[Wait]:
    """What the job as a whole waits for, and the stored refusal of a pod that is still missing."""
    if builder.status.is_true(_SUSPENDED):
        return [Wait(cause=Cause.SUSPENDED, since=None)]
    found = [
        *gang_waits.of_job(builder.job, children, now=builder.now),
        *deadlock.of_job(builder.job.name, children, now=builder.now),
        *waiting.of_stalled_job(observed),
    ]
    stored = builder.job.status.diagnosis
    if stored is None or stored.cause not in BLOCKING:
        return found
    is_refusal = CATALOGUE[stored.cause].group is CauseGroup.NOT_CREATED
    if (
        is_refusal
        and stored.cause is not Cause.SUSPENDED
        and _still_lacks_child(builder, children, observed)
    ):
        found.append(Wait(cause=stored.cause, since=stored.since, replica=stored.replica))
    return found


def _still_lacks_child(builder: PlanBuilder, children: Children, observed: ObservedState) -> bool:
    """Whether the child whose refusal is stored is still missing."""
    stored = builder.job.status.diagnosis
    if stored is None or not stored.replica:
        return builder.job.gang is not None and children.pod_group is None
    return any(
        _lacks_child(instance, observed)
        for instance in observed.all_instances()
        if stored.replica == f"{instance.replica.label.lower()}-{instance.index}"
    )


def _lacks_child(instance: ReplicaInstance, observed: ObservedState) -> bool:
    """Whether a replica has no service, or no pod and has not succeeded."""
    has_workload = instance.pod is not None or instance.job is not None
    is_missing = not (has_workload or instance.is_completed)
    return is_missing or instance.name not in observed.services


def _of_wait(wait: Wait, *, now: datetime) -> Diagnosis:
    message = f"{wait.replica or _JOB} {CATALOGUE[wait.cause].text}"
    return Diagnosis(
        cause=wait.cause,
        message=f"{message} ({wait.detail})" if wait.detail else message,
        since=time.truncate(wait.since or now),
        replica=wait.replica,
        node=wait.node,
        reason=wait.reason,
    )


def _kept_wait(wait: Wait, stored: Diagnosis | None) -> Diagnosis | None:
    """The stored diagnosis of the same wait: its wording may alternate, as with image pulls."""
    return stored if _is_about(stored, wait.cause, wait.replica) else None


def _is_about(stored: Diagnosis | None, cause: Cause, replica: str) -> bool:
    return stored is not None and (stored.cause, stored.replica) == (cause, replica)


def _identity(found: Diagnosis) -> tuple[str, ...]:
    """The fields that must differ for a diagnosis to be recorded as a new event.

    For a wait, its time does not matter, because a wait may come and go. Its replica type matters,
    but not its index: the replicas of a large job often wait for the same thing and start one by
    one.
    """
    if found.cause in BLOCKING:
        return str(found.cause), found.replica.rpartition("-")[0]
    return str(found.cause), found.replica, time.render(found.since)


def _only_grew(stored: Diagnosis, found: Diagnosis) -> bool:
    """Whether nothing changed except that known incidents have more consequences."""
    return _without_consequences(stored) == _without_consequences(found) and stored != found


def _without_consequences(found: Diagnosis) -> Diagnosis:
    incidents = tuple(
        msgspec.structs.replace(each, consequences={}, until=None, alike={}, alike_until=None)
        for each in found.incidents
    )
    return msgspec.structs.replace(found, incidents=incidents)


def _writes_anyway(builder: PlanBuilder) -> bool:
    return builder.status != builder.job.status or bool(builder.deletes)


def _runs_without(job: Job, status: JobStatus, child: str) -> bool:
    """Whether no replica needs the missing child to run; its refusal is still recorded as an event.

    A finished or suspended job runs no replicas, and a companion belongs to none.
    """
    if status.is_finished or status.is_true(_SUSPENDED):
        return True
    is_group = job.gang is not None and child == job.gang.group_name
    return not (is_group or _replica_named(job, child))


def _replica_named(job: Job, child: str) -> str:
    for replica in job.replicas:
        index = child.removeprefix(replica.name_prefix)
        if child != index and index.isascii() and index.isdigit():
            return f"{replica.label.lower()}-{index}"
    return ""
