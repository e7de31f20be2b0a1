"""Passes over a job that is suspended, and the one that wakes it up again."""

import msgspec

from tfjob.core import completion, replicas, scale_down, suspend_counts
from tfjob.core.observe import Children, View, replica_services, view
from tfjob.core.plan import ChildKind, EventType, Plan, Rule, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.status import ConditionType, flipped


def suspended(builder: PlanBuilder, children: Children, seen: View) -> Plan:
    """Everything goes but what the job is allowed to keep while it rests."""
    pods, jobs = (
        [each.metadata for each in children.pods],
        [each.metadata for each in children.jobs],
    )
    builder.deletes.extend(deletes_of(ChildKind.POD, pods, rule=Rule.SUSPENDED))
    builder.deletes.extend(deletes_of(ChildKind.JOB, jobs, rule=Rule.SUSPENDED))
    if builder.job.rules.suspend_keeps_services:
        builder.creates.extend(replicas.missing_companions(builder.job, children))
        builder.creates.extend(replicas.missing_services(builder.job, seen))
    else:
        services = (each.metadata for each in replica_services(builder.job, children))
        builder.deletes.extend(deletes_of(ChildKind.SERVICE, services, rule=Rule.SUSPENDED))
    completion.remove_group(builder, children, rule=Rule.SUSPENDED)
    types = [replica.type for replica in builder.job.in_status_order()]
    builder.status = suspend_counts.resting(builder.status, types)
    _show_suspended(builder)
    return builder.plan()


def resumed(builder: PlanBuilder, children: Children, seen: View) -> View:
    """What there is, after waking the job if it was suspended until now."""
    suspended = builder.status.condition(ConditionType.SUSPENDED)
    if suspended is None or not suspended.is_true:
        return seen
    phrase = builder.job.messages.resumed
    message = builder.set_condition(ConditionType.SUSPENDED, phrase, is_true=False)
    if message is not None:
        builder.tell(EventType.NORMAL, phrase.reason, message)
    builder.status = suspend_counts.restarted(builder.status)
    # It starts when pods may be made, which may have to wait for a scheduler.
    builder.set_status(start_time=None)
    # That it is resumed is stored before any pod is made: all that is there is of the run before.
    metas = [pod.metadata for pod in children.pods]
    scale_down.note_removed(builder, children, metas)
    builder.deletes.extend(deletes_of(ChildKind.POD, metas, rule=Rule.SUPERSEDED))
    return view(msgspec.structs.replace(builder.job, status=builder.status), children)


def _show_suspended(builder: PlanBuilder) -> None:
    phrase = builder.job.messages.suspended
    if builder.status.is_true(ConditionType.RUNNING):
        builder.set_condition(ConditionType.RUNNING, phrase, is_true=False)
    builder.status = flipped(builder.status, ConditionType.RESTARTING, now=builder.stamp)
    message = builder.set_condition(ConditionType.SUSPENDED, phrase)
    if message is not None:
        builder.tell(EventType.NORMAL, phrase.reason, message)
