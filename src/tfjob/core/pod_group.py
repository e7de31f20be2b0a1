"""The PodGroup of a job, by which its pods are scheduled together or not at all.

Decides whether the PodGroup must be created, updated or recreated, and whether pods may be created
yet. GangSpec holds what differs between schedulers.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from tfjob.core import gang_members
from tfjob.core.gang_members import Member, Members
from tfjob.core.plan import ChildKind, Create, Delete, Rule, Update, deletes_of
from tfjob.core.scheduling_spec import GangSpec
from tfjob.k8s import quantity
from tfjob.k8s.child_types import PodGroup
from tfjob.k8s.meta import ObjectMeta

_RESOURCES = "minResources"


class GangStep(msgspec.Struct, frozen=True):
    create: Create | None = None
    update: Update | None = None
    may_create_pods: bool = True
    is_made_anew: bool = False
    """The PodGroup is recreated: deleted now, and created again once it is gone."""
    removed: Sequence[ObjectMeta] = ()
    """Pods of the old PodGroup that have no node yet, to be deleted with it."""
    is_outside: bool = False
    """Pods created now are outside the PodGroup."""


def step(
    gang: GangSpec,
    existing: PodGroup | None,
    *,
    members: Members,
    priorities: Mapping[str, int],
    owner: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> GangStep:
    stored = None if existing is None else stored_size(gang, existing)
    size = gang_members.size_of(gang, stored, members)
    spec = _spec(gang, existing, members=members.types, priorities=priorities, size=size)
    if existing is None:
        metadata: dict[str, Any] = {"name": gang.group_name, "ownerReferences": [owner]}
        if annotations:
            metadata["annotations"] = dict(annotations)
        body = {
            "apiVersion": gang.api_version,
            "kind": "PodGroup",
            "metadata": metadata,
            "spec": spec,
        }
        create = Create(
            kind=ChildKind.POD_GROUP, name=gang.group_name, body=body, rule=Rule.GANG_SCHEDULING
        )
        is_awaited = gang.waits_for_admission or gang.waits_for_group
        return GangStep(create=create, may_create_pods=not is_awaited)
    if not gang.is_resizable:
        return _fixed_step(gang, existing, members=members, size=size, stored=stored)
    return GangStep(
        update=_update(gang, existing, spec),
        may_create_pods=_is_admitted(gang, existing, members),
    )


def _fixed_step(
    gang: GangSpec, existing: PodGroup, *, members: Members, size: int, stored: int | None
) -> GangStep:
    """Recreate an immutable PodGroup of the wrong size, unless pods of the gang already run."""
    if stored == size or members.has_started:
        return GangStep(
            may_create_pods=_is_admitted(gang, existing, members),
            is_outside=gang_members.is_unattainable(gang, stored, members),
        )
    removed = [pod.metadata for pod in members.unplaced if not pod.metadata.is_terminating]
    is_new = not existing.metadata.is_terminating
    return GangStep(may_create_pods=False, is_made_anew=is_new, removed=removed)


def stored_size(gang: GangSpec, existing: PodGroup) -> int | None:
    """The minimum number of members in an existing PodGroup."""
    found: object = existing.spec
    for name in gang.min_member_path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, int) else None


def _update(gang: GangSpec, existing: PodGroup, spec: dict[str, Any]) -> Update | None:
    if gang.computes_resources and _RESOURCES in existing.spec:
        spec.setdefault(_RESOURCES, None)
    if all(existing.spec.get(key) == value for key, value in spec.items()):
        return None
    return Update(
        kind=ChildKind.POD_GROUP,
        name=existing.metadata.name,
        uid=existing.metadata.uid,
        body={"spec": _without_old_resources(spec, existing.spec.get(_RESOURCES))},
    )


def _without_old_resources(spec: Mapping[str, Any], stored: object) -> Mapping[str, Any]:
    """The spec as a merge patch, which removes a resource name only if it is set to null."""
    wanted = spec.get(_RESOURCES)
    if not isinstance(wanted, Mapping) or not isinstance(stored, Mapping):
        return spec
    dropped = dict.fromkeys(stored.keys() - wanted.keys())
    return {**spec, _RESOURCES: {**dropped, **wanted}}


def delete_group(existing: PodGroup | None, *, rule: Rule) -> list[Delete]:
    metas = [] if existing is None else [existing.metadata]
    return deletes_of(ChildKind.POD_GROUP, metas, rule=rule)


def min_resources(
    members: Sequence[Member], *, count: int, priorities: Mapping[str, int]
) -> dict[str, str]:
    """Total requests of the first `count` pods, types with the highest priority first."""
    ordered = sorted(members, key=lambda member: -_priority(member, priorities))
    totals: dict[str, quantity.Quantity] = {}
    for member in ordered:
        taken = min(member.count, count)
        count -= taken
        for name, asked in _requests(member.template):
            share = quantity.Quantity(asked.nano * taken, asked.form)
            totals[name] = totals[name] + share if name in totals else share
    return {name: totals[name].render() for name in sorted(totals) if totals[name].nano}


def _spec(
    gang: GangSpec,
    existing: PodGroup | None,
    *,
    members: Sequence[Member],
    priorities: Mapping[str, int],
    size: int,
) -> dict[str, Any]:
    spec: dict[str, Any] = {**_nested(gang.min_member_path, size), **gang.fields}
    stored_queue = existing.spec.get("queue") if existing is not None else None
    if gang.keeps_stored_queue and stored_queue:
        spec["queue"] = stored_queue
    if gang.computes_resources and _RESOURCES not in spec:
        resources = min_resources(members, count=size, priorities=priorities)
        if resources:
            spec[_RESOURCES] = resources
    return spec


def _nested(path: Sequence[str], value: object) -> dict[str, Any]:
    for name in reversed(path):
        value = {name: value}
    return dict(value) if isinstance(value, dict) else {}


def _is_admitted(gang: GangSpec, existing: PodGroup, members: Members) -> bool:
    if existing.metadata.is_terminating:
        if gang.stays_until_pods_end:
            return members.has_started
        return not (gang.waits_for_admission or gang.waits_for_group)
    if not gang.waits_for_admission or existing.status.phase not in {"", "Pending"}:
        return True
    # A job that has started without the PodGroup holds the resources that the admission waits for.
    return bool(members.outside(gang))


def _priority(member: Member, priorities: Mapping[str, int]) -> int:
    name = (member.template.get("spec") or {}).get("priorityClassName")
    return priorities.get(name, 0) if isinstance(name, str) else 0


def _requests(template: Mapping[str, Any]) -> Iterator[tuple[str, quantity.Quantity]]:
    """The requests of each regular container, or its limits if it has no requests at all."""
    for container in (template.get("spec") or {}).get("containers") or ():
        resources = container.get("resources")
        if not isinstance(resources, Mapping):
            continue
        chosen = resources.get("requests")
        if chosen is None:
            chosen = resources.get("limits")
        for name, text in chosen.items() if isinstance(chosen, Mapping) else ():
            asked = quantity.parse(text)
            if asked is not None:
                yield str(name), asked
