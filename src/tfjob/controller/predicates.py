"""What a change of a child means for its job: nothing, routine, or something to act on.

Looks at the object before and after the change and at nothing else. Says what happened, never when
it shall be acted upon.
"""

from typing import Final

import msgspec

from tfjob.client.watch_codec import HasMetadata
from tfjob.k8s.pod import Phase, Pod
from tfjob.k8s.service import Service

_ALIVE: Final = frozenset({Phase.PENDING, Phase.RUNNING})


def is_routine(new: HasMetadata | None) -> bool:
    """A child that came up or goes on; not one that ends, is being deleted, or is gone."""
    if new is None or new.metadata.is_terminating:
        return False
    return not isinstance(new, Pod) or new.phase in _ALIVE


def is_pending(child: HasMetadata | None) -> bool:
    return isinstance(child, Pod) and child.phase is Phase.PENDING


def starts_to_run(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    """A pod runs that was seen before and did not run then."""
    if not isinstance(old, Pod) or not isinstance(new, Pod):
        return False
    return new.phase is Phase.RUNNING and old.phase is not Phase.RUNNING


def came_up(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    """A new pod or service with an owner, of which there is nothing to report yet."""
    if old is not None or new is None or new.metadata.controller_uid is None:
        return False
    if isinstance(new, Pod):
        return is_pending(new) and not (new.status.conditions or new.spec.node_name)
    return isinstance(new, Service)


def was_only_bound(old: HasMetadata | None, new: HasMetadata | None) -> bool:
    """A pod got its node at once, and nothing else is new: no decision depends on that."""
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
