"""What one pass makes known: that the job was seen, its counts, its progress, its troubles."""

from tfjob.core import pod_problems, replica_counts, stuck_pods, success
from tfjob.core.observe import Children, View
from tfjob.core.plan import EventType
from tfjob.core.plan_builder import PlanBuilder
from tfjob.core.restart_policy import RESTART_ACTIONS
from tfjob.core.restart_replicas import ReplicaActions, restarts_so_far
from tfjob.core.status import Condition, ConditionType


def note_created(builder: PlanBuilder) -> None:
    """The first condition of all, first in the list also when it was lost."""
    if builder.status.condition(ConditionType.CREATED) is not None:
        return
    phrase = builder.job.messages.created
    created = Condition(
        type=ConditionType.CREATED.value,
        status="True",
        reason=phrase.reason,
        message=phrase.say(name=builder.job.name, namespace=builder.job.namespace),
        last_update=builder.stamp,
        last_transition=builder.stamp,
    )
    builder.set_status(conditions=(created, *builder.status.conditions))


def say_own(builder: PlanBuilder) -> None:
    """What the job itself has to say, once each."""
    own = ((EventType.NORMAL, builder.job.notices), (EventType.WARNING, builder.job.warnings))
    for kind, told in own:
        for reason, message in told:
            key = f"own/{builder.job.owner.uid}/{reason}/{message}"
            builder.tell(kind, reason, message, key=key)


def report(builder: PlanBuilder, children: Children, seen: View) -> None:
    slots = seen.all_slots()
    builder.extend_events(pod_problems.exits(builder.job, slots))
    builder.extend_events(pod_problems.troubles(builder.job, slots))
    step = stuck_pods.step(
        builder.job, children.pods, lost_nodes=children.lost_nodes, now=builder.now
    )
    builder.deletes.extend(step.deletes)
    builder.extend_events(step.events)
    builder.wake(step.look_again)


def count(builder: PlanBuilder, seen: View) -> None:
    builder.set_status(
        replicas={
            replica.type: replica_counts.counted(
                replica, seen.slots[replica.type], stored=builder.status.of(replica.type)
            )
            for replica in builder.job.in_status_order()
        }
    )


def show_progress(builder: PlanBuilder, seen: View, actions: ReplicaActions) -> None:
    again = [slot for slot, fate in actions if fate in RESTART_ACTIONS]
    restarting = min(again, key=lambda slot: slot.replica.type, default=None)
    if restarting is not None:
        phrase = builder.job.messages.restarting
        facts = {**restarting.facts, **restarts_so_far(builder)}
        builder.set_condition(ConditionType.RESTARTING, phrase, facts=facts)
    else:
        show_running(builder, seen)


def show_running(builder: PlanBuilder, seen: View) -> None:
    rules = builder.job.rules
    if success.is_running(rules.decider, seen, only_chosen=rules.only_decider_fails):
        builder.set_condition(ConditionType.RUNNING, builder.job.messages.running)
