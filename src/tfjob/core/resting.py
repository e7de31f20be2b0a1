"""Passes over a job that is suspended, and the one that wakes it up again."""

import msgspec

from tfjob.core import ending, replicas, suspend
from tfjob.core.draft import Draft
from tfjob.core.observe import Children, View, replica_services, view
from tfjob.core.plan import ChildKind, EventType, Plan, deletes_of
from tfjob.core.status import Condition, ConditionType, flipped
from tfjob.k8s import time
from tfjob.k8s.pod import Pod


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
    earlier = [pod for pod in children.pods if not _is_made_since(suspended, pod)]
    phrase = draft.job.wording.resumed
    message = draft.set_condition(ConditionType.SUSPENDED, phrase, is_true=False)
    if message is not None:
        draft.tell(EventType.NORMAL, phrase.reason, message)
    draft.status = suspend.restarted(draft.status)
    # It starts when pods may be made, which may have to wait for a scheduler.
    draft.set_status(start_time=None)
    draft.deletes.extend(deletes_of(ChildKind.POD, (each.metadata for each in earlier)))
    seen = view(msgspec.structs.replace(draft.job, status=draft.status), children)
    leaving = {pod.metadata.uid for pod in earlier}
    for slot in seen.all_slots():
        slot.is_leaving = slot.pod is not None and slot.pod.metadata.uid in leaving
    return seen


def _is_made_since(suspended: Condition, pod: Pod) -> bool:
    """Made by an earlier pass that resumed the job and could not say so."""
    created = time.parse(pod.metadata.creation_timestamp)
    since = suspended.last_transition
    if created is None or since is None or pod.metadata.is_terminating:
        return False
    return created > since


def _show_suspended(draft: Draft) -> None:
    phrase = draft.job.wording.suspended
    if draft.status.is_true(ConditionType.RUNNING):
        draft.set_condition(ConditionType.RUNNING, phrase, is_true=False)
    draft.status = flipped(draft.status, ConditionType.RESTARTING, now=draft.stamp)
    message = draft.set_condition(ConditionType.SUSPENDED, phrase)
    if message is not None:
        draft.tell(EventType.NORMAL, phrase.reason, message)
