"""The members of a gang: which pods are placed on nodes, and the size that the PodGroup needs.

A running gang keeps its size until its new members are placed: with a larger size, a member that
fails could not be scheduled again while the new ones wait. The gang shrinks when a member has ended
and no longer counts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from tfjob.core.pod_state import has_ended
from tfjob.core.scheduling_spec import GangSpec
from tfjob.k8s.pod import Phase, Pod


class Member(Protocol):
    """The part of a replica type that is needed here."""

    @property
    def count(self) -> int: ...
    @property
    def template(self) -> Mapping[str, Any]: ...


class Members(msgspec.Struct, frozen=True):
    """The replica types of a job, its pods, and those of the replicas that have succeeded."""

    types: Sequence[Member] = ()
    pods: Sequence[Pod] = ()
    completed: Sequence[Sequence[Pod]] = ()
    """The remaining pods, if any, of each replica that has succeeded."""

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

    def placed(self, gang: GangSpec) -> int:
        """How many pods of the PodGroup have a node and count as its members."""
        pods = [pod for pod in self.pods if _is_placed(pod) and _is_inside(pod, gang)]
        return sum(gang.counts_ended_members or not has_ended(pod) for pod in pods)

    def ended(self, gang: GangSpec) -> int:
        """How many replicas have succeeded and no longer count as members.

        A pod that is gone counts nowhere: a node was drained, or the garbage collector took it. A
        pod whose sidecar runs on is about to end, so it counts only where ended pods count, too.
        """
        if not gang.counts_ended_members:
            return len(self.completed)
        return sum(
            not any(_stays_member(pod, gang) for pod in remaining) for remaining in self.completed
        )

    def outside(self, gang: GangSpec) -> Sequence[Pod]:
        """The pods that run outside the PodGroup, for example because the job was started
        without a gang scheduler."""
        return [
            pod
            for pod in self.pods
            if _is_placed(pod) and not has_ended(pod) and not _is_inside(pod, gang)
        ]


def size_of(gang: GangSpec, stored: int | None, members: Members) -> int:
    """The minimum number of members to set in the PodGroup; `stored` is the present one."""
    wanted = gang.min_member
    if not members.has_started:
        ended = members.ended(gang)
        return min(wanted, max(1, members.total - ended)) if ended else wanted
    placed = members.placed(gang)
    if placed < wanted and stored is not None:
        # A larger size is set once the new members are placed.
        wanted = min(wanted, stored)
    return wanted if placed >= wanted else min(wanted, _attainable(gang, members))


def is_unattainable(gang: GangSpec, stored: int | None, members: Members) -> bool:
    """Whether a running PodGroup that cannot be changed requires more members than there can be.

    A pod that is created now would wait for ever in it.
    """
    if gang.is_resizable or stored is None or not members.has_started:
        return False
    return stored > _attainable(gang, members)


def _attainable(gang: GangSpec, members: Members) -> int:
    """The most members that the PodGroup can have at the same time."""
    succeeded = {pod.metadata.uid for remaining in members.completed for pod in remaining}
    # A replica that has succeeded is subtracted once, even if its sidecar runs on outside.
    outside = sum(pod.metadata.uid not in succeeded for pod in members.outside(gang))
    return max(1, members.total - members.ended(gang) - outside)


def _is_inside(pod: Pod, gang: GangSpec) -> bool:
    """Whether the pod has the field, or else all labels and annotations, of a member."""
    if gang.pod_fields:
        group = pod.spec.scheduling_group
        return group is not None and group.pod_group_name == gang.group_name
    labels, annotations = pod.metadata.labels.items(), pod.metadata.annotations.items()
    return gang.pod_labels.items() <= labels and gang.pod_annotations.items() <= annotations


def _stays_member(pod: Pod, gang: GangSpec) -> bool:
    """Whether the pod of a replica that has succeeded counts as a member; a failed one does not."""
    is_left = pod.phase is not Phase.FAILED and not pod.metadata.is_terminating
    return is_left and _is_inside(pod, gang)


def _is_placed(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and not pod.metadata.is_terminating
