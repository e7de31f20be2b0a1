"""Reporting the progress of an unfinished job: counts, conditions, and events about its pods."""

from tfjob.core import pod_problems, replica_counts, stuck_pods, success
from tfjob.core.observe import Children, ObservedState
from tfjob.core.plan import EventType
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import RESTART_ACTIONS
from tfjob.core.restart_replicas import ReplicaActions, restart_params
from tfjob.core.status import Condition, ConditionType


def add_created_condition(builder: PlanBuilder) -> None:
    """Add the Created condition at the head of the list if it is missing."""
    if builder.status.condition(ConditionType.CREATED) is not None:
        return
    template = builder.job.messages.created
    created = Condition(
        type=ConditionType.CREATED.value,
        status="True",
        reason=template.reason,
        message=template.render(name=builder.job.name, namespace=builder.job.namespace),
        last_update=builder.timestamp,
        last_transition=builder.timestamp,
    )
    builder.set_status(conditions=(created, *builder.status.conditions))


def record_job_events(builder: PlanBuilder) -> None:
    """Record the events that the job itself carries, once each."""
    events = ((EventType.NORMAL, builder.job.notices), (EventType.WARNING, builder.job.warnings))
    for kind, entries in events:
        for reason, message in entries:
            key = f"own/{builder.job.owner.uid}/{reason}/{message}"
            builder.record_event(kind, reason, message, key=key)


def report_pod_problems(builder: PlanBuilder, children: Children, observed: ObservedState) -> None:
    builder.extend_events(pod_problems.exits(builder.job, observed.suspects))
    builder.extend_events(pod_problems.problems(builder.job, observed.suspects))
    step = stuck_pods.step(
        builder.job, children.pods, lost_nodes=children.lost_nodes, now=builder.now
    )
    builder.deletes.extend(step.deletes)
    builder.extend_events(step.events)
    builder.requeue_at(step.requeue_at)


def update_counts(builder: PlanBuilder, observed: ObservedState) -> None:
    builder.set_status(
        replicas={
            replica.type: replica_counts.counted(
                replica, observed.instances[replica.type], stored=builder.status.of(replica.type)
            )
            for replica in builder.job.in_status_order()
        }
    )


def set_progress_condition(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> None:
    restarts = [instance for instance, action in actions if action in RESTART_ACTIONS]
    # A replica that is only restarted with its group is not the reason.
    restarting = min(
        restarts, key=lambda each: (each.is_superseded, each.replica.type), default=None
    )
    if restarting is not None:
        template = builder.job.messages.restarting
        params = {**restarting.params, **restart_params(builder)}
        builder.set_condition(ConditionType.RESTARTING, template, params=params)
    else:
        set_running_condition(builder, observed)


def set_running_condition(builder: PlanBuilder, observed: ObservedState) -> None:
    semantics = builder.job.semantics
    if semantics.runs_whole and not success.is_whole(observed):
        return
    if success.is_running(
        semantics.success_criterion,
        observed,
        only_sole_replica=semantics.only_decisive_replica_fails_job,
    ):
        builder.set_condition(ConditionType.RUNNING, builder.job.messages.running)
