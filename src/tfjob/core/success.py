"""successPolicy: when a job has succeeded, and when it counts as running.

Both follow from the deciding replicas alone. A job in which nothing decides does neither.
"""

from tfjob.core.job import SuccessCriterion
from tfjob.core.observe import Slot, View


def is_succeeded(decider: SuccessCriterion, view: View) -> bool:
    slots = _deciding(decider, view)
    if not slots:
        return False
    if all(slot.is_succeeded for slot in slots):
        return True
    chosen = chosen_slot(decider, view)
    return chosen is not None and chosen.is_done


def is_running(decider: SuccessCriterion, view: View, *, only_chosen: bool = False) -> bool:
    """A deciding replica is active; `only_chosen`: the one that decides by itself is."""
    chosen = chosen_slot(decider, view)
    if only_chosen and chosen is not None:
        return chosen.is_active
    return any(slot.is_active for slot in _deciding(decider, view))


def decisive_slot(decider: SuccessCriterion, view: View) -> Slot:
    """The replica that a success is told of: there is one in every job that has succeeded."""
    return chosen_slot(decider, view) or _deciding(decider, view)[0]


def chosen_slot(decider: SuccessCriterion, view: View) -> Slot | None:
    """The one replica that decides by itself, if there is such a one."""
    if decider.index is None or not decider.types:
        return None
    slots = view.slots.get(decider.types[0], ())
    return slots[decider.index] if decider.index < len(slots) else None


def _deciding(decider: SuccessCriterion, view: View) -> list[Slot]:
    return [slot for kind in decider.types for slot in view.slots.get(kind, ())]
