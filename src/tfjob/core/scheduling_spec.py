"""What a gang scheduler and a queue need to know about a job and its pods, as data."""

from collections.abc import Mapping, MutableMapping
from typing import Any

import msgspec

QUEUE_FINALIZER = "kueue.x-k8s.io/managed"
"""Keeps a pod until the queue no longer counts it."""
QUEUE_MARK = "tfjob.dev/queue-group"
"""The annotation of pods that the operator created in a group. On all other pods the queue's
finalizer is left alone, because users or another controller manage them."""


class GangSpec(msgspec.Struct, frozen=True):
    """The fields of the PodGroup, and the labels, annotations and spec fields of its pods."""

    api_version: str
    group_name: str
    scheduler_name: str
    """The scheduler to set on pods; empty if the templates' own scheduler supports gangs."""
    min_member: int
    min_member_path: tuple[str, ...] = ("minMember",)
    """The path of the minimum number of members in the spec of the PodGroup."""
    fields: Mapping[str, Any] = {}
    pod_labels: Mapping[str, str] = {}
    pod_annotations: Mapping[str, str] = {}
    """The labels and annotations that make a pod a member of the PodGroup."""
    other_labels: Mapping[str, str] = {}
    """Labels of its pods that do not make a pod a member, such as the queue."""
    pod_fields: Mapping[str, Any] = {}
    """Fields of the pod's spec that override the template."""
    priority_class: str = ""
    """The priority class of pods whose template names none."""
    role_key: str = ""
    is_role_a_label: bool = False
    keeps_stored_queue: bool = False
    computes_resources: bool = True
    waits_for_admission: bool = False
    waits_for_group: bool = False
    """Pods are created only once the PodGroup exists, whether or not it is admitted."""
    stays_with_pods: bool = False
    stays_until_pods_end: bool = False
    """A deleted PodGroup stays, terminating, until the last of its pods has ended."""
    is_resizable: bool = True
    """The minimum number of members of an existing PodGroup can be changed."""
    counts_ended_members: bool = True
    """A pod that has ended still counts as a member."""
    retries_when_touched: bool = False
    """The scheduler retries a gang that did not fit only if its PodGroup changes."""

    def mark(
        self,
        spec: MutableMapping[str, Any],
        *,
        labels: MutableMapping[str, str],
        annotations: MutableMapping[str, str],
        role: str,
    ) -> None:
        """Set the scheduler name, labels, annotations and fields that put a pod into the gang."""
        self.mark_outside(spec)
        spec.update(self.pod_fields)
        labels.update({**self.pod_labels, **self.other_labels})
        annotations.update(self.pod_annotations)
        if self.role_key:
            (labels if self.is_role_a_label else annotations)[self.role_key] = role

    def mark_outside(self, spec: MutableMapping[str, Any]) -> None:
        """Set the scheduler and the priority of a pod that is scheduled outside the PodGroup."""
        if self.scheduler_name and not spec.get("schedulerName"):
            spec["schedulerName"] = self.scheduler_name
        if self.priority_class and not spec.get("priorityClassName"):
            spec["priorityClassName"] = self.priority_class

    def uses_other_scheduler(self, template: Mapping[str, Any]) -> bool:
        """Whether the template names another scheduler, which then schedules the pods."""
        own = (template.get("spec") or {}).get("schedulerName")
        return bool(own and self.scheduler_name) and own != self.scheduler_name


class QueueSpec(msgspec.Struct, frozen=True):
    """What the operator sets on the pods of one job, and what the queue sets on them.

    Kueue admits a group of pods as a whole. The pods carry the name and the size of the group, are
    gated until the group is admitted, and have a finalizer as long as they count.
    """

    group_label: str
    group_name: str
    """Differs for each size of the job, because a group cannot change its size."""
    managed_label: tuple[str, str]
    """The label of pods that the queue manages."""
    eviction: str
    """The condition of a pod that the queue stops."""
    end: tuple[str, str]
    """The annotation of a pod that says that no pod of the group will be replaced."""
    pod_labels: Mapping[str, str] = {}
    pod_annotations: Mapping[str, str] = {}
