"""Passes over a job that is suspended, and the one that wakes it up again."""

import msgspec

from tfjob.core import ending, replicas, scaling, suspend
from tfjob.core.draft import Draft
from tfjob.core.observe import Children, View, replica_services, view
from tfjob.core.plan import ChildKind, EventType, Plan, deletes_of
from tfjob.core.status import ConditionType, flipped


def suspended(draft: Draft, children: Children, seen: View) -> Plan:
    """Everything goes but what the job is allowed to keep while it rests."""
    draft.deletes.extend(deletes_of(ChildKind.POD, (each.metadata for each in children.pods)))
    draft.deletes.extend(deletes_of(ChildKind.JOB, (each.metadata for each in children.jobs)))
    if draft.job.rules.suspend_keeps_services:
        draft.creates.extend(replicas.missing_companions(draft.job, children))
        draft.creates.extend(replicas.missing_services(draft.job, seen))
    else:
        services = (each.metadata for each in replica_services(draft.job, children))
        draft.deletes.extend(deletes_of(ChildKind.SERVICE, services))
    ending.remove_group(draft, children)
    types = [replica.type for replica in draft.job.in_status_order()]
    draft.status = suspend.resting(draft.status, types)
    _show_suspended(draft)
    return draft.plan()


def resumed(draft: Draft, children: Children, seen: View) -> View:
    """What there is, after waking the job if it was suspended until now."""
    suspended = draft.status.condition(ConditionType.SUSPENDED)
    if suspended is None or not suspended.is_true:
        return seen
    phrase = draft.job.wording.resumed
    message = draft.set_condition(ConditionType.SUSPENDED, phrase, is_true=False)
    if message is not None:
        draft.tell(EventType.NORMAL, phrase.reason, message)
    draft.status = suspend.restarted(draft.status)
    # It starts when pods may be made, which may have to wait for a scheduler.
    draft.set_status(start_time=None)
    # That it is resumed is stored before any pod is made: all that is there is of the run before.
    metas = [pod.metadata for pod in children.pods]
    scaling.note_removed(draft, children, metas)
    draft.deletes.extend(deletes_of(ChildKind.POD, metas))
    return view(msgspec.structs.replace(draft.job, status=draft.status), children)


def _show_suspended(draft: Draft) -> None:
    phrase = draft.job.wording.suspended
    if draft.status.is_true(ConditionType.RUNNING):
        draft.set_condition(ConditionType.RUNNING, phrase, is_true=False)
    draft.status = flipped(draft.status, ConditionType.RESTARTING, now=draft.stamp)
    message = draft.set_condition(ConditionType.SUSPENDED, phrase)
    if message is not None:
        draft.tell(EventType.NORMAL, phrase.reason, message)
