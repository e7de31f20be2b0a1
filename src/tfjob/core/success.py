"""successPolicy: when a job has succeeded, and when it counts as running.

Only the decisive replicas matter. A job without any neither runs nor succeeds.
"""

from tfjob.core.job import SuccessCriterion
from tfjob.core.observe import ObservedState, ReplicaInstance


def is_succeeded(criterion: SuccessCriterion, observed: ObservedState) -> bool:
    instances = _decisive_instances(criterion, observed)
    if not instances:
        return False
    if all(instance.is_succeeded for instance in instances):
        return True
    chosen = sole_decisive_instance(criterion, observed)
    return chosen is not None and chosen.is_confirmed_success


def is_running(
    criterion: SuccessCriterion, observed: ObservedState, *, only_sole_replica: bool = False
) -> bool:
    """Whether a decisive replica is active; with `only_sole_replica`, the sole decisive one."""
    chosen = sole_decisive_instance(criterion, observed)
    if only_sole_replica and chosen is not None:
        return chosen.is_active
    return any(instance.is_active for instance in _decisive_instances(criterion, observed))


def is_whole(observed: ObservedState) -> bool:
    """Whether every replica is active or has succeeded."""
    return all(each.is_active or each.is_succeeded for each in observed.all_instances())


def representative_instance(
    criterion: SuccessCriterion, observed: ObservedState
) -> ReplicaInstance | None:
    """The replica that the success message names.

    None if none is decisive any more, because the spec was changed after the training succeeded.
    """
    decisive = _decisive_instances(criterion, observed)
    return sole_decisive_instance(criterion, observed) or next(iter(decisive), None)


def sole_decisive_instance(
    criterion: SuccessCriterion, observed: ObservedState
) -> ReplicaInstance | None:
    """The one replica whose success suffices, if the criterion names one."""
    if criterion.index is None or not criterion.types:
        return None
    instances = observed.instances.get(criterion.types[0], ())
    return instances[criterion.index] if criterion.index < len(instances) else None


def _decisive_instances(
    criterion: SuccessCriterion, observed: ObservedState
) -> list[ReplicaInstance]:
    return [instance for kind in criterion.types for instance in observed.instances.get(kind, ())]
