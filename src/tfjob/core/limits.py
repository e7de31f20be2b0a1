"""The limits of a job, checked before anything is made: backoffLimit, then the deadline.

A hit ends the job and everything of it that still runs, whatever its clean-up policy says.
"""

from tfjob.core import backoff, completion, replica_counts
from tfjob.core.observe import Children, Slot, View
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.progress import count
from tfjob.core.restart_policy import ReplicaAction
from tfjob.core.restart_replicas import ReplicaActions, so_far
from tfjob.core.status import Limit
from tfjob.k8s.pod import Phase


def is_hit(builder: PlanBuilder, children: Children, seen: View, actions: ReplicaActions) -> bool:
    limit = _hit(builder, seen, actions)
    if limit is None:
        return False
    count(builder, seen)
    builder.set_status(limit_reached=limit)
    completion.clean_up(builder, children, seen)
    messages = builder.job.messages
    completion.fail(
        builder, messages.failed_backoff if limit is Limit.BACKOFF else messages.failed_deadline
    )
    return True


def _hit(builder: PlanBuilder, seen: View, actions: ReplicaActions) -> Limit | None:
    if builder.job.rules.budget_ends_job and _is_backoff_hit(builder, seen, actions):
        return Limit.BACKOFF
    return Limit.DEADLINE if completion.is_overdue(builder, seen) else None


def _is_backoff_hit(builder: PlanBuilder, seen: View, actions: ReplicaActions) -> bool:
    limit = builder.job.policy.backoff_limit
    if limit is None:
        return False
    failures = sum(_is_own_failure(slot) for slot in seen.all_slots())
    return backoff.is_hit(
        limit,
        so_far(builder, seen),
        is_restart_wanted=any(
            fate in {ReplicaAction.RESTART, ReplicaAction.HELD} for _, fate in actions
        ),
        has_new_failure=failures > replica_counts.failed_total(builder.status),
    )


def _is_own_failure(slot: Slot) -> bool:
    if slot.phase is not Phase.FAILED or slot.pod is None or slot.is_leaving:
        return False
    return not slot.is_disrupted
