"""The only entry: the policies in their order, from (job, children, now) to a Plan.

Law: a finished job stays finished; a job that ends in this pass makes no more children; success
and failure are never both true. The order below is the order of precedence.
"""

from datetime import datetime

from tfjob.core import (
    completion,
    create_children,
    deadline,
    limits,
    progress,
    replicas,
    restart_replicas,
    suspension,
)
from tfjob.core.job import Job
from tfjob.core.observe import Children, view
from tfjob.core.plan import Plan
from tfjob.core.plan_builder import PlanBuilder


def reconcile(*, job: Job, children: Children, now: datetime) -> Plan:
    """Decide what shall be done for one job."""
    if job.is_external or job.is_deleting:
        return Plan()
    builder = PlanBuilder(job, now=now)
    seen = view(job, children)
    builder.updates.extend(replicas.changed_companions(job, children))
    if job.status.is_finished:
        return completion.finished(builder, children, seen)
    progress.note_created(builder)
    progress.say_own(builder)
    if not job.policy.is_suspended:
        seen = suspension.resumed(builder, children, seen)
    elif not completion.is_won_before_rest(builder, seen):
        return suspension.suspended(builder, children, seen)
    restart_replicas.count_vanished(builder, seen)
    actions = restart_replicas.judged(builder, seen)
    progress.report(builder, children, seen)
    if limits.is_hit(builder, children, seen, actions):
        return builder.plan()
    builder.wake(deadline.ends_at(job.policy.deadline, builder.status.start_time))
    if not create_children.is_admitted(builder, children):
        return builder.plan()
    builder.set_status(start_time=builder.status.start_time or builder.stamp)
    progress.count(builder, seen)
    if not completion.is_ended(builder, seen, actions):
        restart_replicas.restart(builder, actions)
        create_children.create_children(builder, children, seen)
        progress.show_progress(builder, seen, actions)
        builder.wake(deadline.ends_at(job.policy.deadline, builder.status.start_time))
    restart_replicas.forget(builder, children, seen)
    return builder.plan()
