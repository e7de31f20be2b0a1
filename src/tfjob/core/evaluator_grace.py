"""Evaluator grace: evaluators may run on after the training, to evaluate its last checkpoint.

When the grace begins, the success of the training is stored. From then on nothing can fail the job:
it succeeds when all evaluators have ended, whatever their exit codes, or when the grace is over. A
deadline or a suspension ends the grace early.
"""

from datetime import datetime
from typing import Final

from tfjob.core import limits, replicas, restart_replicas
from tfjob.core.job import ReplicaType
from tfjob.core.observe import ObservedState, ReplicaInstance
from tfjob.core.plan import EventType
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import ReplicaAction
from tfjob.core.restart_replicas import ReplicaActions
from tfjob.core.status import ConditionType
from tfjob.k8s import time

_TASK: Final = "evaluator"
_REPLACED: Final = frozenset(
    {ReplicaAction.REPLACE, ReplicaAction.AWAIT_DELETION, ReplicaAction.RESTARTING}
)
"""A disrupted evaluator counts as not ended, because another pod continues its work."""
_REASON: Final = "AwaitingEvaluator"


def has_begun(builder: PlanBuilder) -> bool:
    """Whether the success of the training is stored."""
    return builder.status.training_completed is not None


def await_evaluators(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> bool:
    """Keep a job running for its evaluators after its training; False if the job ends now."""
    since = builder.status.training_completed or builder.timestamp
    until = _end(builder, since)
    if builder.now >= until or builder.job.policy.is_suspended:
        return False
    if not any(_is_awaited(each, actions) for each in _evaluators(observed)):
        return False
    if not has_begun(builder):
        _begin(builder, since=since, until=until)
    builder.set_condition(ConditionType.RUNNING, builder.job.messages.running)
    builder.requeue_at(until)
    _replace_disrupted(builder, observed, actions)
    return True


def _begin(builder: PlanBuilder, *, since: datetime, until: datetime) -> None:
    builder.set_status(training_completed=since)
    message = f"Training has succeeded. Evaluators may go on until {time.render(until)}."
    key = f"evaluating/{builder.job.owner.uid}/{time.render(since)}"
    builder.record_event(EventType.NORMAL, _REASON, message, key=key)


def _end(builder: PlanBuilder, since: datetime) -> datetime:
    policy = builder.job.policy
    end = limits.deadline(policy.evaluator_grace, since) or since
    deadline = limits.deadline(policy.deadline, builder.status.start_time)
    return end if deadline is None else min(end, deadline)


def _evaluators(observed: ObservedState) -> list[ReplicaInstance]:
    return [each for each in observed.all_instances() if _is_evaluator(each.replica)]


def _is_evaluator(replica: ReplicaType) -> bool:
    return replica.task.lower() == _TASK


def _is_awaited(instance: ReplicaInstance, actions: ReplicaActions) -> bool:
    """Whether the evaluator has not ended: it runs, or its pod is yet to be created."""
    if instance.is_succeeded or instance.job is not None:
        return False
    action = next((action for each, action in actions if each is instance), ReplicaAction.KEEP)
    return action is ReplicaAction.KEEP or action in _REPLACED


def _replace_disrupted(
    builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions
) -> None:
    own = [
        (each, action)
        for each, action in actions
        if action in _REPLACED and _is_evaluator(each.replica)
    ]
    restart_replicas.restart(builder, own)
    types = {each.type for each in builder.job.replicas if _is_evaluator(each)}
    workloads, moment = replicas.missing_workloads(
        builder.job, observed, status=builder.status, now=builder.now
    )
    services = replicas.missing_services(builder.job, observed)
    builder.creates.extend(each for each in (*services, *workloads) if each.type in types)
    builder.requeue_at(moment)
