"""How a job ends and what is left to do once it has: verdict, clean-up, bookkeeping, expiry."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from tfjob.core import cleanup, counts, deadline, gang, reporting, success
from tfjob.core.draft import Draft
from tfjob.core.job import TRAINING_CONTAINER, Decider, Replica
from tfjob.core.observe import Children, Slot, View, ended, replica_services
from tfjob.core.plan import ChildKind, EventType, Plan, Update
from tfjob.core.restart import Fate
from tfjob.core.restarting import Fates
from tfjob.core.status import ConditionType
from tfjob.core.wording import Phrase
from tfjob.k8s import time
from tfjob.k8s.pod import Phase


def is_ended(draft: Draft, seen: View, fates: Fates) -> bool:
    """Give the verdict, if there is one; success comes first."""
    if success.is_succeeded(draft.job.rules.decider, seen):
        facts = success.decisive_slot(draft.job.rules.decider, seen).facts
        _finish(draft, ConditionType.SUCCEEDED, draft.job.wording.succeeded, facts=facts)
        _count_success(draft)
        return True
    return _is_failed(draft, seen, fates)


def fail(
    draft: Draft,
    phrase: Phrase,
    *,
    event: EventType = EventType.NORMAL,
    facts: Mapping[str, object] = MappingProxyType({}),
) -> None:
    _finish(draft, ConditionType.FAILED, phrase, event=event, facts=facts)


def is_won_before_rest(draft: Draft, seen: View) -> bool:
    """The job has succeeded, and where it is also asked to rest that comes first."""
    rules = draft.job.rules
    if not rules.success_before_suspension or is_overdue(draft, seen):
        return False
    return success.is_succeeded(rules.decider, seen)


def is_overdue(draft: Draft, seen: View) -> bool:
    """The job's time is over, and no success within it counts."""
    limit, start = draft.job.policy.deadline, draft.status.start_time
    if not deadline.is_hit(limit, start, now=draft.now):
        return False
    if not draft.job.rules.success_before_deadline:
        return True
    end = deadline.ends_at(limit, start)
    return not _succeeded_by(draft.job.rules.decider, seen, moment=end)


def _succeeded_by(decider: Decider, seen: View, *, moment: datetime | None) -> bool:
    """The deciding replica is known to have succeeded no later than at `moment`."""
    chosen = success.chosen_slot(decider, seen)
    if chosen is None or not chosen.is_done or chosen.pod is None or moment is None:
        return False
    end = chosen.pod.terminated(TRAINING_CONTAINER)
    finished = time.parse(end.finished_at) if end is not None else None
    return finished is not None and finished <= moment


def finished(draft: Draft, children: Children, seen: View) -> Plan:
    """A pass over a job that has its verdict."""
    job = draft.job
    if draft.status.completion_time is None:
        draft.set_status(completion_time=_verdict_time(draft))
    expiry = cleanup.expires_at(draft.status.completion_time, job.policy.ttl)
    if expiry is not None and draft.now >= expiry:
        return Plan(deletes_job=True)
    draft.wake(expiry)
    if draft.status.is_true(ConditionType.SUCCEEDED):
        _count_success(draft)
    clean_up(draft, children, seen)
    _stop_failed_jobs(draft, seen)
    if not (job.gang is not None and job.gang.stays_with_pods and children.pods):
        remove_group(draft, children)
    return draft.plan()


def _count_success(draft: Draft) -> None:
    draft.set_status(
        replicas={kind: counts.after_success(each) for kind, each in draft.status.replicas.items()}
    )


def _stop_failed_jobs(draft: Draft, seen: View) -> None:
    """A batch Job whose end was permanent would start its pod again and again: it is suspended,
    which leaves the Job and the pods that have ended."""
    going = {each.uid for each in draft.deletes}
    for slot in seen.all_slots():
        job = slot.job
        if job is None or slot.phase is not Phase.FAILED or job.metadata.uid in going:
            continue
        if not draft.job.rules.decider.includes(slot.replica.type, slot.index):
            continue
        if job.spec.suspend or job.status.succeeded or job.metadata.is_terminating:
            continue
        meta, body = job.metadata, {"spec": {"suspend": True}}
        draft.updates.append(Update(kind=ChildKind.JOB, name=meta.name, uid=meta.uid, body=body))


def clean_up(draft: Draft, children: Children, seen: View) -> None:
    """What the policy takes goes; where a limit has ended the job, so does all that still runs."""
    going = cleanup.removals(
        draft.job.policy.clean,
        pods=children.pods,
        jobs=children.jobs,
        services=[service.metadata for service in replica_services(draft.job, children)],
        ended=ended(draft.job, children, seen),
        ends_unfinished=draft.status.limit_reached is not None,
    )
    draft.deletes.extend(going)
    if draft.status.is_true(ConditionType.SUCCEEDED):
        return
    names = {each.name for each in going if each.kind == ChildKind.POD}
    remaining = {
        kind: sum(slot.is_active and slot.name not in names for slot in slots)
        for kind, slots in seen.slots.items()
    }
    draft.set_status(
        replicas={
            kind: counts.after_failure(each, remaining=remaining.get(kind, 0))
            for kind, each in draft.status.replicas.items()
        }
    )


def remove_group(draft: Draft, children: Children) -> None:
    going = gang.removal(children.pod_group)
    if not going:
        return
    draft.deletes.extend(going)
    phrase = draft.job.wording.group_terminated
    key = f"group-terminated/{going[0].uid}"
    draft.tell(EventType.NORMAL, phrase.reason, phrase.say(), key=key)


def _is_failed(draft: Draft, seen: View, fates: Fates) -> bool:
    wording = draft.job.wording
    for replica in draft.job.in_status_order():
        slot = _first(fates, replica, Fate.FAIL_BY_CODE)
        if slot is not None:
            _show_what_ran(draft, seen)
            fail(draft, wording.failed_exit_code, event=EventType.WARNING, facts=slot.facts)
            if not wording.failed_exit_code.type:
                _tell_count(draft, slot)
            return True
    for replica in draft.job.in_status_order():
        slot = _first(fates, replica, Fate.FAIL) or _last_one(replica, seen, fates)
        if slot is not None:
            _show_what_ran(draft, seen)
            facts = {**slot.facts, "count": _failures(draft, slot)}
            fail(draft, wording.failed, facts=facts)
            return True
    return False


def _first(fates: Fates, replica: Replica, wanted: Fate) -> Slot | None:
    """The first replica of a type that has this fate."""
    own = (slot for slot, fate in fates if fate is wanted and slot.replica is replica)
    return next(own, None)


def _failures(draft: Draft, slot: Slot) -> int:
    return draft.status.of(slot.replica.type).failed


def _show_what_ran(draft: Draft, seen: View) -> None:
    """A job that was running when it failed says so, also when one pass saw both."""
    if not draft.status.is_true(ConditionType.RESTARTING):
        reporting.show_running(draft, seen)


def _last_one(replica: Replica, seen: View, fates: Fates) -> Slot | None:
    """A failed replica after whose failure nobody was left to go on; until then it was borne."""
    if not replica.tolerates_failure:
        return None
    borne = [slot for slot, fate in fates if fate is Fate.TOLERATE and slot.replica is replica]
    over = sum(slot.is_succeeded for slot in seen.slots[replica.type])
    return borne[-1] if borne and over + len(borne) == replica.count else None


def _tell_count(draft: Draft, slot: Slot) -> None:
    phrase = draft.job.wording.failed
    message = phrase.say(
        name=draft.job.name,
        namespace=draft.job.namespace,
        **slot.facts,
        count=_failures(draft, slot),
    )
    draft.tell(EventType.NORMAL, phrase.reason, message, key=f"verdict/count/{draft.job.owner.uid}")


def _finish(
    draft: Draft,
    kind: ConditionType,
    phrase: Phrase,
    *,
    event: EventType = EventType.NORMAL,
    facts: Mapping[str, object],
) -> None:
    message = draft.set_condition(kind, phrase, facts=facts)
    draft.set_status(completion_time=draft.status.completion_time or draft.stamp)
    if message is not None:
        key = f"verdict/{draft.job.owner.uid}"
        draft.tell(EventType(phrase.type or event), phrase.reason, message, key=key)


def _verdict_time(draft: Draft) -> datetime:
    for kind in (ConditionType.SUCCEEDED, ConditionType.FAILED):
        found = draft.status.condition(kind)
        if found is not None and found.is_true:
            return found.last_transition or found.last_update or draft.stamp
    return draft.stamp
