"""suspend: deletes the pods of a suspended job in an orderly shutdown.

A resumed job starts all its replicas again.
"""

from collections.abc import Set as AbstractSet
from datetime import datetime

import msgspec

from tfjob.core import completion, orderly_end, replica_counts, replicas, scale_down
from tfjob.core.observe import Children, ObservedState, observe, replica_services
from tfjob.core.plan import ChildKind, EventType, Rule, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.status import ConditionType, with_condition_false


def suspend(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    """Delete all children except those the job keeps while suspended."""
    pods = [each.metadata for each in children.pods]
    batch_jobs = [each.metadata for each in children.jobs]
    deletes = [
        *deletes_of(ChildKind.POD, pods, rule=Rule.SUSPENDED),
        *deletes_of(ChildKind.JOB, batch_jobs, rule=Rule.SUSPENDED),
    ]
    if builder.job.semantics.suspend_keeps_services:
        builder.creates.extend(replicas.missing_companions(builder.job, children))
        builder.creates.extend(replicas.missing_services(builder.job, observed))
    else:
        services = (each.metadata for each in replica_services(builder.job, children))
        deletes.extend(deletes_of(ChildKind.SERVICE, services, rule=Rule.SUSPENDED))
    since = _suspended_since(builder)
    due = orderly_end.due(builder, children, deletes, since=since)
    builder.deletes.extend(due)
    completion.delete_pod_group(builder, children, rule=Rule.SUSPENDED)
    builder.status = replica_counts.while_suspended(
        builder.status, active=_left_running(builder, observed, deleted={each.uid for each in due})
    )
    _set_suspended_condition(builder)


def resume(builder: PlanBuilder, children: Children, observed: ObservedState) -> ObservedState:
    """Resume the job if it was suspended; returns the state as observed afterwards."""
    if not builder.status.is_true(ConditionType.SUSPENDED):
        return observed
    template = builder.job.messages.resumed
    message = builder.set_condition(ConditionType.SUSPENDED, template, is_true=False)
    if message is not None:
        builder.record_event(EventType.NORMAL, template.reason, message)
    builder.status = replica_counts.after_resume(builder.status)
    # The job starts when its pods may be created, which may wait for a gang scheduler.
    builder.set_status(start_time=None)
    # Resuming is stored before pods are created, so all existing pods belong to the earlier run.
    metas = [pod.metadata for pod in children.pods]
    scale_down.record_removed(builder, children, metas)
    scale_down.delete_superseded(builder, children, metas)
    return observe(msgspec.structs.replace(builder.job, status=builder.status), children)


def _suspended_since(builder: PlanBuilder) -> datetime | None:
    found = builder.status.condition(ConditionType.SUSPENDED)
    return found.last_transition if found is not None and found.is_true else None


def _left_running(
    builder: PlanBuilder, observed: ObservedState, *, deleted: AbstractSet[str]
) -> dict[str, int]:
    """How many replicas of each type still run after these deletions."""
    return {
        replica.type: sum(
            each.is_active and each.pod is not None and each.pod.metadata.uid not in deleted
            for each in observed.instances[replica.type]
        )
        for replica in builder.job.in_status_order()
    }


def _set_suspended_condition(builder: PlanBuilder) -> None:
    template = builder.job.messages.suspended
    if builder.status.is_true(ConditionType.RUNNING):
        builder.set_condition(ConditionType.RUNNING, template, is_true=False)
    builder.status = with_condition_false(
        builder.status, ConditionType.RESTARTING, now=builder.timestamp
    )
    message = builder.set_condition(ConditionType.SUSPENDED, template)
    if message is not None:
        builder.record_event(EventType.NORMAL, template.reason, message)
