"""Kueue: the label that puts a job into a queue, and the pods of the job as a group of Kueue.

Kueue either admits the job itself, by `suspend`, or its pods as a group. It takes up the pods only
if it does not manage their owner. The pods are marked as a group only if the settings of the
operator say so. Kueue takes a job for ready when it is Running, so a job in a queue is Running only
once all its replicas are.
"""

from tfjob.core.job import Owner
from tfjob.core.scheduling_spec import QUEUE_MARK, QueueSpec
from tfjob.dialects.base import Manifest, Settings
from tfjob.dialects.stored_values import mapping, metadata_of

LABEL_QUEUE = "kueue.x-k8s.io/queue-name"
_PRIORITY = "kueue.x-k8s.io/priority-class"
_GROUP = "kueue.x-k8s.io/pod-group-name"
_SIZE = "kueue.x-k8s.io/pod-group-total-count"
_MAX_NAME = 40
"""How much of a job's name is in the name of its group, which is a label of 63 characters."""


def queue_of(manifest: Manifest) -> str:
    """The queue of a job; empty if it is in none."""
    return _label(manifest, LABEL_QUEUE)


def queue_for(
    manifest: Manifest, settings: Settings, *, owner: Owner, total: int
) -> QueueSpec | None:
    """The group of a job's pods, or None if the job is in no queue."""
    queue = queue_of(manifest)
    if not (queue and total and settings.has_kueue_pod_groups):
        return None
    short = owner.name[:_MAX_NAME].rstrip("-.")
    name = f"{short}-{owner.uid[:8].lower().rstrip('-')}-{total}"
    priority = _label(manifest, _PRIORITY)
    return QueueSpec(
        group_label=_GROUP,
        group_name=name,
        managed_label=("kueue.x-k8s.io/managed", "true"),
        eviction="TerminationTarget",
        end=("kueue.x-k8s.io/retriable-in-group", "false"),
        pod_labels={
            LABEL_QUEUE: queue,
            _GROUP: name,
            **({_PRIORITY: priority} if priority else {}),
        },
        pod_annotations={_SIZE: str(total), QUEUE_MARK: name},
    )


def _label(manifest: Manifest, name: str) -> str:
    found = mapping(metadata_of(manifest).get("labels")).get(name)
    return found if isinstance(found, str) else ""
