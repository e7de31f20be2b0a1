"""schedulingPolicy: one PodGroup per job, so that its pods are scheduled together or not at all.

Decides whether the PodGroup must be created or updated, and whether pods may be created yet. What
differs between schedulers is data in GangSpec.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

import msgspec

from tfjob.core.gang_spec import GangSpec
from tfjob.core.plan import ChildKind, Create, Delete, Rule, Update, deletes_of
from tfjob.k8s import quantity
from tfjob.k8s.podgroup import PodGroup

POLL_INTERVAL = timedelta(seconds=10)
HEARTBEAT_INTERVAL = timedelta(seconds=30)
"""How often a job that waits for admission refreshes lastReconcileTime."""
_RESOURCES = "minResources"


class Member(Protocol):
    """What is needed of a replica type to sum up the resources of the gang."""

    @property
    def count(self) -> int: ...
    @property
    def template(self) -> Mapping[str, Any]: ...


class GangStep(msgspec.Struct, frozen=True):
    create: Create | None = None
    update: Update | None = None
    may_create_pods: bool = True


def step(
    gang: GangSpec,
    existing: PodGroup | None,
    *,
    members: Sequence[Member],
    priorities: Mapping[str, int],
    owner: Mapping[str, Any],
    annotations: Mapping[str, str],
) -> GangStep:
    spec = _spec(gang, existing, members=members, priorities=priorities)
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
    return GangStep(
        update=_update(gang, existing, spec), may_create_pods=_is_admitted(gang, existing)
    )


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


def is_heartbeat_due(last: datetime | None, now: datetime) -> bool:
    return last is None or now - last >= HEARTBEAT_INTERVAL or last > now


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
) -> dict[str, Any]:
    spec: dict[str, Any] = {"minMember": gang.min_member, **gang.fields}
    stored_queue = existing.spec.get("queue") if existing is not None else None
    if gang.keeps_stored_queue and stored_queue:
        spec["queue"] = stored_queue
    if gang.computes_resources and _RESOURCES not in spec:
        resources = min_resources(members, count=gang.min_member, priorities=priorities)
        if resources:
            spec[_RESOURCES] = resources
    return spec


def _is_admitted(gang: GangSpec, existing: PodGroup) -> bool:
    if not gang.waits_for_admission:
        return not (gang.waits_for_group and existing.metadata.is_terminating)
    return not existing.metadata.is_terminating and existing.status.phase not in {"", "Pending"}


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
