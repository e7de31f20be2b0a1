"""How a job ends and what is left to do once it has: verdict, clean-up, bookkeeping, expiry."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from tfjob.core import cleanup, deadline, gang_scheduling, progress, replica_counts, success
from tfjob.core.job import TRAINING_CONTAINER, Replica, SuccessCriterion
from tfjob.core.messages import MessageTemplate
from tfjob.core.observe import Children, Slot, View, ended, replica_services
from tfjob.core.plan import ChildKind, EventType, Plan, Rule, Update
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import ReplicaAction
from tfjob.core.restart_replicas import ReplicaActions
from tfjob.core.status import ConditionType, Limit
from tfjob.k8s import time
from tfjob.k8s.pod import Phase

_RULES: Final[Mapping[Limit | None, Rule]] = {
    Limit.BACKOFF: Rule.BACKOFF_LIMIT,
    Limit.DEADLINE: Rule.ACTIVE_DEADLINE,
}


def is_ended(builder: PlanBuilder, seen: View, actions: ReplicaActions) -> bool:
    """Give the verdict, if there is one; success comes first."""
    if success.is_succeeded(builder.job.rules.decider, seen):
        facts = success.decisive_slot(builder.job.rules.decider, seen).facts
        _finish(builder, ConditionType.SUCCEEDED, builder.job.messages.succeeded, facts=facts)
        _count_success(builder)
        return True
    return _is_failed(builder, seen, actions)


def fail(
    builder: PlanBuilder,
    phrase: MessageTemplate,
    *,
    event: EventType = EventType.NORMAL,
    facts: Mapping[str, object] = MappingProxyType({}),
) -> None:
    _finish(builder, ConditionType.FAILED, phrase, event=event, facts=facts)


def is_won_before_rest(builder: PlanBuilder, seen: View) -> bool:
    """The job has succeeded, and where it is also asked to rest that comes first."""
    rules = builder.job.rules
    if not rules.success_before_suspension or is_overdue(builder, seen):
        return False
    return success.is_succeeded(rules.decider, seen)


def is_overdue(builder: PlanBuilder, seen: View) -> bool:
    """The job's time is over, and no success within it counts."""
    limit, start = builder.job.policy.deadline, builder.status.start_time
    if not deadline.is_hit(limit, start, now=builder.now):
        return False
    if not builder.job.rules.success_before_deadline:
        return True
    end = deadline.ends_at(limit, start)
    return not _succeeded_by(builder.job.rules.decider, seen, moment=end)


def _succeeded_by(decider: SuccessCriterion, seen: View, *, moment: datetime | None) -> bool:
    """The deciding replica is known to have succeeded no later than at `moment`."""
    chosen = success.chosen_slot(decider, seen)
    if chosen is None or not chosen.is_done or chosen.pod is None or moment is None:
        return False
    end = chosen.pod.terminated(TRAINING_CONTAINER)
    finished = time.parse(end.finished_at) if end is not None else None
    return finished is not None and finished <= moment


def finished(builder: PlanBuilder, children: Children, seen: View) -> Plan:
    """A pass over a job that has its verdict."""
    job = builder.job
    if builder.status.completion_time is None:
        builder.set_status(completion_time=_verdict_time(builder))
    expiry = cleanup.expires_at(builder.status.completion_time, job.policy.ttl)
    if expiry is not None and builder.now >= expiry:
        return Plan(deletes_job=True)
    builder.wake(expiry)
    if builder.status.is_true(ConditionType.SUCCEEDED):
        _count_success(builder)
    clean_up(builder, children, seen)
    _stop_failed_jobs(builder, seen)
    if not (job.gang is not None and job.gang.stays_with_pods and children.pods):
        remove_group(builder, children, rule=Rule.JOB_FINISHED)
    return builder.plan()


def _count_success(builder: PlanBuilder) -> None:
    builder.set_status(
        replicas={
            kind: replica_counts.after_success(each)
            for kind, each in builder.status.replicas.items()
        }
    )


def _stop_failed_jobs(builder: PlanBuilder, seen: View) -> None:
    """A batch Job whose end was permanent would start its pod again and again: it is suspended,
    which leaves the Job and the pods that have ended."""
    going = {each.uid for each in builder.deletes}
    for slot in seen.all_slots():
        job = slot.job
        if job is None or slot.phase is not Phase.FAILED or job.metadata.uid in going:
            continue
        if not builder.job.rules.decider.includes(slot.replica.type, slot.index):
            continue
        if job.spec.suspend or job.status.succeeded or job.metadata.is_terminating:
            continue
        meta, body = job.metadata, {"spec": {"suspend": True}}
        builder.updates.append(Update(kind=ChildKind.JOB, name=meta.name, uid=meta.uid, body=body))


def clean_up(builder: PlanBuilder, children: Children, seen: View) -> None:
    """What the policy takes goes; where a limit has ended the job, so does all that still runs."""
    going = cleanup.removals(
        builder.job.policy.clean,
        pods=children.pods,
        jobs=children.jobs,
        services=[service.metadata for service in replica_services(builder.job, children)],
        ended=ended(builder.job, children, seen),
        limit=_RULES.get(builder.status.limit_reached),
    )
    builder.deletes.extend(going)
    if builder.status.is_true(ConditionType.SUCCEEDED):
        return
    names = {each.name for each in going if each.kind == ChildKind.POD}
    remaining = {
        kind: sum(slot.is_active and slot.name not in names for slot in slots)
        for kind, slots in seen.slots.items()
    }
    builder.set_status(
        replicas={
            kind: replica_counts.after_failure(each, remaining=remaining.get(kind, 0))
            for kind, each in builder.status.replicas.items()
        }
    )


def remove_group(builder: PlanBuilder, children: Children, *, rule: Rule) -> None:
    going = gang_scheduling.removal(children.pod_group, rule=rule)
    if not going:
        return
    builder.deletes.extend(going)
    phrase = builder.job.messages.group_terminated
    key = f"group-terminated/{going[0].uid}"
    builder.tell(EventType.NORMAL, phrase.reason, phrase.say(), key=key)


def _is_failed(builder: PlanBuilder, seen: View, actions: ReplicaActions) -> bool:
    messages = builder.job.messages
    for replica in builder.job.in_status_order():
        slot = _first(actions, replica, ReplicaAction.FAIL_BY_CODE)
        if slot is not None:
            _show_what_ran(builder, seen)
            fail(builder, messages.failed_exit_code, event=EventType.WARNING, facts=slot.facts)
            if not messages.failed_exit_code.type:
                _tell_count(builder, slot)
            return True
    for replica in builder.job.in_status_order():
        slot = _first(actions, replica, ReplicaAction.FAIL) or _last_one(replica, seen, actions)
        if slot is not None:
            _show_what_ran(builder, seen)
            facts = {**slot.facts, "count": _failures(builder, slot)}
            fail(builder, messages.failed, facts=facts)
            return True
    return False


def _first(actions: ReplicaActions, replica: Replica, wanted: ReplicaAction) -> Slot | None:
    """The first replica of a type that has this fate."""
    own = (slot for slot, fate in actions if fate is wanted and slot.replica is replica)
    return next(own, None)


def _failures(builder: PlanBuilder, slot: Slot) -> int:
    return builder.status.of(slot.replica.type).failed


def _show_what_ran(builder: PlanBuilder, seen: View) -> None:
    """A job that was running when it failed says so, also when one pass saw both."""
    if not builder.status.is_true(ConditionType.RESTARTING):
        progress.show_running(builder, seen)


def _last_one(replica: Replica, seen: View, actions: ReplicaActions) -> Slot | None:
    """A failed replica after whose failure nobody was left to go on; until then it was borne."""
    if not replica.tolerates_failure:
        return None
    borne = [
        slot for slot, fate in actions if fate is ReplicaAction.TOLERATE and slot.replica is replica
    ]
    over = sum(slot.is_succeeded for slot in seen.slots[replica.type])
    return borne[-1] if borne and over + len(borne) == replica.count else None


def _tell_count(builder: PlanBuilder, slot: Slot) -> None:
    phrase = builder.job.messages.failed
    message = phrase.say(
        name=builder.job.name,
        namespace=builder.job.namespace,
        **slot.facts,
        count=_failures(builder, slot),
    )
    builder.tell(
        EventType.NORMAL, phrase.reason, message, key=f"verdict/count/{builder.job.owner.uid}"
    )


def _finish(
    builder: PlanBuilder,
    kind: ConditionType,
    phrase: MessageTemplate,
    *,
    event: EventType = EventType.NORMAL,
    facts: Mapping[str, object],
) -> None:
    message = builder.set_condition(kind, phrase, facts=facts)
    builder.set_status(completion_time=builder.status.completion_time or builder.stamp)
    if message is not None:
        key = f"verdict/{builder.job.owner.uid}"
        builder.tell(EventType(phrase.type or event), phrase.reason, message, key=key)


def _verdict_time(builder: PlanBuilder) -> datetime:
    for kind in (ConditionType.SUCCEEDED, ConditionType.FAILED):
        found = builder.status.condition(kind)
        if found is not None and found.is_true:
            return found.last_transition or found.last_update or builder.stamp
    return builder.stamp
