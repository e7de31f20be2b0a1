"""The entry point of the core: (job, children, now) -> Plan.

A finished job stays finished, a job that finishes in this reconcile gets no more children, and
Succeeded and Failed are never both true. The policies run in order of precedence.
"""

from datetime import datetime

from tfjob.core import (
    completion,
    create_children,
    evaluator_grace,
    limits,
    progress,
    queue_group,
    replicas,
    restart_replicas,
    result_finalizer,
    suspension,
)
from tfjob.core.diagnosis import diagnose
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.observe import Children, ObservedState, observe
from tfjob.core.plan import Plan
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_replicas import ReplicaActions


def reconcile(*, job: Job, children: Children, now: datetime) -> Plan:
    """Plan what to create, update, delete and store for one job."""
    plan = _plan(job, children, now=now)
    return with_finalizer_removals(plan, job=job, children=children)


def with_finalizer_removals(plan: Plan, *, job: Job | InvalidJob, children: Children) -> Plan:
    """The plan with the finalizers to remove from pods."""
    plan = result_finalizer.with_finalizer_removals(plan, job=job, children=children)
    return queue_group.with_finalizer_removals(plan, job=job, children=children)


def _plan(job: Job, children: Children, *, now: datetime) -> Plan:
    if job.is_external or job.is_deleting:
        return Plan()
    builder = PlanBuilder(job, now=now)
    observed = observe(job, children)
    builder.updates.extend(replicas.changed_companions(job, children))
    if job.status.is_finished:
        return completion.reconcile_finished(builder, children, observed)
    progress.add_created_condition(builder)
    progress.record_job_events(builder)
    _reconcile_unfinished(builder, children, observed)
    return builder.plan()


def _reconcile_unfinished(
    builder: PlanBuilder, children: Children, observed: ObservedState
) -> None:
    if not builder.job.policy.is_suspended:
        observed = suspension.resume(builder, children, observed)
        _run(builder, children, observed)
    elif completion.has_succeeded_before_suspension(builder, observed):
        _run(builder, children, observed)
    else:
        suspension.suspend(builder, children, observed)
    if builder.status.is_finished:
        restart_replicas.record_restarts_in_place(builder, observed.all_instances())
    diagnose.update(builder, children, observed)


def _run(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    restart_replicas.count_restarts_of_deleted_pods(builder, observed)
    actions = restart_replicas.decide_actions(builder, observed)
    progress.report_pod_problems(builder, children, observed)
    if evaluator_grace.has_begun(builder):
        progress.update_counts(builder, observed)
        completion.finish_if_decided(builder, observed, actions)
        return
    if completion.fail_if_limit_reached(builder, children, observed, actions):
        return
    limit = builder.job.policy.deadline
    builder.requeue_at(limits.deadline(limit, builder.status.start_time))
    if not create_children.sync_pod_group(builder, children):
        _decide_without_group(builder, children, observed, actions)
        return
    if queue_group.requeue_if_resized(builder, children):
        progress.update_counts(builder, observed)
        queue_group.forget_completed(builder)
        return
    builder.set_status(start_time=builder.status.start_time or builder.timestamp)
    progress.update_counts(builder, observed)
    if not completion.finish_if_decided(builder, observed, actions):
        restart_replicas.restart(builder, actions)
        create_children.create_children(builder, children, observed)
        progress.set_progress_condition(builder, observed, actions)
        builder.requeue_at(limits.deadline(limit, builder.status.start_time))
    restart_replicas.prune_records(builder, children, observed)


def _decide_without_group(
    builder: PlanBuilder, children: Children, observed: ObservedState, actions: ReplicaActions
) -> None:
    """Let the pods of a started run finish the job while its PodGroup is recreated."""
    if not children.pods or builder.status.start_time is None:
        return
    progress.update_counts(builder, observed)
    if completion.finish_if_decided(builder, observed, actions):
        builder.creates.clear()
