"""Encodes and decodes the status of these jobs.

Decoding is lenient and always returns a usable status. What the next reconcile needs and the API
has no field for is stored in additional fields.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from tfjob.core import indexes
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import MAX_REPLICAS, Job
from tfjob.core.observe import observe
from tfjob.core.status import Condition, ConditionType, JobStatus, ReplicaStatus
from tfjob.dialects import diagnosis_field
from tfjob.dialects.base import StatusContext
from tfjob.dialects.stored_values import (
    mapping,
    mappings,
    number,
    read_limit,
    read_records,
    render_time,
    text,
)
from tfjob.dialects.tensorstack import api, conditions, tasks, tensorboard
from tfjob.k8s import time

FIELDS = frozenset(
    {
        "aggregate",
        "backoffCount",
        "conditions",
        "diagnosis",
        "limitReached",
        "phase",
        "progress",
        "startTime",
        "tasks",
        "tensorboard",
        "trainingCompletionTime",
    }
)
_PROGRESS: Mapping[str, str] = {
    ConditionType.RUNNING: api.MESSAGES.running.reason,
    ConditionType.RESTARTING: api.MESSAGES.restarting.reason,
}
"""The core's condition of an unfinished job, and its reason."""


_MAX_TASKS = 32
"""Tasks that are read of a stored status; whoever may write it could add any number."""


def encode(job: Job | InvalidJob, status: JobStatus, context: StatusContext) -> dict[str, Any]:
    stored = mapping(context.stored)
    found = conditions.Conditions(_stored_conditions(stored), now=context.now)
    before = list(_stored_replicas(stored))
    board: dict[str, Any] | None = None
    if isinstance(job, InvalidJob):
        conditions.conclude(found, status)
        shown = [dict(each) for each in _stored_tasks(stored)]
        replicas: Sequence[Mapping[str, Any]] = before
    else:
        observed_state = observe(msgspec.structs.replace(job, status=status), context.children)
        conditions.advance(found, job, status, observed_state=observed_state, context=context)
        shown = tasks.tasks_of(job, status, observed_state, before=before)
        replicas = [entry for task in shown for entry in task["replicas"]]
        create_error = (
            context.create_error if conditions.has_replicas(job, status, observed_state) else ""
        )
        board = tensorboard.status_of(job, context.children, create_error=create_error)
    whole = {
        "phase": conditions.phase_of(found, status),
        "conditions": found.shown(),
        "tasks": shown,
        "backoffCount": status.restarts,
        "aggregate": tasks.aggregate_of(replicas),
        "tensorboard": board,
        "startTime": render_time(status.start_time) if found.is_true(api.INITIALIZED) else None,
        "progress": _progress(status),
        "limitReached": status.limit_reached and str(status.limit_reached),
        "trainingCompletionTime": render_time(status.training_completed),
        diagnosis_field.NAME: diagnosis_field.encoded(status),
    }
    return {key: value for key, value in whole.items() if value is not None}


def decode(stored: object) -> JobStatus:
    given = mapping(stored)
    found = {each["type"]: each for each in _stored_conditions(given)}
    verdict = _verdict(found, phase=given.get("phase"))
    return JobStatus(
        conditions=tuple(_conditions(given, found, verdict)),
        replicas={each["type"]: _read_task(each) for each in _stored_tasks(given)},
        start_time=time.parse(given.get("startTime")),
        completion_time=None if verdict is None else verdict.last_transition,
        limit_reached=read_limit(given.get("limitReached")),
        training_completed=time.parse(given.get("trainingCompletionTime")),
        diagnosis=diagnosis_field.decoded(given),
    )


def notices(stored: Mapping[str, Any], *, name: str) -> list[tuple[str, str]]:
    """The Normal events for the current state of a job."""
    if not text(stored.get("phase")):
        return [(api.CREATED.reason, api.CREATED.render(name=name))]
    found = {each["type"]: each for each in _stored_conditions(stored)}
    began = mapping(found.get(api.INITIALIZED))
    runs_since = mapping(found.get(api.RUNNING)).get("lastTransitionTime")
    is_new = runs_since is None or runs_since == began.get("lastTransitionTime")
    if began.get("status") == "True" and is_new:
        return [(api.STARTED.reason, api.STARTED.message)]
    return []


def _conditions(
    given: Mapping[str, Any], found: Mapping[str, Mapping[str, Any]], verdict: Condition | None
) -> Iterator[Condition]:
    """The core's conditions that correspond to this status, in order."""
    if text(given.get("phase")):
        yield _set(ConditionType.CREATED, reason=api.CREATED.reason)
    paused = found.get(api.PAUSED)
    if paused is not None:
        yield _paused(paused)
    reason = _PROGRESS.get(text(given.get("progress")))
    if reason is not None and verdict is None and text(mapping(paused).get("status")) != "True":
        yield _set(ConditionType(given["progress"]), reason=reason)
    if verdict is not None:
        yield verdict


def _set(kind: ConditionType, *, reason: str, message: str = "") -> Condition:
    """A true condition without timestamps, which are not stored."""
    return Condition(
        type=kind.value,
        status="True",
        reason=reason,
        message=message,
        last_update=None,
        last_transition=None,
    )


def _paused(stored: Mapping[str, Any]) -> Condition:
    reason = text(stored.get("reason"))
    return _read_condition(
        ConditionType.SUSPENDED,
        {**stored, "reason": api.RESUMING if reason == api.RESUMED else reason},
    )


def _verdict(found: Mapping[str, Mapping[str, Any]], *, phase: object) -> Condition | None:
    """Read from the conditions, or from a final phase if they are lost."""
    failed, completed = mapping(found.get(api.FAILED)), mapping(found.get(api.COMPLETED))
    if failed.get("status") == "True":
        return _read_condition(ConditionType.FAILED, failed)
    if completed.get("status") == "True":
        return _read_condition(ConditionType.SUCCEEDED, completed)
    if phase == api.FAILED:
        return _set(ConditionType.FAILED, reason=api.FAILED)
    if phase == api.SUCCEEDED:
        template = api.MESSAGES.succeeded
        return _set(ConditionType.SUCCEEDED, reason=template.reason, message=template.message)
    return None


def _read_condition(kind: ConditionType, stored: Mapping[str, Any]) -> Condition:
    moment = time.parse(stored.get("lastTransitionTime"))
    return Condition(
        type=kind.value,
        status=text(stored.get("status")),
        reason=text(stored.get("reason")),
        message=text(stored.get("message")),
        last_update=moment,
        last_transition=moment,
    )


def _read_task(stored: Mapping[str, Any]) -> ReplicaStatus:
    return ReplicaStatus(
        active=number(stored.get("active")),
        succeeded=number(stored.get("succeeded")),
        failed=number(stored.get("failed")),
        restarts=number(stored.get("restartCount")),
        completed=indexes.parse(stored.get("completedIndexes"), below=MAX_REPLICAS),
        records=read_records(stored.get("recentRestarts")),
    )


def _stored_conditions(stored: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The last entry of each type: a list edited by hand may have duplicates."""
    entries = mappings(stored.get("conditions"))
    return list({each["type"]: each for each in entries if text(each.get("type"))}.values())


def _stored_tasks(stored: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    tasks = (each for each in mappings(stored.get("tasks")) if text(each.get("type")))
    return islice(tasks, _MAX_TASKS)


def _stored_replicas(stored: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (each for task in _stored_tasks(stored) for each in mappings(task.get("replicas")))


def _progress(status: JobStatus) -> str | None:
    """The core's condition of an unfinished job, which may differ from the phase."""
    if status.is_finished:
        return None
    return next((str(kind) for kind in _PROGRESS if status.is_true(kind)), None)
