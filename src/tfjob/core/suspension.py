"""Passes over a job that is suspended, and the one that wakes it up again."""

import msgspec

from tfjob.core import completion, replicas, scale_down, suspend_counts
from tfjob.core.observe import Children, ObservedState, observe, replica_services
from tfjob.core.plan import ChildKind, EventType, Plan, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.status import ConditionType, with_condition_false


def suspend(builder: PlanBuilder, children: Children, observed: ObservedState) -> Plan:
    """Everything goes but what the job is allowed to keep while it rests."""
    builder.deletes.extend(deletes_of(ChildKind.POD, (each.metadata for each in children.pods)))
    builder.deletes.extend(deletes_of(ChildKind.JOB, (each.metadata for each in children.jobs)))
    if builder.job.rules.suspend_keeps_services:
        builder.creates.extend(replicas.missing_companions(builder.job, children))
        builder.creates.extend(replicas.missing_services(builder.job, observed))
    else:
        services = (each.metadata for each in replica_services(builder.job, children))
        builder.deletes.extend(deletes_of(ChildKind.SERVICE, services))
    completion.delete_pod_group(builder, children)
    types = [replica.type for replica in builder.job.in_status_order()]
    builder.status = suspend_counts.resting(builder.status, types)
    _set_suspended_condition(builder)
    return builder.plan()


def resume(builder: PlanBuilder, children: Children, observed: ObservedState) -> ObservedState:
    """What there is, after waking the job if it was suspended until now."""
    suspended = builder.status.condition(ConditionType.SUSPENDED)
    if suspended is None or not suspended.is_true:
        return observed
    template = builder.job.messages.resumed
    message = builder.set_condition(ConditionType.SUSPENDED, template, is_true=False)
    if message is not None:
        builder.record_event(EventType.NORMAL, template.reason, message)
    builder.status = suspend_counts.restarted(builder.status)
    # It starts when pods may be made, which may have to wait for a scheduler.
    builder.set_status(start_time=None)
    # That it is resumed is stored before any pod is made: all that is there is of the run before.
    metas = [pod.metadata for pod in children.pods]
    scale_down.record_removed(builder, children, metas)
    builder.deletes.extend(deletes_of(ChildKind.POD, metas))
    return observe(msgspec.structs.replace(builder.job, status=builder.status), children)


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
