"""The members of a gang: which pods are placed on nodes, and the size that the PodGroup needs.

A running gang keeps its size until its new members are placed: with a larger size, a member that
fails could not be scheduled again while the new ones wait. The gang shrinks when a member has ended
and no longer counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tfjob.core.gang_spec import GangSpec
from tfjob.core.pod_state import has_ended
from tfjob.k8s.pod import Pod


class Member(Protocol):
    """The part of a replica type that is needed here."""

    @property
    def count(self) -> int: ...
    @property
    def template(self) -> Mapping[str, Any]: ...


class Members(msgspec.Struct, frozen=True):
    """The replica types of a job, its pods, and how many replicas have succeeded."""

    types: Sequence[Member] = ()
    pods: Sequence[Pod] = ()
    completed: int = 0

    @property
    def total(self) -> int:
        return sum(each.count for each in self.types)

    @property
    def has_started(self) -> bool:
        """Whether a pod has a node and has not ended."""
        return any(_is_placed(pod) and not has_ended(pod) for pod in self.pods)

    @property
    def unplaced(self) -> Sequence[Pod]:
        return [pod for pod in self.pods if not (pod.spec.node_name or has_ended(pod))]

    def placed(self, *, counts_ended: bool) -> int:
        """How many pods have a node, with or without those that have ended."""
        return sum(_is_placed(pod) and (counts_ended or not has_ended(pod)) for pod in self.pods)

    def outside(self, gang: GangSpec) -> int:
        """How many pods run outside the PodGroup, because they lack the field that names it."""
        if not gang.pod_fields:
            return 0
        return sum(
            _is_placed(pod) and not has_ended(pod) and _group_of(pod) != gang.group_name
            for pod in self.pods
        )


def size_of(gang: GangSpec, stored: int | None, members: Members) -> int:
    """The minimum number of members to set in the PodGroup."""
    wanted = gang.min_member
    if not members.has_started:
        completed = 0 if gang.counts_ended_members else members.completed
        return min(wanted, max(1, members.total - completed)) if completed else wanted
    placed = members.placed(counts_ended=gang.counts_ended_members)
    if stored is not None and stored < wanted and placed < wanted:
        wanted = stored
    if placed < wanted:
        wanted = min(wanted, _attainable(gang, members))
    return wanted


def is_left_alone(gang: GangSpec, stored: int | None, members: Members) -> bool:
    """Whether a new pod must be created outside the PodGroup, because that cannot be changed and
    requires more members than there can be. In a running gang, a pod need not wait for others."""
    if gang.is_resizable or stored is None or not members.has_started:
        return False
    return stored > _attainable(gang, members)


def _attainable(gang: GangSpec, members: Members) -> int:
    """The most members that the PodGroup can have at the same time."""
    ended = 0 if gang.counts_ended_members else members.completed
    return max(1, members.total - ended - members.outside(gang))


def _group_of(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return "" if group is None else group.pod_group_name


def _is_placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and not pod.metadata.is_terminating
