"""The limits of a job, checked before anything is made: backoffLimit, then the deadline.

A hit ends the job and everything of it that still runs, whatever its clean-up policy says.
"""

from tfjob.core import backoff, completion, replica_counts
from tfjob.core.observe import Children, ObservedState, ReplicaInstance
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.progress import update_counts
from tfjob.core.restart_policy import ReplicaAction
from tfjob.core.restart_replicas import ReplicaActions, counted_restarts
from tfjob.core.status import Limit
from tfjob.k8s.pod import Phase


def is_hit(
    builder: PlanBuilder, children: Children, observed: ObservedState, actions: ReplicaActions
) -> bool:
    limit = _hit(builder, observed, actions)
    if limit is None:
        return False
    update_counts(builder, observed)
    builder.set_status(limit_reached=limit)
    completion.clean_up(builder, children, observed)
    messages = builder.job.messages
    completion.fail(
        builder, messages.failed_backoff if limit is Limit.BACKOFF else messages.failed_deadline
    )
    return True


def _hit(builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions) -> Limit | None:
    if builder.job.rules.budget_ends_job and _is_backoff_hit(builder, observed, actions):
        return Limit.BACKOFF
    return Limit.DEADLINE if completion.is_past_deadline(builder, observed) else None


def _is_backoff_hit(builder: PlanBuilder, observed: ObservedState, actions: ReplicaActions) -> bool:
    limit = builder.job.policy.backoff_limit
    if limit is None:
        return False
    failures = sum(_is_own_failure(instance) for instance in observed.all_instances())
    return backoff.is_hit(
        limit,
        counted_restarts(builder, observed),
        is_restart_wanted=any(
            action in {ReplicaAction.RESTART, ReplicaAction.HOLD} for _, action in actions
        ),
        has_new_failure=failures > replica_counts.failed_total(builder.status),
    )


def _is_own_failure(instance: ReplicaInstance) -> bool:
    if instance.phase is not Phase.FAILED or instance.pod is None or instance.is_obsolete:
        return False
    return not instance.is_disrupted
