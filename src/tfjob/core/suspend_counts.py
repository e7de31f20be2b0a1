"""suspend: a job that is asked to rest owns no pods, and starts whole when it is resumed."""

from collections.abc import Sequence

import msgspec

from tfjob.core.status import JobStatus, ReplicaStatus


def resting(status: JobStatus, replicas: Sequence[str]) -> JobStatus:
    """Counts while suspended: nothing is active, what was achieved is kept."""
    return msgspec.structs.replace(
        status,
        replicas={
            kind: msgspec.structs.replace(status.of(kind), active=0, records=())
            for kind in replicas
        },
    )


def restarted(status: JobStatus) -> JobStatus:
    """Counts at resume: every replica runs again, restarts so far stay counted."""
    return msgspec.structs.replace(
        status,
        replicas={
            kind: ReplicaStatus(restarts=each.restarts, selector=each.selector)
            for kind, each in status.replicas.items()
        },
    )
