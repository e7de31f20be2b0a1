"""Whether a failure is only the consequence of an earlier one of another replica.

TensorFlow ends the survivors of a collective job when a peer is lost, with an ordinary exit code.
A replica of a coupled role that was running when the peer was lost, and ended soon after with such
a code and no evidence of its own, only followed.
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
_COLLECTIVE: Final = _LEADERS | {"worker"}
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
"""Causes that a lost peer cannot have."""


def has_own_evidence(failed: Incident) -> bool:
    """Whether the failure shows a cause of its own, so that it followed from nothing else."""
    code = failed.exit_code
    return failed.cause in _OWN_EVIDENCE or code is None or not 1 <= code <= _LAST_PLAIN_CODE


def is_coupled(job: Job, *, lost: Incident, survivor: Incident) -> bool:
    """Whether TensorFlow ends the survivor when the other replica is lost."""
    first, second = replica_of(job, lost), replica_of(job, survivor)
    return first is not None and second is not None and couples(job, lost=first, survivor=second)


def couples(job: Job, *, lost: ReplicaType, survivor: ReplicaType) -> bool:
    """Whether TensorFlow ends replicas of the second type when one of the first is lost.

    Without parameter servers, chief and workers may train collectively. With them, the chief needs
    every parameter server, and nobody else misses anybody.
    """
    if job.tf_config.is_dynamic or not (lost.is_in_cluster and survivor.is_in_cluster):
        return False
    tasks = {each.task.lower() for each in job.replicas if each.count}
    if _PARAMETER_SERVER in tasks:
        return lost.task.lower() == _PARAMETER_SERVER and survivor.task.lower() in _LEADERS
    return {lost.task.lower(), survivor.task.lower()} <= _COLLECTIVE


def is_consequence(
    failed: Incident,
    *,
    of: Incident,
    started: datetime | None = None,
) -> bool:
    """Whether a failure of a coupled replica followed from another one.

    `started` is when the failed run started.
    """
    is_later_run = started is not None and started > of.at
    if (failed.replica == of.replica and not is_later_run) or has_own_evidence(failed):
        return False
    # A replica that was restarted meanwhile may lose those that are still to end.
    if started is not None and started > of.last_loss:
        return False
    return failed.at >= of.at and failed.at - of.lost_until <= WINDOW


def likeness(failed: Incident) -> tuple[str, ...] | None:
    """What replicas that failed of one cause have in common; None if it cannot be told."""
    if failed.cause in _OWN_EVIDENCE:
        return (str(failed.cause),)
    return (str(failed.cause), failed.detail) if failed.detail else None


def is_alike(failed: Incident, *, to: Incident, started: datetime | None = None) -> bool:
    """Whether two replicas failed of one cause, as when a node is drained or a module missing."""
    if failed.replica == to.replica or likeness(failed) is None or likeness(failed) != likeness(to):
        return False
    if started is not None and started > to.at:
        return False
    return timedelta() <= failed.at - to.at <= WINDOW


def is_survivable(job: Job, lost: Incident) -> bool:
    """Whether the replica was lost by no fault of the program and is restarted."""
    replica = replica_of(job, lost)
    if replica is None or replica.restart not in SURVIVES:
        return False
    if lost.cause in DISRUPTIONS:
        return True
    return job.semantics.exit_codes.is_retryable(lost.exit_code, reason=lost.reason)


def replica_of(job: Job, failed: Incident) -> ReplicaType | None:
    return next((each for each in job.replicas if each.label.lower() == failed.kind), None)
