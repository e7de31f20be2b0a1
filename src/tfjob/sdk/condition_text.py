"""The conditions and the state of a job as text, for all APIs."""

from collections.abc import Mapping
from typing import Final

from tfjob.core.status import Condition, ConditionType
from tfjob.sdk.jobs import ClusterJob, is_empty

_PREDICATES: Final[Mapping[str, str]] = {
    ConditionType.CREATED: "is created",
    ConditionType.RUNNING: "is running",
    ConditionType.RESTARTING: "is restarting",
    ConditionType.SUCCEEDED: "has succeeded",
    ConditionType.FAILED: "has failed",
    ConditionType.SUSPENDED: "is suspended",
}


def condition_text(found: ClusterJob, condition: Condition) -> str:
    """The message of a condition, or an equivalent sentence if its API has no messages."""
    if condition.message:
        return condition.message
    predicate = _PREDICATES.get(condition.type, condition.type)
    return f"{found.dialect.kind} {found.name} {predicate}"


def state_of(found: ClusterJob) -> str:
    """The state, followed by the phase if the API has one of another name.

    A job without replicas keeps its state, so that is shown, too.
    """
    phase = _status_text(found, "phase")
    state = found.state or phase
    if state and is_empty(found):
        return f"{state} (no replicas)"
    return f"{state} (phase {phase})" if phase and phase != state else state


def silence_of(found: ClusterJob) -> str:
    """Which controller has not reported anything about a job without a state."""
    if found.job.is_external:
        return "the controller that `managedBy` names has not reported the job's status"
    return "no operator has reconciled the job"


def reason_of(found: ClusterJob) -> str:
    """The reason in the status of the job as a whole, which only some APIs have."""
    return _status_text(found, "reason")


def _status_text(found: ClusterJob, key: str) -> str:
    status = found.manifest.get("status")
    value = status.get(key) if isinstance(status, Mapping) else None
    return value if isinstance(value, str) else ""
