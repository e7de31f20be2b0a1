"""Rejects jobs whose TF_CONFIG is too large for an environment variable.

TF_CONFIG lists every replica, and Linux cannot start a process with a larger variable.
"""

from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.tf_config import MAX_VALUE_BYTES, max_size
from tfjob.k8s import field

TOO_LARGE = (
    "TF_CONFIG lists every replica and would have {} bytes; Linux allows at most"
    f" {MAX_VALUE_BYTES} in an environment variable"
)
REMEDY = "use fewer replicas, or shorter names for the job and its namespace"
_ALWAYS_FITS = 100
"""With this many replicas, TF_CONFIG always fits, whatever their names."""


def checked(job: Job, *, path: str) -> Job | InvalidJob:
    """The job, or an InvalidJob if it is too large; `path` is the field of its replicas."""
    size = 0 if job.total <= _ALWAYS_FITS else max_size(job)
    if size <= MAX_VALUE_BYTES:
        return job
    return InvalidJob(
        owner=job.owner,
        messages=job.messages,
        faults=[field.invalid(path, job.total, TOO_LARGE.format(size), remedy=REMEDY)],
        status=job.status,
        is_external=job.is_external,
        is_deleting=job.is_deleting,
    )
