"""What a queue for pods needs to know about a job and its pods, as data.

Kueue admits a group of pods as a whole: they carry the name of the group and its size, are gated
until the group is admitted, and have a finalizer for as long as they count.
"""

from collections.abc import Mapping

import msgspec

FINALIZER = "kueue.x-k8s.io/managed"
"""Keeps a pod until the queue no longer counts it."""
MARK = "tfjob.dev/queue-group"
"""The annotation of pods that the operator has put into a group. The finalizer of any other pod is
left to the queue: its users or another controller decide about that pod."""


class QueueSpec(msgspec.Struct, frozen=True):
    """The labels and annotations of the pods of one job, and those by which the queue acts."""

    group_label: str
    group_name: str
    """Another one for each size: a group cannot change its size."""
    managed_label: tuple[str, str]
    """The label of pods that the queue has taken up."""
    eviction: str
    """The condition of a pod that the queue stops."""
    end: tuple[str, str]
    """The annotation of a pod that says that no pod of the group will be replaced."""
    pod_labels: Mapping[str, str] = {}
    pod_annotations: Mapping[str, str] = {}
