"""The only entry: the policies in their order, from (job, children, now) to a Plan.

Law: a finished job stays finished; a job that ends in this pass makes no more children; success
and failure are never both true. The order below is the order of precedence.
"""

from datetime import datetime

from tfjob.core import deadline, ending, limits, making, replicas, reporting, restarting, resting
from tfjob.core.draft import Draft
from tfjob.core.job import Job
from tfjob.core.observe import Children, view
from tfjob.core.plan import Plan


def reconcile(*, job: Job, children: Children, now: datetime) -> Plan:
    """Decide what shall be done for one job."""
    if job.is_external or job.is_deleting:
        return Plan()
    draft = Draft(job, now=now)
    seen = view(job, children)
    draft.updates.extend(replicas.changed_companions(job, children))
    if job.status.is_finished:
        return ending.finished(draft, children, seen)
    reporting.note_created(draft)
    reporting.say_own(draft)
    if not job.policy.is_suspended:
        seen = resting.resumed(draft, children, seen)
    elif not ending.is_won_before_rest(draft, seen):
        return resting.suspended(draft, children, seen)
    restarting.count_vanished(draft, seen)
    fates = restarting.judged(draft, seen)
    reporting.report(draft, children, seen)
    if limits.is_hit(draft, children, seen, fates):
        return draft.plan()
    draft.wake(deadline.ends_at(job.policy.deadline, draft.status.start_time))
    if not making.is_admitted(draft, children):
        return draft.plan()
    draft.set_status(start_time=draft.status.start_time or draft.stamp)
    reporting.count(draft, seen)
    if not ending.is_ended(draft, seen, fates):
        restarting.restart(draft, fates)
        making.make(draft, children, seen)
        reporting.show_progress(draft, seen, fates)
        draft.wake(deadline.ends_at(job.policy.deadline, draft.status.start_time))
    restarting.forget(draft, children, seen)
    return draft.plan()
