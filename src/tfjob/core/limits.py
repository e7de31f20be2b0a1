"""The limits of a job, checked before anything is made: backoffLimit, then the deadline.

A hit ends the job and everything of it that still runs, whatever its clean-up policy says.
"""

from tfjob.core import backoff, counts, ending
from tfjob.core.draft import Draft
from tfjob.core.observe import Children, Slot, View
from tfjob.core.reporting import count
from tfjob.core.restart import Fate
from tfjob.core.restarting import Fates, so_far
from tfjob.core.status import Limit
from tfjob.k8s.pod import Phase


def is_hit(draft: Draft, children: Children, seen: View, fates: Fates) -> bool:
    limit = _hit(draft, seen, fates)
    if limit is None:
        return False
    count(draft, seen)
    draft.set_status(limit_reached=limit)
    ending.clean_up(draft, children, seen)
    wording = draft.job.wording
    ending.fail(
        draft, wording.failed_backoff if limit is Limit.BACKOFF else wording.failed_deadline
    )
    return True


def _hit(draft: Draft, seen: View, fates: Fates) -> Limit | None:
    if draft.job.rules.budget_ends_job and _is_backoff_hit(draft, seen, fates):
        return Limit.BACKOFF
    return Limit.DEADLINE if ending.is_overdue(draft, seen) else None


def _is_backoff_hit(draft: Draft, seen: View, fates: Fates) -> bool:
    limit = draft.job.policy.backoff_limit
    if limit is None:
        return False
    failures = sum(_is_own_failure(slot) for slot in seen.all_slots())
    return backoff.is_hit(
        limit,
        so_far(draft, seen),
        is_restart_wanted=any(fate in {Fate.RESTART, Fate.HELD} for _, fate in fates),
        has_new_failure=failures > counts.failed_total(draft.status),
    )


def _is_own_failure(slot: Slot) -> bool:
    if slot.phase is not Phase.FAILED or slot.pod is None or slot.is_leaving:
        return False
    return not slot.is_disrupted
