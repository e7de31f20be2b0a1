"""Finishing a job, and reconciling it once it has finished: verdict, clean-up, counts and TTL.

Limits are checked before anything else. A job that fails at a limit loses everything that still
runs, whatever its cleanPodPolicy. Otherwise success is checked before failure.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from tfjob.core import (
    cleanup,
    evaluator_grace,
    last_failures,
    limits,
    orderly_end,
    pod_group,
    progress,
    queue_group,
    replica_counts,
    success,
)
from tfjob.core.job import TRAINING_CONTAINER, ReplicaType, SuccessCriterion
from tfjob.core.messages import MessageTemplate
from tfjob.core.observe import (
    Children,
    ObservedState,
    ReplicaInstance,
    ended_uids,
    replica_services,
)
from tfjob.core.plan import ChildKind, EventType, Plan, Rule, Update
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import ReplicaAction
from tfjob.core.restart_replicas import ReplicaActions, counted_restarts
from tfjob.core.status import ConditionType, Limit
from tfjob.k8s import time
from tfjob.k8s.pod import Phase

_RULES: Final[Mapping[Limit | None, Rule]] = {
    Limit.BACKOFF: Rule.BACKOFF_LIMIT,
    Limit.DEADLINE: Rule.ACTIVE_DEADLINE,
}


def fail_if_limit_reached(
    builder: PlanBuilder, children: Children, observed: ObservedState, actions: ReplicaActions
) -> bool:
    """Fail the job if it has reached its backoffLimit or its deadline."""
    limit = _reached_limit(builder, observed, actions)
    if limit is None:
        return False
    progress.update_counts(builder, observed)
    builder.set_status(limit_reached=limit)
    clean_up(builder, children, observed)
    messages = builder.job.messages
    is_backoff = limit is Limit.BACKOFF
    template = messages.failed_backoff if is_backoff else messages.failed_deadline
    _fail(builder, template, detail=_last_failure_of_deleted_pods(builder, children))
    return True


def finish_if_decided(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> bool:
    """Set Succeeded or Failed if the replicas decide it, or wait for the evaluators.

    Returns whether this reconcile has nothing more to decide.
    """
    criterion = builder.job.semantics.success_criterion
    if evaluator_grace.has_begun(builder) or success.is_succeeded(criterion, observed):
        if evaluator_grace.await_evaluators(builder, observed, actions):
            return True
        found = success.representative_instance(criterion, observed)
        params = _params_of_job(builder) if found is None else found.params
        _finish(builder, ConditionType.SUCCEEDED, builder.job.messages.succeeded, params=params)
        _count_success(builder)
        return True
    return _fail_if_decided(builder, observed, actions)


def _params_of_job(builder: PlanBuilder) -> Mapping[str, object]:
    """The message parameters of a success if no decisive replica is left to name."""
    return {"type": "", "child": builder.job.name, "code": 0}


def has_succeeded_before_suspension(builder: PlanBuilder, observed: ObservedState) -> bool:
    """Whether success takes precedence over the suspension of this job, and it has succeeded."""
    if evaluator_grace.has_begun(builder):
        return True
    semantics = builder.job.semantics
    if not semantics.success_before_suspension or _is_past_deadline(builder, observed):
        return False
    return success.is_succeeded(semantics.success_criterion, observed)


def reconcile_finished(builder: PlanBuilder, children: Children, observed: ObservedState) -> Plan:
    """Plan the clean-up of a finished job, or its deletion once its TTL has expired."""
    job = builder.job
    if builder.status.completion_time is None:
        builder.set_status(completion_time=_finish_time(builder))
    if builder.status.is_true(ConditionType.SUCCEEDED):
        _count_success(builder)
    is_in_order = clean_up(builder, children, observed)
    expiry = cleanup.expires_at(builder.status.completion_time, job.policy.ttl)
    is_expired = expiry is not None and builder.now >= expiry
    if is_expired and is_in_order:
        return Plan(deletes_job=True)
    builder.requeue_at(None if is_expired else expiry)
    _suspend_failed_batch_jobs(builder, observed)
    queue_group.end_group(builder, children.pods)
    if not (job.gang is not None and job.gang.stays_with_pods and children.pods):
        delete_pod_group(builder, children, rule=Rule.JOB_FINISHED)
    return builder.plan()


def clean_up(builder: PlanBuilder, children: Children, observed: ObservedState) -> bool:
    """Delete what cleanPodPolicy selects and, after a limit was reached, all that still runs.

    Returns whether all of it can be deleted now.
    """
    selected = cleanup.deletes_after_completion(
        builder.job.policy.clean,
        pods=children.pods,
        jobs=children.jobs,
        services=[service.metadata for service in replica_services(builder.job, children)],
        ended=ended_uids(builder.job, children, observed),
        ended_by=_RULES.get(builder.status.limit_reached),
    )
    since = builder.status.completion_time
    deletes = orderly_end.due(builder, children, selected, since=since)
    builder.deletes.extend(deletes)
    is_complete = len(deletes) == len(selected)
    if builder.status.is_true(ConditionType.SUCCEEDED):
        return is_complete
    deleted = {each.name for each in deletes if each.kind == ChildKind.POD}
    remaining = {
        kind: sum(each.is_active and each.name not in deleted for each in instances)
        for kind, instances in observed.instances.items()
    }
    builder.set_status(
        replicas={
            kind: replica_counts.after_failure(each, remaining=remaining.get(kind, 0))
            for kind, each in builder.status.replicas.items()
        }
    )
    return is_complete


def delete_pod_group(builder: PlanBuilder, children: Children, *, rule: Rule) -> None:
    deletes = pod_group.delete_group(children.pod_group, rule=rule)
    if not deletes:
        return
    builder.deletes.extend(deletes)
    template = builder.job.messages.group_terminated
    key = f"group-terminated/{deletes[0].uid}"
    builder.record_event(EventType.NORMAL, template.reason, template.render(), key=key)


def _reached_limit(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> Limit | None:
    if builder.job.semantics.backoff_limit_fails_job and _is_backoff_limit_reached(
        builder, observed, actions
    ):
        return Limit.BACKOFF
    return Limit.DEADLINE if _is_past_deadline(builder, observed) else None


def _is_backoff_limit_reached(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> bool:
    limit = builder.job.policy.backoff_limit
    if limit is None:
        return False
    failures = sum(_has_failed_itself(instance) for instance in observed.all_instances())
    wanted = {ReplicaAction.RESTART, ReplicaAction.HOLD}
    return limits.is_backoff_limit_reached(
        limit,
        counted_restarts(builder, observed),
        is_restart_wanted=any(action in wanted for _, action in actions),
        has_new_failure=failures > replica_counts.failed_total(builder.status),
    )


def _last_failure_of_deleted_pods(builder: PlanBuilder, children: Children) -> str:
    """The most recent failure in the pods to be deleted. All failures are recorded as events."""
    deleted = {each.uid for each in builder.deletes}
    failures = last_failures.last_failures(
        pod for pod in children.pods if pod.metadata.uid in deleted
    )
    builder.extend_events(last_failures.events(builder.job, failures))
    return failures[0].summary if failures else ""


def _has_failed_itself(instance: ReplicaInstance) -> bool:
    """Whether the replica failed, and not because of a disruption or the loss of another one."""
    if instance.phase is not Phase.FAILED or instance.pod is None or instance.is_obsolete:
        return False
    return not (instance.is_disrupted or instance.is_consequence or instance.is_superseded)


def _is_past_deadline(builder: PlanBuilder, observed: ObservedState) -> bool:
    """Whether the deadline has passed without a success before it that counts."""
    limit, start = builder.job.policy.deadline, builder.status.start_time
    if not limits.is_deadline_exceeded(limit, start, now=builder.now):
        return False
    if not builder.job.semantics.success_before_deadline:
        return True
    end = limits.deadline(limit, start)
    return not _has_succeeded_by(builder.job.semantics.success_criterion, observed, deadline=end)


def _has_succeeded_by(
    criterion: SuccessCriterion, observed: ObservedState, *, deadline: datetime | None
) -> bool:
    """Whether the sole decisive replica is known to have succeeded by the deadline."""
    decisive = success.sole_decisive_instance(criterion, observed)
    if decisive is None or decisive.pod is None or deadline is None:
        return False
    if not decisive.is_confirmed_success:
        return False
    end = decisive.pod.terminated(TRAINING_CONTAINER)
    finish = time.parse(end.finished_at) if end is not None else None
    return finish is not None and finish <= deadline


def _count_success(builder: PlanBuilder) -> None:
    builder.set_status(
        replicas={
            kind: replica_counts.after_success(each)
            for kind, each in builder.status.replicas.items()
        }
    )


def _suspend_failed_batch_jobs(builder: PlanBuilder, observed: ObservedState) -> None:
    """Suspend batch Jobs of decisive replicas that failed permanently.

    Otherwise the Job controller keeps recreating their pods. Suspending keeps the Job and its ended
    pods. A pod whose container is restarted in place is deleted together with its log; after that,
    only the diagnosis in the status shows how it ended.
    """
    deleted = {each.uid for each in builder.deletes}
    for instance in observed.all_instances():
        job = instance.job
        if job is None or instance.phase is not Phase.FAILED or job.metadata.uid in deleted:
            continue
        if not builder.job.semantics.success_criterion.includes(
            instance.replica.type, instance.index
        ):
            continue
        if job.spec.suspend or job.status.succeeded or job.metadata.is_terminating:
            continue
        meta, body = job.metadata, {"spec": {"suspend": True}}
        builder.updates.append(Update(kind=ChildKind.JOB, name=meta.name, uid=meta.uid, body=body))


def _fail_if_decided(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> bool:
    messages = builder.job.messages
    for replica in builder.job.in_status_order():
        failed = _first(actions, replica, ReplicaAction.FAIL_JOB_ON_EXIT_CODE)
        if failed is not None:
            _set_running_before_failure(builder, observed)
            template = messages.failed_exit_code
            _fail(builder, template, event=EventType.WARNING, params=failed.params)
            if not template.type:
                _record_failure_count(builder, failed)
            return True
    for replica in builder.job.in_status_order():
        failed = _first(actions, replica, ReplicaAction.FAIL_JOB)
        failed = failed or _last_tolerated_failure(replica, observed, actions)
        if failed is not None:
            _set_running_before_failure(builder, observed)
            params = {**failed.params, "count": _failures(builder, failed)}
            _fail(builder, messages.failed, params=params)
            return True
    return False


def _first(
    actions: ReplicaActions, replica: ReplicaType, wanted: ReplicaAction
) -> ReplicaInstance | None:
    """The first instance of a replica type with this action."""
    own = (each for each, action in actions if action is wanted and each.replica is replica)
    return next(own, None)


def _failures(builder: PlanBuilder, instance: ReplicaInstance) -> int:
    return builder.status.of(instance.replica.type).failed


def _set_running_before_failure(builder: PlanBuilder, observed: ObservedState) -> None:
    """Report that the job ran, even if one reconcile observes both the run and the failure."""
    if not builder.status.is_true(ConditionType.RESTARTING):
        progress.set_running_condition(builder, observed)


def _last_tolerated_failure(
    replica: ReplicaType, observed: ObservedState, actions: ReplicaActions
) -> ReplicaInstance | None:
    """The failed instance after which no instance of a failure-tolerant type is left to run."""
    if not replica.tolerates_failure:
        return None
    tolerated = [
        instance
        for instance, action in actions
        if action is ReplicaAction.TOLERATE and instance.replica is replica
    ]
    succeeded = sum(instance.is_succeeded for instance in observed.instances[replica.type])
    return tolerated[-1] if tolerated and succeeded + len(tolerated) == replica.count else None


def _record_failure_count(builder: PlanBuilder, instance: ReplicaInstance) -> None:
    template = builder.job.messages.failed
    message = template.render(
        name=builder.job.name,
        namespace=builder.job.namespace,
        **instance.params,
        count=_failures(builder, instance),
    )
    key = f"verdict/count/{builder.job.owner.uid}"
    builder.record_event(EventType.NORMAL, template.reason, message, key=key)


def _fail(
    builder: PlanBuilder,
    template: MessageTemplate,
    *,
    event: EventType = EventType.NORMAL,
    params: Mapping[str, object] = MappingProxyType({}),
    detail: str = "",
) -> None:
    _finish(builder, ConditionType.FAILED, template, event=event, params=params, detail=detail)


def _finish(
    builder: PlanBuilder,
    kind: ConditionType,
    template: MessageTemplate,
    *,
    event: EventType = EventType.NORMAL,
    params: Mapping[str, object],
    detail: str = "",
) -> None:
    """Set the final condition and record its event; only the condition's message has the detail."""
    message = builder.set_condition(kind, template, params=params, detail=detail)
    builder.set_status(completion_time=builder.status.completion_time or builder.timestamp)
    if message is not None:
        key = f"verdict/{builder.job.owner.uid}"
        builder.record_event(EventType(template.type or event), template.reason, message, key=key)


def _finish_time(builder: PlanBuilder) -> datetime:
    for kind in (ConditionType.SUCCEEDED, ConditionType.FAILED):
        condition = builder.status.condition(kind)
        if condition is not None and condition.is_true:
            return condition.last_transition or condition.last_update or builder.timestamp
    return builder.timestamp
