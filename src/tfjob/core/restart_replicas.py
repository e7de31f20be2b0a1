"""Restarts replicas: decides an action per replica, records the restarts and deletes the pods.

A counted restart is stored under the pod's UID before that pod is deleted.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from tfjob.core import group_restart, limits, replica_counts
from tfjob.core.diagnosis import recovery
from tfjob.core.job import ReplicaType, RestartPolicy
from tfjob.core.observe import Children, ObservedState, ReplicaInstance
from tfjob.core.plan import ChildKind, EventType, Rule, deletes_of
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import (
    RESTART_ACTIONS,
    ReplicaAction,
    action_for,
    apply_backoff_limit,
    backoff_until,
    in_place_record,
    is_recorded,
    records_after_replacement,
    unexpired_records,
    with_records,
)
from tfjob.core.status import RecordCause, ReplicaStatus
from tfjob.k8s.pod import Phase, Pod

ReplicaActions = Sequence[tuple[ReplicaInstance, ReplicaAction]]
_REPLACED = frozenset(
    {
        ReplicaAction.RESTART,
        ReplicaAction.REPLACE,
        ReplicaAction.FOLLOW,
        ReplicaAction.RESTART_GROUP,
    }
)
_RECORDED = _REPLACED | {ReplicaAction.AWAIT_DELETION}
_DELETED = _REPLACED | {ReplicaAction.RESTARTING}


def count_restarts_of_deleted_pods(builder: PlanBuilder, observed: ObservedState) -> None:
    """Keep counting the container restarts of deleted pods, so that the sum never decreases."""
    for replica in builder.job.replicas:
        stored = builder.status.of(replica.type)
        if not any(each.in_place for each in stored.records):
            continue
        existing = {
            instance.pod.metadata.uid
            for instance in observed.instances[replica.type]
            if instance.pod is not None
        }
        deleted = [each for each in stored.records if each.in_place and each.uid not in existing]
        entries = [
            msgspec.structs.replace(each, cause=RecordCause.DISRUPTED, in_place=0, excused=0)
            for each in deleted
        ]
        _store(
            builder,
            replica,
            restarts=stored.restarts + sum(each.in_place - each.excused for each in deleted),
            records=with_records(stored, entries),
        )


def record_restarts_in_place(builder: PlanBuilder, instances: Sequence[ReplicaInstance]) -> None:
    """Record container restarts that count towards the limit, in case their pod is deleted."""
    if builder.job.policy.backoff_limit is None:
        return
    for replica in builder.job.replicas:
        if _counts_in_place(builder, replica):
            own = [each for each in instances if each.replica is replica]
            _record_in_place(builder, replica, own)


def mark_consequences(builder: PlanBuilder, observed: ObservedState) -> AbstractSet[str]:
    """Mark the replicas that failed or were restarted in place as a consequence of another loss.

    Returns the keys of all failures that are consequences.
    """
    keys = recovery.consequences(builder.job, observed, now=builder.now)
    if not keys:
        return keys
    for instance in observed.all_instances():
        pod = instance.pod
        if pod is None or instance.job is not None:
            continue
        stored = builder.status.of(instance.replica.type)
        if is_recorded(pod, stored, instance.index):
            continue
        instance.is_consequence = recovery.has_followed(instance, pod, keys)
        is_new = pod.restart_count > _recorded_in_place(pod, stored, instance.index)
        instance.has_followed_in_place = is_new and recovery.has_followed_in_place(
            pod, keys, excused=instance.excused
        )
        instance.excused += instance.has_followed_in_place
    return keys


def decide_actions(builder: PlanBuilder, observed: ObservedState) -> ReplicaActions:
    followed = mark_consequences(builder, observed)
    semantics = builder.job.semantics
    actions = [
        (
            instance,
            action_for(
                instance, semantics=semantics, stored=builder.status.of(instance.replica.type)
            ),
        )
        for instance in observed.all_instances()
        if instance.pod is not None
    ]
    left = limits.remaining_restarts(
        builder.job.policy.backoff_limit, counted_restarts(builder, observed)
    )
    due = group_restart.with_uncounted(builder.job, actions, followed=followed, now=builder.now)
    allowed = apply_backoff_limit(due, left=left, semantics=semantics)
    return group_restart.with_groups(builder.job, allowed, status=builder.status, now=builder.now)


def counted_restarts(builder: PlanBuilder, observed: ObservedState) -> limits.Restarts:
    """Restarts that count towards backoffLimit."""
    in_place = 0
    if builder.job.semantics.backoff_limit_counts_container_restarts:
        instances = [
            instance for instance in observed.all_instances() if not _is_excluded(builder, instance)
        ]
        in_place = replica_counts.in_place_restarts(instances)
    return limits.Restarts(in_place=in_place, stored=builder.status.restarts)


def _is_excluded(builder: PlanBuilder, instance: ReplicaInstance) -> bool:
    """Whether the container restarts do not count, or are already in the stored count."""
    if instance.pod is None or instance.replica.restart is RestartPolicy.NEVER:
        return True
    return is_recorded(instance.pod, builder.status.of(instance.replica.type), instance.index)


def restart_params(builder: PlanBuilder) -> dict[str, object]:
    """The message parameters for the job's restarts and its limit."""
    limit = builder.job.policy.backoff_limit
    return {"restarts": builder.status.restarts, "limit": "unlimited" if limit is None else limit}


def restart(builder: PlanBuilder, actions: ReplicaActions) -> None:
    for replica in builder.job.replicas:
        _record(builder, replica, actions)
    record_restarts_in_place(builder, [instance for instance, _ in actions])
    counted = builder.status.restarts - sum(
        action is ReplicaAction.RESTART for _, action in actions
    )
    for instance, action in actions:
        if instance.pod is None or action not in RESTART_ACTIONS or action is ReplicaAction.HOLD:
            continue
        counted += action is ReplicaAction.RESTART
        if action in _DELETED:
            _delete_when_due(builder, instance, instance.pod)
        _record_restart_event(builder, instance, instance.pod, restarts=counted)


def _delete_when_due(builder: PlanBuilder, instance: ReplicaInstance, pod: Pod) -> None:
    """Delete the pod. A failed one is kept until its backoff is over, for the sake of its log."""
    stored, max_delay = (
        builder.status.of(instance.replica.type),
        builder.job.semantics.max_restart_delay,
    )
    moment = backoff_until(stored, instance.index, now=builder.now, max_delay=max_delay)
    builder.requeue_at(moment)
    if moment is None or instance.phase is not Phase.FAILED:
        builder.deletes.extend(deletes_of(ChildKind.POD, [pod.metadata], rule=_rule(instance)))


def prune_records(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    """Drop expired records of replica types whose status is written anyway.

    This keeps the status of a large job small without extra writes.
    """
    if not builder.status.has_records:
        return
    existing = {pod.metadata.uid for pod in children.pods}
    replicas = dict(builder.status.replicas)
    for replica in builder.job.replicas:
        stored = builder.status.of(replica.type)
        if stored.records and stored != builder.job.status.of(replica.type):
            needed = unexpired_records(
                stored, observed.instances[replica.type], existing=existing, now=builder.now
            )
            replicas[replica.type] = msgspec.structs.replace(stored, records=needed)
    builder.set_status(replicas=replicas)


def _record(builder: PlanBuilder, replica: ReplicaType, actions: ReplicaActions) -> None:
    """Record all restarts of a type at once, so that the failure of a large job is cheap."""
    stored = builder.status.of(replica.type)
    own = [(instance, action) for instance, action in actions if instance.replica is replica]
    new = {
        instance.index: instance for instance, action in own if _is_new(instance, action, stored)
    }
    if not new:
        return
    counted = sum(action is ReplicaAction.RESTART for _, action in own)
    in_place = sum(
        instance.pod.restart_count - instance.excused
        for instance in new.values()
        if instance.pod is not None and _counts_in_place(builder, replica)
    )
    _store(
        builder,
        replica,
        restarts=stored.restarts + counted + in_place,
        records=records_after_replacement(new, stored=stored, now=builder.now),
    )
    builder.replaced += sum(
        instance.index in new and action in _RECORDED for instance, action in own
    )


def _is_new(instance: ReplicaInstance, action: ReplicaAction, stored: ReplicaStatus) -> bool:
    """Whether the replacement or deletion of the pod is to be recorded now.

    A deletion is recorded whatever the restart policy, so that a later exit code, such as 0, is
    known to be a consequence of it.
    """
    if instance.pod is None or instance.is_obsolete or instance.is_completed:
        return False
    if is_recorded(instance.pod, stored, instance.index):
        return False
    return action in _RECORDED or (instance.is_disrupted and instance.is_terminating)


def _record_in_place(
    builder: PlanBuilder, replica: ReplicaType, instances: Sequence[ReplicaInstance]
) -> None:
    stored = builder.status.of(replica.type)
    entries = [
        in_place_record(instance, instance.pod, stored=stored, now=builder.now)
        for instance in instances
        if instance.pod is not None
        and not instance.is_obsolete
        and instance.pod.restart_count > _recorded_in_place(instance.pod, stored, instance.index)
    ]
    if entries:
        _store(builder, replica, records=with_records(stored, entries))


def _recorded_in_place(pod: Pod, stored: ReplicaStatus, index: int) -> int:
    """How many container restarts of the pod are recorded; all of them if it is replaced."""
    last = stored.record_of(index)
    if last is None or last.uid != pod.metadata.uid:
        return 0
    return pod.restart_count if last.is_restart else last.in_place


def _counts_in_place(builder: PlanBuilder, replica: ReplicaType) -> bool:
    semantics = builder.job.semantics
    return (
        semantics.backoff_limit_counts_container_restarts
        and replica.restart is not RestartPolicy.NEVER
    )


def _store(builder: PlanBuilder, replica: ReplicaType, **fields: object) -> None:
    changed = msgspec.structs.replace(builder.status.of(replica.type), **fields)
    builder.set_status(replicas={**builder.status.replicas, replica.type: changed})


def _record_restart_event(
    builder: PlanBuilder, instance: ReplicaInstance, pod: Pod, *, restarts: int
) -> None:
    """Record the event of a restart; `restarts` is the job's count up to this one."""
    template = builder.job.messages.restarting
    owner = {"name": builder.job.name, "namespace": builder.job.namespace}
    params = {**instance.params, **restart_params(builder), "restarts": restarts}
    message = template.render(**owner, **params)
    kind = EventType(template.type or EventType.WARNING)
    key, name = f"restarting/{pod.metadata.uid}", pod.metadata.name
    builder.record_event(kind, template.reason, message, key=key, child=name, rule=_rule(instance))


def _rule(instance: ReplicaInstance) -> Rule:
    if instance.is_superseded:
        return Rule.GROUP_RESTART
    if instance.is_consequence:
        return Rule.PEER_LOST
    return Rule.DISRUPTION if instance.is_disrupted else Rule.RESTART_POLICY
