"""How a job ends and what is left to do once it has: verdict, clean-up, bookkeeping, expiry."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from tfjob.core import cleanup, deadline, gang_scheduling, progress, replica_counts, success
from tfjob.core.job import TRAINING_CONTAINER, Replica, SuccessCriterion
from tfjob.core.messages import MessageTemplate
from tfjob.core.observe import (
    Children,
    ObservedState,
    ReplicaInstance,
    ended_uids,
    replica_services,
)
from tfjob.core.plan import ChildKind, EventType, Plan, Update
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import ReplicaAction
from tfjob.core.restart_replicas import ReplicaActions
from tfjob.core.status import ConditionType
from tfjob.k8s import time
from tfjob.k8s.pod import Phase


def finish_if_decided(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> bool:
    """Give the verdict, if there is one; success comes first."""
    if success.is_succeeded(builder.job.rules.success_criterion, observed):
        params = success.representative_instance(
            builder.job.rules.success_criterion, observed
        ).params
        _finish(builder, ConditionType.SUCCEEDED, builder.job.messages.succeeded, params=params)
        _count_success(builder)
        return True
    return _fail_if_decided(builder, observed, actions)


def fail(
    builder: PlanBuilder,
    template: MessageTemplate,
    *,
    event: EventType = EventType.NORMAL,
    params: Mapping[str, object] = MappingProxyType({}),
) -> None:
    _finish(builder, ConditionType.FAILED, template, event=event, params=params)


def has_succeeded_before_suspension(builder: PlanBuilder, observed: ObservedState) -> bool:
    """The job has succeeded, and where it is also asked to rest that comes first."""
    rules = builder.job.rules
    if not rules.success_before_suspension or is_past_deadline(builder, observed):
        return False
    return success.is_succeeded(rules.success_criterion, observed)


def is_past_deadline(builder: PlanBuilder, observed: ObservedState) -> bool:
    """The job's time is over, and no success within it counts."""
    limit, start = builder.job.policy.deadline, builder.status.start_time
    if not deadline.is_hit(limit, start, now=builder.now):
        return False
    if not builder.job.rules.success_before_deadline:
        return True
    end = deadline.ends_at(limit, start)
    return not _succeeded_by(builder.job.rules.success_criterion, observed, moment=end)


def _succeeded_by(
    success_criterion: SuccessCriterion, observed: ObservedState, *, moment: datetime | None
) -> bool:
    """The deciding replica is known to have succeeded no later than at `moment`."""
    chosen = success.sole_decisive_instance(success_criterion, observed)
    if chosen is None or not chosen.is_confirmed_success or chosen.pod is None or moment is None:
        return False
    end = chosen.pod.terminated(TRAINING_CONTAINER)
    finish = time.parse(end.finished_at) if end is not None else None
    return finish is not None and finish <= moment


def reconcile_finished(builder: PlanBuilder, children: Children, observed: ObservedState) -> Plan:
    """A pass over a job that has its verdict."""
    job = builder.job
    if builder.status.completion_time is None:
        builder.set_status(completion_time=_finish_time(builder))
    expiry = cleanup.expires_at(builder.status.completion_time, job.policy.ttl)
    if expiry is not None and builder.now >= expiry:
        return Plan(deletes_job=True)
    builder.requeue_at(expiry)
    if builder.status.is_true(ConditionType.SUCCEEDED):
        _count_success(builder)
    clean_up(builder, children, observed)
    _stop_failed_jobs(builder, observed)
    if not (job.gang is not None and job.gang.stays_with_pods and children.pods):
        delete_pod_group(builder, children)
    return builder.plan()


def _count_success(builder: PlanBuilder) -> None:
    builder.set_status(
        replicas={
            kind: replica_counts.after_success(each)
            for kind, each in builder.status.replicas.items()
        }
    )


def _stop_failed_jobs(builder: PlanBuilder, observed: ObservedState) -> None:
    """A batch Job whose end was permanent would start its pod again and again: it is suspended,
    which leaves the Job and the pods that have ended."""
    going = {each.uid for each in builder.deletes}
    for instance in observed.all_instances():
        job = instance.job
        if job is None or instance.phase is not Phase.FAILED or job.metadata.uid in going:
            continue
        if not builder.job.rules.success_criterion.includes(instance.replica.type, instance.index):
            continue
        if job.spec.suspend or job.status.succeeded or job.metadata.is_terminating:
            continue
        meta, body = job.metadata, {"spec": {"suspend": True}}
        builder.updates.append(Update(kind=ChildKind.JOB, name=meta.name, uid=meta.uid, body=body))


def clean_up(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    """What the policy takes goes; where a limit has ended the job, so does all that still runs."""
    going = cleanup.deletes_after_completion(
        builder.job.policy.clean,
        pods=children.pods,
        jobs=children.jobs,
        services=[service.metadata for service in replica_services(builder.job, children)],
        ended=ended_uids(builder.job, children, observed),
        deletes_running=builder.status.limit_reached is not None,
    )
    builder.deletes.extend(going)
    if builder.status.is_true(ConditionType.SUCCEEDED):
        return
    names = {each.name for each in going if each.kind == ChildKind.POD}
    remaining = {
        kind: sum(instance.is_active and instance.name not in names for instance in instances)
        for kind, instances in observed.instances.items()
    }
    builder.set_status(
        replicas={
            kind: replica_counts.after_failure(each, remaining=remaining.get(kind, 0))
            for kind, each in builder.status.replicas.items()
        }
    )


def delete_pod_group(builder: PlanBuilder, children: Children) -> None:
    going = gang_scheduling.delete_group(children.pod_group)
    if not going:
        return
    builder.deletes.extend(going)
    template = builder.job.messages.group_terminated
    key = f"group-terminated/{going[0].uid}"
    builder.record_event(EventType.NORMAL, template.reason, template.render(), key=key)


def _fail_if_decided(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> bool:
    messages = builder.job.messages
    for replica in builder.job.in_status_order():
        instance = _first(actions, replica, ReplicaAction.FAIL_JOB_ON_EXIT_CODE)
        if instance is not None:
            _set_running_before_failure(builder, observed)
            fail(
                builder, messages.failed_exit_code, event=EventType.WARNING, params=instance.params
            )
            if not messages.failed_exit_code.type:
                _record_failure_count(builder, instance)
            return True
    for replica in builder.job.in_status_order():
        instance = _first(actions, replica, ReplicaAction.FAIL_JOB) or _last_tolerated_failure(
            replica, observed, actions
        )
        if instance is not None:
            _set_running_before_failure(builder, observed)
            params = {**instance.params, "count": _failures(builder, instance)}
            fail(builder, messages.failed, params=params)
            return True
    return False


def _first(
    actions: ReplicaActions, replica: Replica, wanted: ReplicaAction
) -> ReplicaInstance | None:
    """The first replica of a type that has this fate."""
    own = (
        instance for instance, action in actions if action is wanted and instance.replica is replica
    )
    return next(own, None)


def _failures(builder: PlanBuilder, instance: ReplicaInstance) -> int:
    return builder.status.of(instance.replica.type).failed


def _set_running_before_failure(builder: PlanBuilder, observed: ObservedState) -> None:
    """A job that was running when it failed says so, also when one pass saw both."""
    if not builder.status.is_true(ConditionType.RESTARTING):
        progress.set_running_condition(builder, observed)


def _last_tolerated_failure(
    replica: Replica, observed: ObservedState, actions: ReplicaActions
) -> ReplicaInstance | None:
    """A failed replica after whose failure nobody was left to go on; until then it was borne."""
    if not replica.tolerates_failure:
        return None
    borne = [
        instance
        for instance, action in actions
        if action is ReplicaAction.TOLERATE and instance.replica is replica
    ]
    over = sum(instance.is_succeeded for instance in observed.instances[replica.type])
    return borne[-1] if borne and over + len(borne) == replica.count else None


def _record_failure_count(builder: PlanBuilder, instance: ReplicaInstance) -> None:
    template = builder.job.messages.failed
    message = template.render(
        name=builder.job.name,
        namespace=builder.job.namespace,
        **instance.params,
        count=_failures(builder, instance),
    )
    builder.record_event(
        EventType.NORMAL, template.reason, message, key=f"verdict/count/{builder.job.owner.uid}"
    )


def _finish(
    builder: PlanBuilder,
    kind: ConditionType,
    template: MessageTemplate,
    *,
    event: EventType = EventType.NORMAL,
    params: Mapping[str, object],
) -> None:
    message = builder.set_condition(kind, template, params=params)
    builder.set_status(completion_time=builder.status.completion_time or builder.timestamp)
    if message is not None:
        key = f"verdict/{builder.job.owner.uid}"
        builder.record_event(EventType(template.type or event), template.reason, message, key=key)


def _finish_time(builder: PlanBuilder) -> datetime:
    for kind in (ConditionType.SUCCEEDED, ConditionType.FAILED):
        found = builder.status.condition(kind)
        if found is not None and found.is_true:
            return found.last_transition or found.last_update or builder.timestamp
    return builder.timestamp
