"""Kueue: the label that puts a job into a queue.

Kueue takes a job for ready when it is Running, so a job in a queue is Running only once all its
replicas are.
"""

from tfjob.dialects.base import Manifest
from tfjob.dialects.stored_values import mapping, metadata_of

LABEL_QUEUE = "kueue.x-k8s.io/queue-name"


def queue_of(manifest: Manifest) -> str:
    """The queue of a job; empty if it is in none."""
    found = mapping(metadata_of(manifest).get("labels")).get(LABEL_QUEUE)
    return found if isinstance(found, str) else ""
