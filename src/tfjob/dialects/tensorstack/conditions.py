"""status.conditions and status.phase, derived from the observed children.

A condition is absent until it is first set, and its time changes only with its status. The core
decides when a job has finished; after that nothing changes.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from tfjob.core import replicas
from tfjob.core.job import Job
from tfjob.core.observe import ObservedState, ReplicaInstance
from tfjob.core.status import Condition, ConditionType, JobStatus
from tfjob.dialects.base import StatusContext
from tfjob.dialects.tensorstack import api, tasks
from tfjob.k8s import time
from tfjob.k8s.pod import Phase


class Conditions:
    """The conditions of a status under construction, initialised with the stored ones."""

    def __init__(self, stored: Iterable[Mapping[str, Any]], *, now: datetime) -> None:
        self._found = {each["type"]: dict(each) for each in stored}
        self._now = now

    def is_true(self, kind: str) -> bool:
        return self._found.get(kind, {}).get("status") == "True"

    def set(
        self,
        kind: str,
        *,
        is_true: bool,
        reason: str = api.NO_REASON,
        message: str,
        at: datetime | None = None,
    ) -> None:
        status = "True" if is_true else "False"
        old = self._found.get(kind, {})
        moment = old.get("lastTransitionTime") if old.get("status") == status else None
        self._found[kind] = {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": moment or time.render(at or self._now),
        }

    def shown(self) -> list[dict[str, Any]]:
        order = [*api.CONDITIONS, *sorted(self._found.keys() - set(api.CONDITIONS))]
        return [self._found[kind] for kind in order if kind in self._found]


def advance(
    found: Conditions,
    job: Job,
    status: JobStatus,
    *,
    observed_state: ObservedState,
    context: StatusContext,
) -> None:
    """Set the conditions of a valid job: first those observed, then those decided by the core."""
    if not has_finished(found):
        _set_initialized(found, job, status, observed_state=observed_state, context=context)
        _set_failure(found, status, observed_state)
    is_inactive = status.is_finished or status.is_true(ConditionType.SUSPENDED)
    if not is_inactive and (found.is_true(api.RUNNING) or tasks.is_up(observed_state, status)):
        found.set(api.RUNNING, is_true=True, message=api.ALL_WELL)
    conclude(found, status)


def conclude(found: Conditions, status: JobStatus) -> None:
    """Set the conditions decided by the core: Paused, Completed and Failed."""
    paused = status.condition(ConditionType.SUSPENDED)
    if paused is not None:
        _set_paused(found, paused)
    verdict = verdict_of(status)
    if verdict is not None:
        is_failed = verdict.type == ConditionType.FAILED
        for kind, is_true in (
            (api.RUNNING, False),
            (api.COMPLETED, True),
            (api.FAILED, is_failed),
        ):
            found.set(
                kind,
                is_true=is_true,
                reason=verdict.reason,
                message=verdict.message,
                at=verdict.last_transition,
            )


def phase_of(found: Conditions, status: JobStatus) -> str:
    verdict = verdict_of(status)
    if verdict is not None:
        return api.FAILED if verdict.type == ConditionType.FAILED else api.SUCCEEDED
    if status.is_true(ConditionType.SUSPENDED):
        return api.PAUSED
    if found.is_true(api.RUNNING):
        return api.RUNNING
    was_paused = status.condition(ConditionType.SUSPENDED) is not None
    return api.RESUMING if was_paused else api.PENDING


def verdict_of(status: JobStatus) -> Condition | None:
    for kind in (ConditionType.FAILED, ConditionType.SUCCEEDED):
        found = status.condition(kind)
        if found is not None and found.is_true:
            return found
    return None


def has_finished(found: Conditions) -> bool:
    return found.is_true(api.COMPLETED) or found.is_true(api.FAILED)


def _set_paused(found: Conditions, paused: Condition) -> None:
    """A resumed job has the reason Resumed in the condition and Resuming in the event."""
    reason = api.RESUMED if paused.reason == api.RESUMING else paused.reason
    found.set(
        api.PAUSED,
        is_true=paused.is_true,
        reason=reason,
        message=paused.message,
        at=paused.last_transition,
    )
    if paused.is_true:
        at = paused.last_transition
        found.set(api.RUNNING, is_true=False, reason=reason, message=paused.message, at=at)


def _set_initialized(
    found: Conditions,
    job: Job,
    status: JobStatus,
    *,
    observed_state: ObservedState,
    context: StatusContext,
) -> None:
    if found.is_true(api.INITIALIZED):
        return
    is_paused = status.is_true(ConditionType.SUSPENDED)
    children = context.children
    if not is_paused and job.gang is not None and children.pod_group is None:
        if context.create_error:
            template = api.GROUP_UNAVAILABLE
            message = template.render(error=context.create_error)
            found.set(api.INITIALIZED, is_true=False, reason=template.reason, message=message)
        return
    if has_replicas(job, status, observed_state) and _has_board(job, context):
        found.set(api.INITIALIZED, is_true=True, message=api.STARTED.message)


def has_replicas(job: Job, status: JobStatus, observed_state: ObservedState) -> bool:
    """All children of the replicas exist; a paused job needs no pods."""
    if not (
        status.is_true(ConditionType.SUSPENDED) or tasks.are_all_created(observed_state, status)
    ):
        return False
    return all(
        replica.name(index) in observed_state.services
        for replica in job.replicas
        for index in range(replica.count)
    )


def _has_board(job: Job, context: StatusContext) -> bool:
    """The TensorBoard exists, or cannot be created, for which the job does not wait."""
    return bool(context.create_error) or not replicas.missing_companions(job, context.children)


def _set_failure(found: Conditions, status: JobStatus, observed_state: ObservedState) -> None:
    instances = observed_state.all_instances()
    failing = next((instance for instance in instances if _is_failing(instance)), None)
    if failing is not None:
        message = api.ERROR_IN_POD.render(**failing.params)
        reason = api.ERROR_IN_POD.reason
        found.set(api.REPLICA_FAILURE, is_true=True, reason=reason, message=message)
        return
    is_inactive = status.is_finished or status.is_true(ConditionType.SUSPENDED)
    is_again = any(
        tasks.is_restarting(instance, status.of(instance.replica.type)) for instance in instances
    )
    if found.is_true(api.REPLICA_FAILURE) and (is_inactive or is_again):
        return
    if found.is_true(api.INITIALIZED) and not status.is_finished:
        found.set(api.REPLICA_FAILURE, is_true=False, message=api.ALL_WELL)


def _is_failing(instance: ReplicaInstance) -> bool:
    """Failed, and not because its pod was disrupted or its group restarted."""
    if instance.pod is None or instance.phase is not Phase.FAILED or instance.is_obsolete:
        return False
    return not (instance.is_disrupted or instance.is_superseded)
