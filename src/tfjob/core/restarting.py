"""The restarts of one pass: every replica's fate judged, then carried out and written down."""

from collections.abc import Sequence

import msgspec

from tfjob.core import backoff, counts
from tfjob.core.draft import Draft
from tfjob.core.job import Replica, RestartPolicy
from tfjob.core.observe import Children, Slot, View
from tfjob.core.plan import ChildKind, EventType, deletes_of
from tfjob.core.restart import (
    RESTARTING,
    Fate,
    fate_of,
    is_recorded,
    recorded,
    still_told,
    within_budget,
)
from tfjob.k8s.pod import Pod

Fates = Sequence[tuple[Slot, Fate]]
_RECORDED = frozenset({Fate.RESTART, Fate.REPLACE})


def judged(draft: Draft, seen: View) -> Fates:
    rules = draft.job.rules
    fates = [
        (slot, fate_of(slot, rules=rules, stored=draft.status.of(slot.replica.type)))
        for slot in seen.all_slots()
        if slot.pod is not None
    ]
    left = backoff.remaining(draft.job.policy.backoff_limit, so_far(draft, seen))
    return within_budget(fates, left=left, rules=rules)


def so_far(draft: Draft, seen: View) -> backoff.Restarts:
    """Restarts that count towards the limit; types that never restart have none."""
    in_place = 0
    if draft.job.rules.budget_counts_container_restarts:
        slots = [slot for slot in seen.all_slots() if not _is_counted(draft, slot)]
        in_place = counts.in_place_restarts(slots)
    return backoff.Restarts(in_place=in_place, stored=draft.status.restarts)


def _is_counted(draft: Draft, slot: Slot) -> bool:
    """Its restarts in place do not count, or are part of the stored number already."""
    if slot.pod is None or slot.replica.restart is RestartPolicy.NEVER:
        return True
    return is_recorded(slot.pod, draft.status.of(slot.replica.type), slot.index)


def restarts_so_far(draft: Draft) -> dict[str, object]:
    """The job's restarts and how many it may have, as they are told."""
    limit = draft.job.policy.backoff_limit
    return {"restarts": draft.status.restarts, "limit": "unlimited" if limit is None else limit}


def restart(draft: Draft, fates: Fates) -> None:
    for replica in draft.job.replicas:
        _record(draft, replica, fates)
    for slot, fate in fates:
        if slot.pod is None or fate not in RESTARTING or fate is Fate.HELD:
            continue
        if fate is not Fate.AWAIT:
            draft.deletes.extend(deletes_of(ChildKind.POD, [slot.pod.metadata]))
        _tell(draft, slot, slot.pod)


def forget(draft: Draft, children: Children, seen: View) -> None:
    """Drop what is over from the record of restarts, where the status is written anyway: the
    record of a wide job stays short, and its being too long is never a reason to write."""
    there = {pod.metadata.uid for pod in children.pods}
    replicas = dict(draft.status.replicas)
    for replica in draft.job.replicas:
        stored = draft.status.of(replica.type)
        if stored.recent and stored != draft.job.status.of(replica.type):
            told = still_told(stored, seen.slots[replica.type], there=there, now=draft.now)
            replicas[replica.type] = msgspec.structs.replace(stored, recent=told)
    draft.set_status(replicas=replicas)


def _record(draft: Draft, replica: Replica, fates: Fates) -> None:
    """All of a type at once: one by one is slow when a wide job fails as a whole."""
    own = [(slot, slot.pod, fate) for slot, fate in fates if slot.replica is replica]
    again = {slot.index: pod for slot, pod, fate in own if pod is not None and fate in _RECORDED}
    if not again:
        return
    counted = [again[slot.index] for slot, _, fate in own if fate is Fate.RESTART]
    stored = draft.status.of(replica.type)
    in_place = 0
    if draft.job.rules.budget_counts_container_restarts:
        in_place = sum(pod.restart_count for pod in counted)
    changed = msgspec.structs.replace(
        stored,
        restarts=stored.restarts + len(counted) + in_place,
        recent=recorded(again, stored=stored, now=draft.now),
    )
    draft.set_status(replicas={**draft.status.replicas, replica.type: changed})
    draft.restarts += len(again)


def _tell(draft: Draft, slot: Slot, pod: Pod) -> None:
    phrase = draft.job.wording.restarting
    owner = {"name": draft.job.name, "namespace": draft.job.namespace}
    message = phrase.say(**owner, **slot.facts, **restarts_so_far(draft))
    kind = EventType(phrase.type or EventType.WARNING)
    draft.tell(kind, phrase.reason, message, key=f"restarting/{pod.metadata.uid}")
