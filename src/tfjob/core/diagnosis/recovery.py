"""Finds failures that are consequences of a loss that the job survives.

Such a failure neither fails the job nor counts towards backoffLimit. Replicas that still run are
never touched.
"""

from collections.abc import Set as AbstractSet
from datetime import datetime

from tfjob.core.diagnosis import failures
from tfjob.core.diagnosis.consequences import SURVIVES, is_survivable
from tfjob.core.diagnosis.incidents import followers
from tfjob.core.job import Job, Recovery
from tfjob.core.observe import ObservedState, ReplicaInstance
from tfjob.k8s.pod import Pod


def consequences(job: Job, observed: ObservedState, *, now: datetime) -> AbstractSet[str]:
    """The keys of failures that are consequences of losses that the job survives."""
    if job.semantics.recovery is Recovery.REPLICA:
        return frozenset()
    seen = [
        failure
        for instance in observed.suspects
        if instance.job is None
        for failure in failures.of_instance(instance, now=now)
    ]
    if not seen:
        return frozenset()
    stored = job.status.diagnosis
    known = () if stored is None else stored.incidents
    restarted = {each.incident.key for each in seen if each.replica.restart in SURVIVES}
    return {
        key
        for key, incident in followers(job, known, seen).items()
        if key in restarted and is_survivable(job, incident)
    }


def has_followed(instance: ReplicaInstance, pod: Pod, keys: AbstractSet[str]) -> bool:
    """Whether the replica's pod ended with one of these failures."""
    if instance.is_disrupted or not instance.is_failed:
        return False
    return failures.last_key(pod) in keys


def has_followed_in_place(pod: Pod, keys: AbstractSet[str], *, excused: int) -> bool:
    """Whether the kubelet last restarted the training container after one of these failures.

    Only restarts of that container can be excused, so there are never more of them.
    """
    return excused < failures.training_restarts(pod) and failures.key_before_restart(pod) in keys
