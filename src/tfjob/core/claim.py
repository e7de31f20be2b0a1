"""Decides whether an object is a child of a job: keep, adopt, release or ignore it.

Objects of another controller or in another namespace are never touched, and terminating objects
are never adopted.
"""

from enum import Enum, auto

from tfjob.core.job import Job
from tfjob.core.observe import replica_key
from tfjob.k8s.meta import ObjectMeta


class Claim(Enum):
    KEEP = auto()
    ADOPT = auto()
    RELEASE = auto()
    IGNORE = auto()


def claim_of(job: Job, meta: ObjectMeta) -> Claim:
    if meta.namespace != job.namespace:
        return Claim.IGNORE
    owner = meta.controller_uid
    matches = all(meta.labels.get(key) == value for key, value in job.child_labels.items())
    if owner == job.owner.uid:
        return Claim.KEEP if matches or job.is_deleting else Claim.RELEASE
    if owner is not None or not matches or job.is_deleting or meta.is_terminating:
        return Claim.IGNORE
    return Claim.ADOPT if _is_of_known_type(job, meta) else Claim.IGNORE


def _is_of_known_type(job: Job, meta: ObjectMeta) -> bool:
    key = replica_key(job, meta)
    return key is not None and key[0] in {replica.label for replica in job.replicas}
