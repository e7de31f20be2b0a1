"""Which objects are a job's children: kept, adopted, released, or none of its business.

Law: what another controller owns or what lives in another namespace is never touched, and nothing
on its way out is adopted.
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
    matches = all(meta.labels.get(key) == value for key, value in job.claim.items())
    if owner == job.owner.uid:
        return Claim.KEEP if matches or job.is_deleting else Claim.RELEASE
    if owner is not None or not matches or job.is_deleting or meta.is_terminating:
        return Claim.IGNORE
    return Claim.ADOPT if _has_place(job, meta) else Claim.IGNORE


def _has_place(job: Job, meta: ObjectMeta) -> bool:
    place = replica_key(job, meta)
    return place is not None and place[0] in {replica.label for replica in job.replicas}
