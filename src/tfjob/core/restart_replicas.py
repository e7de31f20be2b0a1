"""The restarts of one pass: every replica's fate judged, then written down and carried out.

What is counted is stored, by the pod's UID, before the pod that proves it is deleted.
"""

from collections.abc import Sequence

import msgspec

from tfjob.core import backoff, replica_counts
from tfjob.core.job import Replica, RestartPolicy
from tfjob.core.observe import Children, Slot, View
from tfjob.core.plan import ChildKind, EventType, Rule, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import (
    RESTART_ACTIONS,
    ReplicaAction,
    action_for,
    due,
    in_place_entry,
    is_recorded,
    recorded,
    still_told,
    with_entries,
    within_budget,
)
from tfjob.core.status import Cause, ReplicaStatus
from tfjob.k8s.pod import Pod

ReplicaActions = Sequence[tuple[Slot, ReplicaAction]]
_RECORDED = frozenset({ReplicaAction.RESTART, ReplicaAction.REPLACE, ReplicaAction.AWAIT})
_DELETED = frozenset({ReplicaAction.RESTART, ReplicaAction.REPLACE, ReplicaAction.RESTARTED})


def count_vanished(builder: PlanBuilder, seen: View) -> None:
    """Container restarts of a pod that is gone stay counted: the sum never falls."""
    for replica in builder.job.replicas:
        stored = builder.status.of(replica.type)
        if not any(each.in_place for each in stored.recent):
            continue
        there = {slot.pod.metadata.uid for slot in seen.slots[replica.type] if slot.pod is not None}
        gone = [each for each in stored.recent if each.in_place and each.uid not in there]
        entries = [
            msgspec.structs.replace(each, cause=Cause.DISRUPTED, in_place=0) for each in gone
        ]
        _store(
            builder,
            replica,
            restarts=stored.restarts + sum(each.in_place for each in gone),
            recent=with_entries(stored, entries),
        )


def judged(builder: PlanBuilder, seen: View) -> ReplicaActions:
    rules = builder.job.rules
    actions = [
        (slot, action_for(slot, rules=rules, stored=builder.status.of(slot.replica.type)))
        for slot in seen.all_slots()
        if slot.pod is not None
    ]
    left = backoff.remaining(builder.job.policy.backoff_limit, so_far(builder, seen))
    return within_budget(actions, left=left, rules=rules)


def so_far(builder: PlanBuilder, seen: View) -> backoff.Restarts:
    """Restarts that count towards the limit; types that never restart have none."""
    in_place = 0
    if builder.job.rules.budget_counts_container_restarts:
        slots = [slot for slot in seen.all_slots() if not _is_counted(builder, slot)]
        in_place = replica_counts.in_place_restarts(slots)
    return backoff.Restarts(in_place=in_place, stored=builder.status.restarts)


def _is_counted(builder: PlanBuilder, slot: Slot) -> bool:
    """Its restarts in place do not count, or are part of the stored number already."""
    if slot.pod is None or slot.replica.restart is RestartPolicy.NEVER:
        return True
    return is_recorded(slot.pod, builder.status.of(slot.replica.type), slot.index)


def restarts_so_far(builder: PlanBuilder) -> dict[str, object]:
    """The job's restarts and how many it may have, as they are told."""
    limit = builder.job.policy.backoff_limit
    return {"restarts": builder.status.restarts, "limit": "unlimited" if limit is None else limit}


def restart(builder: PlanBuilder, actions: ReplicaActions) -> None:
    for replica in builder.job.replicas:
        _record(builder, replica, actions)
        _note_in_place(builder, replica, actions)
    for slot, fate in actions:
        if slot.pod is None or fate not in RESTART_ACTIONS or fate is ReplicaAction.HELD:
            continue
        if fate in _DELETED:
            _delete_when_due(builder, slot, slot.pod)
        _tell(builder, slot, slot.pod)


def _delete_when_due(builder: PlanBuilder, slot: Slot, pod: Pod) -> None:
    """A failed pod, and its log, stays until its successor may be made."""
    stored, longest = builder.status.of(slot.replica.type), builder.job.rules.longest_restart_delay
    moment = due(stored, slot.index, now=builder.now, longest=longest)
    builder.wake(moment)
    if moment is None:
        builder.deletes.extend(deletes_of(ChildKind.POD, [pod.metadata], rule=_rule(slot)))


def forget(builder: PlanBuilder, children: Children, seen: View) -> None:
    """Drop what is over from the record of restarts, where the status is written anyway: the
    record of a wide job stays short, and its being too long is never a reason to write."""
    there = {pod.metadata.uid for pod in children.pods}
    replicas = dict(builder.status.replicas)
    for replica in builder.job.replicas:
        stored = builder.status.of(replica.type)
        if stored.recent and stored != builder.job.status.of(replica.type):
            told = still_told(stored, seen.slots[replica.type], there=there, now=builder.now)
            replicas[replica.type] = msgspec.structs.replace(stored, recent=told)
    builder.set_status(replicas=replicas)


def _record(builder: PlanBuilder, replica: Replica, actions: ReplicaActions) -> None:
    """All of a type at once: one by one is slow when a wide job fails as a whole."""
    stored = builder.status.of(replica.type)
    own = [(slot, fate) for slot, fate in actions if slot.replica is replica]
    new = {slot.index: slot for slot, fate in own if _is_new(slot, fate, stored)}
    if not new:
        return
    counted = sum(fate is ReplicaAction.RESTART for _, fate in own)
    in_place = sum(
        slot.pod.restart_count
        for slot in new.values()
        if slot.pod is not None and _counts_in_place(builder, replica)
    )
    _store(
        builder,
        replica,
        restarts=stored.restarts + counted + in_place,
        recent=recorded(new, stored=stored, now=builder.now),
    )
    builder.restarts += sum(slot.index in new and fate in _RECORDED for slot, fate in own)


def _is_new(slot: Slot, fate: ReplicaAction, stored: ReplicaStatus) -> bool:
    """The pod is replaced, or its deletion is seen, and that is not on record yet.

    A deletion is written down whatever the policy makes of it: what is seen of the pod later,
    such as exit code 0, came after it.
    """
    if slot.pod is None or slot.is_leaving or slot.is_completed:
        return False
    if is_recorded(slot.pod, stored, slot.index):
        return False
    return fate in _RECORDED or (slot.is_disrupted and slot.is_terminating)


def _note_in_place(builder: PlanBuilder, replica: Replica, actions: ReplicaActions) -> None:
    """Where a limit counts them, restarts in place are stored in case their pod vanishes."""
    if builder.job.policy.backoff_limit is None or not _counts_in_place(builder, replica):
        return
    stored = builder.status.of(replica.type)
    entries = [
        in_place_entry(slot, slot.pod, stored=stored, now=builder.now)
        for slot, _ in actions
        if slot.replica is replica
        and slot.pod is not None
        and not slot.is_leaving
        and slot.pod.restart_count > _noted(slot.pod, stored, slot.index)
    ]
    if entries:
        _store(builder, replica, recent=with_entries(stored, entries))


def _noted(pod: Pod, stored: ReplicaStatus, index: int) -> int:
    """How many restarts of its containers are on record; all of a pod that is replaced are."""
    last = stored.recent_of(index)
    if last is None or last.uid != pod.metadata.uid:
        return 0
    return pod.restart_count if last.is_restart else last.in_place


def _counts_in_place(builder: PlanBuilder, replica: Replica) -> bool:
    rules = builder.job.rules
    return rules.budget_counts_container_restarts and replica.restart is not RestartPolicy.NEVER


def _store(builder: PlanBuilder, replica: Replica, **fields: object) -> None:
    changed = msgspec.structs.replace(builder.status.of(replica.type), **fields)
    builder.set_status(replicas={**builder.status.replicas, replica.type: changed})


def _tell(builder: PlanBuilder, slot: Slot, pod: Pod) -> None:
    phrase = builder.job.messages.restarting
    owner = {"name": builder.job.name, "namespace": builder.job.namespace}
    message = phrase.say(**owner, **slot.facts, **restarts_so_far(builder))
    kind = EventType(phrase.type or EventType.WARNING)
    key, name = f"restarting/{pod.metadata.uid}", pod.metadata.name
    builder.tell(kind, phrase.reason, message, key=key, child=name, rule=_rule(slot))


def _rule(slot: Slot) -> Rule:
    return Rule.DISRUPTION if slot.is_disrupted else Rule.RESTART_POLICY
