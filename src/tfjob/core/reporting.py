"""What one pass makes known: that the job was seen, its counts, its progress, its troubles."""

from tfjob.core import abnormal, counts, stuck, success
from tfjob.core.draft import Draft
from tfjob.core.observe import Children, View
from tfjob.core.plan import EventType
from tfjob.core.restart import RESTARTING
from tfjob.core.restarting import Fates, restarts_so_far
from tfjob.core.status import Condition, ConditionType


def note_created(draft: Draft) -> None:
    """The first condition of all, first in the list also when it was lost."""
    if draft.status.condition(ConditionType.CREATED) is not None:
        return
    phrase = draft.job.wording.created
    created = Condition(
        type=ConditionType.CREATED.value,
        status="True",
        reason=phrase.reason,
        message=phrase.say(name=draft.job.name, namespace=draft.job.namespace),
        last_update=draft.stamp,
        last_transition=draft.stamp,
    )
    draft.set_status(conditions=(created, *draft.status.conditions))


def say_own(draft: Draft) -> None:
    """What the job itself has to say, once each."""
    own = ((EventType.NORMAL, draft.job.notices), (EventType.WARNING, draft.job.warnings))
    for kind, told in own:
        for reason, message in told:
            key = f"own/{draft.job.owner.uid}/{reason}/{message}"
            draft.tell(kind, reason, message, key=key)


def report(draft: Draft, children: Children, seen: View) -> None:
    slots = seen.all_slots()
    draft.extend_events(abnormal.exits(draft.job, slots))
    draft.extend_events(abnormal.troubles(draft.job, slots))
    step = stuck.step(draft.job, children.pods, lost_nodes=children.lost_nodes, now=draft.now)
    draft.deletes.extend(step.deletes)
    draft.extend_events(step.events)
    draft.wake(step.look_again)


def count(draft: Draft, seen: View) -> None:
    draft.set_status(
        replicas={
            replica.type: counts.counted(
                replica, seen.slots[replica.type], stored=draft.status.of(replica.type)
            )
            for replica in draft.job.in_status_order()
        }
    )


def show_progress(draft: Draft, seen: View, fates: Fates) -> None:
    again = [slot for slot, fate in fates if fate in RESTARTING]
    restarting = min(again, key=lambda slot: slot.replica.type, default=None)
    if restarting is not None:
        phrase = draft.job.wording.restarting
        facts = {**restarting.facts, **restarts_so_far(draft)}
        draft.set_condition(ConditionType.RESTARTING, phrase, facts=facts)
    else:
        show_running(draft, seen)


def show_running(draft: Draft, seen: View) -> None:
    rules = draft.job.rules
    if success.is_running(rules.decider, seen, only_chosen=rules.only_decider_fails):
        draft.set_condition(ConditionType.RUNNING, draft.job.wording.running)
