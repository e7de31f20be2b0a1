"""Decides whether a failure is only the consequence of another replica's earlier failure.

When a peer is lost, TensorFlow ends the other replicas of a collective job with an ordinary exit
code. So a failure is a consequence if the replica is coupled to the lost one, was running at that
time, and ended soon after with such a code and without evidence of a cause of its own.
"""

from datetime import datetime, timedelta
from typing import Final

from tfjob.core.diagnosis.causes import DISRUPTIONS, Cause
from tfjob.core.diagnosis.diagnosis import Incident
from tfjob.core.job import Job, ReplicaType, RestartPolicy

WINDOW: Final = timedelta(seconds=60)
_LAST_PLAIN_CODE: Final = 125
"""Higher codes are start errors and signals."""
_LEADERS: Final = frozenset({"chief", "master"})
_WORKER: Final = "worker"
_COLLECTIVE: Final = _LEADERS | {_WORKER}
_PARAMETER_SERVER: Final = "ps"
SURVIVES: Final = frozenset({RestartPolicy.EXIT_CODE, RestartPolicy.ON_FAILURE})
_OWN_EVIDENCE: Final = DISRUPTIONS | {
    Cause.OUT_OF_MEMORY,
    Cause.CONTAINER_NOT_STARTED,
    Cause.INIT_CONTAINER_FAILED,
    Cause.MODULE_MISSING,
    Cause.INVALID_TF_CONFIG,
    Cause.UNSUPPORTED_STRATEGY,
    Cause.ACCELERATOR_FAILED,
}
"""Causes that the loss of a peer cannot produce."""


def has_own_evidence(failed: Incident) -> bool:
    """Whether the failure has a cause of its own and so cannot be a consequence."""
    code = failed.exit_code
    return failed.cause in _OWN_EVIDENCE or code is None or not 1 <= code <= _LAST_PLAIN_CODE


def is_coupled(job: Job, *, lost: Incident, survivor: Incident) -> bool:
    """Whether TensorFlow ends the survivor when the other replica is lost."""
    first, second = replica_of(job, lost), replica_of(job, survivor)
    return first is not None and second is not None and couples(job, lost=first, survivor=second)


def couples(job: Job, *, lost: ReplicaType, survivor: ReplicaType) -> bool:
    """Whether TensorFlow ends replicas of the second type when one of the first is lost.

    Without parameter servers, chief and workers may train collectively. With them, only the chief
    depends on others: on every parameter server.
    """
    if not _are_connected(job, lost, survivor):
        return False
    tasks = {each.task.lower() for each in job.replicas if each.count}
    if _PARAMETER_SERVER in tasks:
        return lost.task.lower() == _PARAMETER_SERVER and survivor.task.lower() in _LEADERS
    return {lost.task.lower(), survivor.task.lower()} <= _COLLECTIVE


def is_worker_of_server(job: Job, *, server: ReplicaType, worker: ReplicaType) -> bool:
    """Whether the first type are parameter servers, to which replicas of the second connect."""
    tasks = (server.task.lower(), worker.task.lower())
    return tasks == (_PARAMETER_SERVER, _WORKER) and _are_connected(job, server, worker)


def _are_connected(job: Job, first: ReplicaType, second: ReplicaType) -> bool:
    return not job.tf_config.is_dynamic and first.is_in_cluster and second.is_in_cluster


def is_consequence(
    failed: Incident,
    *,
    of: Incident,
    started: datetime | None = None,
) -> bool:
    """Whether a failure of a coupled replica is a consequence of the incident `of`.

    `started` is when the failed run started.
    """
    is_later_run = started is not None and started > of.at
    if (failed.replica == of.replica and not is_later_run) or has_own_evidence(failed):
        return False
    # A replica that was restarted meanwhile can still lose replicas that end after it started.
    if started is not None and started > of.last_loss:
        return False
    return failed.at >= of.at and failed.at - of.lost_until <= WINDOW


def signature(failed: Incident) -> tuple[str, ...] | None:
    """Equal for replicas that failed for the same cause; None if the cause is too vague."""
    if failed.cause in _OWN_EVIDENCE:
        return (str(failed.cause),)
    return (str(failed.cause), failed.detail) if failed.detail else None


def is_alike(failed: Incident, *, to: Incident, started: datetime | None = None) -> bool:
    """Whether two replicas failed for one cause, such as a drained node or a missing module."""
    own = signature(failed)
    if failed.replica == to.replica or own is None or own != signature(to):
        return False
    if started is not None and started > to.at:
        return False
    return timedelta() <= failed.at - to.at <= WINDOW


def is_survivable(job: Job, lost: Incident) -> bool:
    """Whether the replica is restarted, because it was disrupted or its exit is retryable."""
    replica = replica_of(job, lost)
    if replica is None or replica.restart not in SURVIVES:
        return False
    if lost.cause in DISRUPTIONS:
        return True
    return job.semantics.exit_codes.is_retryable(lost.exit_code, reason=lost.reason)


def replica_of(job: Job, failed: Incident) -> ReplicaType | None:
    return next((each for each in job.replicas if each.label.lower() == failed.kind), None)
