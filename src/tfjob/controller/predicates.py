"""Predicates that classify a change of a child from the object before and after it.

They say what happened. The pacer decides when to act on it.
"""

from typing import Final, TypeGuard

import msgspec

from tfjob.client.watch_codec import HasMetadata
from tfjob.core.pod_state import has_ended_undisturbed
from tfjob.k8s.child_types import Service
from tfjob.k8s.pod import Phase, Pod

_ALIVE: Final = frozenset({Phase.PENDING, Phase.RUNNING})


def is_routine(new: HasMetadata | None) -> bool:
    """Whether the child is new or active; not if it has ended, is terminating or is deleted."""
    if new is None or new.metadata.is_terminating:
        return False
    return not isinstance(new, Pod) or new.phase in _ALIVE


def is_pending(child: HasMetadata | None) -> bool:
    return isinstance(child, Pod) and child.phase is Phase.PENDING


def started_running(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    """Whether a known pod changed to Running."""
    if not isinstance(old, Pod) or not isinstance(new, Pod):
        return False
    return new.phase is Phase.RUNNING and old.phase is not Phase.RUNNING


def gave_up_node(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    """Whether a pod that was active on a node has ended or was deleted."""
    if not isinstance(old, Pod) or not old.spec.node_name or old.phase not in _ALIVE:
        return False
    return not isinstance(new, Pod) or new.phase not in _ALIVE


def was_disturbed_after_end(old: HasMetadata | None, new: HasMetadata | None) -> TypeGuard[Pod]:
    """Whether a pod that had ended has now been deleted or marked as disrupted."""
    if not isinstance(old, Pod) or not has_ended_undisturbed(old):
        return False
    return not isinstance(new, Pod) or not has_ended_undisturbed(new)


def was_created(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    """Whether this is a new owned pod or service without any status."""
    if old is not None or new is None or new.metadata.controller_uid is None:
        return False
    if isinstance(new, Pod):
        return is_pending(new) and not (new.status.conditions or new.spec.node_name)
    return isinstance(new, Service)


def was_only_scheduled(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    """Whether a pod was only assigned to a node, which changes no decision."""
    if not isinstance(old, Pod) or not isinstance(new, Pod) or old.status.conditions:
        return False
    if old.spec.node_name or not new.spec.node_name:
        return False
    if any(each.status != "True" for each in new.status.conditions):
        return False
    replace = msgspec.structs.replace
    meta = replace(new.metadata, resource_version=old.metadata.resource_version)
    status = replace(new.status, conditions=old.status.conditions)
    return replace(new, metadata=meta, spec=old.spec, status=status) == old
