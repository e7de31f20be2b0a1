"""The labels, annotations and finalizers by which a queue manages the pods of a job, as data.

Kueue admits a group of pods as a whole. The pods carry the name and the size of the group, are
gated until the group is admitted, and have a finalizer as long as they count.
"""

from collections.abc import Mapping

import msgspec

FINALIZER = "kueue.x-k8s.io/managed"
"""Keeps a pod until the queue no longer counts it."""
MARK = "tfjob.dev/queue-group"
"""The annotation of pods that the operator created in a group. On all other pods the queue's
finalizer is left alone, because users or another controller manage them."""


class QueueSpec(msgspec.Struct, frozen=True):
    """What the operator sets on the pods of one job, and what the queue sets on them."""

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
