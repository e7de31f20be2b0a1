"""The restarts of one pass: every replica's fate judged, then written down and carried out.

What is counted is stored, by the pod's UID, before the pod that proves it is deleted.
"""

from collections.abc import Sequence

import msgspec

from tfjob.core import limits, replica_counts
from tfjob.core.job import Replica, RestartPolicy
from tfjob.core.observe import Children, ObservedState, ReplicaInstance
from tfjob.core.plan import ChildKind, EventType, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import (
    RESTART_ACTIONS,
    ReplicaAction,
    action_for,
    backoff_until,
    in_place_record,
    is_recorded,
    records_after_replacement,
    unexpired_records,
    with_records,
    within_budget,
)
from tfjob.core.status import RecordCause, ReplicaStatus
from tfjob.k8s.pod import Pod

ReplicaActions = Sequence[tuple[ReplicaInstance, ReplicaAction]]
_RECORDED = frozenset({ReplicaAction.RESTART, ReplicaAction.REPLACE, ReplicaAction.AWAIT_DELETION})
_DELETED = frozenset({ReplicaAction.RESTART, ReplicaAction.REPLACE, ReplicaAction.RESTARTING})


def count_restarts_of_deleted_pods(builder: PlanBuilder, observed: ObservedState) -> None:
    """Container restarts of a pod that is gone stay counted: the sum never falls."""
    for replica in builder.job.replicas:
        stored = builder.status.of(replica.type)
        if not any(each.in_place for each in stored.records):
            continue
        there = {
            instance.pod.metadata.uid
            for instance in observed.instances[replica.type]
            if instance.pod is not None
        }
        gone = [each for each in stored.records if each.in_place and each.uid not in there]
        entries = [
            msgspec.structs.replace(each, cause=RecordCause.DISRUPTED, in_place=0) for each in gone
        ]
        _store(
            builder,
            replica,
            restarts=stored.restarts + sum(each.in_place for each in gone),
            records=with_records(stored, entries),
        )


def decide_actions(builder: PlanBuilder, observed: ObservedState) -> ReplicaActions:
    rules = builder.job.rules
    actions = [
        (
            instance,
            action_for(instance, rules=rules, stored=builder.status.of(instance.replica.type)),
        )
        for instance in observed.all_instances()
        if instance.pod is not None
    ]
    left = limits.remaining_restarts(
        builder.job.policy.backoff_limit, counted_restarts(builder, observed)
    )
    return within_budget(actions, left=left, rules=rules)


def counted_restarts(builder: PlanBuilder, observed: ObservedState) -> limits.Restarts:
    """Restarts that count towards the limit; types that never restart have none."""
    in_place = 0
    if builder.job.rules.budget_counts_container_restarts:
        instances = [
            instance for instance in observed.all_instances() if not _is_excluded(builder, instance)
        ]
        in_place = replica_counts.in_place_restarts(instances)
    return limits.Restarts(in_place=in_place, stored=builder.status.restarts)


def _is_excluded(builder: PlanBuilder, instance: ReplicaInstance) -> bool:
    """Its restarts in place do not count, or are part of the stored number already."""
    if instance.pod is None or instance.replica.restart is RestartPolicy.NEVER:
        return True
    return is_recorded(instance.pod, builder.status.of(instance.replica.type), instance.index)


def restart_params(builder: PlanBuilder) -> dict[str, object]:
    """The job's restarts and how many it may have, as they are told."""
    limit = builder.job.policy.backoff_limit
    return {"restarts": builder.status.restarts, "limit": "unlimited" if limit is None else limit}


def restart(builder: PlanBuilder, actions: ReplicaActions) -> None:
    for replica in builder.job.replicas:
        _record(builder, replica, actions)
        _record_in_place(builder, replica, actions)
    for instance, action in actions:
        if instance.pod is None or action not in RESTART_ACTIONS or action is ReplicaAction.HOLD:
            continue
        if action in _DELETED:
            _delete_when_due(builder, instance, instance.pod)
        _record_restart_event(builder, instance, instance.pod)


def _delete_when_due(builder: PlanBuilder, instance: ReplicaInstance, pod: Pod) -> None:
    """A failed pod, and its log, stays until its successor may be made."""
    stored, max_delay = (
        builder.status.of(instance.replica.type),
        builder.job.rules.max_restart_delay,
    )
    moment = backoff_until(stored, instance.index, now=builder.now, max_delay=max_delay)
    builder.requeue_at(moment)
    if moment is None:
        builder.deletes.extend(deletes_of(ChildKind.POD, [pod.metadata]))


def prune_records(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    """Drop what is over from the record of restarts, where the status is written anyway: the
    record of a wide job stays short, and its being too long is never a reason to write."""
    there = {pod.metadata.uid for pod in children.pods}
    replicas = dict(builder.status.replicas)
    for replica in builder.job.replicas:
        stored = builder.status.of(replica.type)
        if stored.records and stored != builder.job.status.of(replica.type):
            told = unexpired_records(
                stored, observed.instances[replica.type], there=there, now=builder.now
            )
            replicas[replica.type] = msgspec.structs.replace(stored, records=told)
    builder.set_status(replicas=replicas)


def _record(builder: PlanBuilder, replica: Replica, actions: ReplicaActions) -> None:
    """All of a type at once: one by one is slow when a wide job fails as a whole."""
    stored = builder.status.of(replica.type)
    own = [(instance, action) for instance, action in actions if instance.replica is replica]
    new = {
        instance.index: instance for instance, action in own if _is_new(instance, action, stored)
    }
    if not new:
        return
    counted = sum(action is ReplicaAction.RESTART for _, action in own)
    in_place = sum(
        instance.pod.restart_count
        for instance in new.values()
        if instance.pod is not None and _counts_in_place(builder, replica)
    )
    _store(
        builder,
        replica,
        restarts=stored.restarts + counted + in_place,
        records=records_after_replacement(new, stored=stored, now=builder.now),
    )
    builder.restarts += sum(
        instance.index in new and action in _RECORDED for instance, action in own
    )


def _is_new(instance: ReplicaInstance, action: ReplicaAction, stored: ReplicaStatus) -> bool:
    """The pod is replaced, or its deletion is seen, and that is not on record yet.

    A deletion is written down whatever the policy makes of it: what is seen of the pod later,
    such as exit code 0, came after it.
    """
    if instance.pod is None or instance.is_obsolete or instance.is_completed:
        return False
    if is_recorded(instance.pod, stored, instance.index):
        return False
    return action in _RECORDED or (instance.is_disrupted and instance.is_terminating)


def _record_in_place(builder: PlanBuilder, replica: Replica, actions: ReplicaActions) -> None:
    """Where a limit counts them, restarts in place are stored in case their pod vanishes."""
    if builder.job.policy.backoff_limit is None or not _counts_in_place(builder, replica):
        return
    stored = builder.status.of(replica.type)
    entries = [
        in_place_record(instance, instance.pod, stored=stored, now=builder.now)
        for instance, _ in actions
        if instance.replica is replica
        and instance.pod is not None
        and not instance.is_obsolete
        and instance.pod.restart_count > _recorded_in_place(instance.pod, stored, instance.index)
    ]
    if entries:
        _store(builder, replica, records=with_records(stored, entries))


def _recorded_in_place(pod: Pod, stored: ReplicaStatus, index: int) -> int:
    """How many restarts of its containers are on record; all of a pod that is replaced are."""
    last = stored.record_of(index)
    if last is None or last.uid != pod.metadata.uid:
        return 0
    return pod.restart_count if last.is_restart else last.in_place


def _counts_in_place(builder: PlanBuilder, replica: Replica) -> bool:
    rules = builder.job.rules
    return rules.budget_counts_container_restarts and replica.restart is not RestartPolicy.NEVER


def _store(builder: PlanBuilder, replica: Replica, **fields: object) -> None:
    changed = msgspec.structs.replace(builder.status.of(replica.type), **fields)
    builder.set_status(replicas={**builder.status.replicas, replica.type: changed})


def _record_restart_event(builder: PlanBuilder, instance: ReplicaInstance, pod: Pod) -> None:
    template = builder.job.messages.restarting
    owner = {"name": builder.job.name, "namespace": builder.job.namespace}
    message = template.render(**owner, **instance.params, **restart_params(builder))
    kind = EventType(template.type or EventType.WARNING)
    builder.record_event(kind, template.reason, message, key=f"restarting/{pod.metadata.uid}")
