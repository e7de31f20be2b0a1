"""A job's conditions as sentences, also where its API keeps none."""

from collections.abc import Mapping
from typing import Final

from tfjob.cli.jobs import Found
from tfjob.core.status import Condition, ConditionType

_PREDICATES: Final[Mapping[str, str]] = {
    ConditionType.CREATED: "is created",
    ConditionType.RUNNING: "is running",
    ConditionType.RESTARTING: "is restarting",
    ConditionType.SUCCEEDED: "has succeeded",
    ConditionType.FAILED: "has failed",
    ConditionType.SUSPENDED: "is suspended",
}


def told(found: Found, condition: Condition) -> str:
    """What a condition says of its job."""
    if condition.message:
        return condition.message
    predicate = _PREDICATES.get(condition.type, condition.type)
    return f"{found.dialect.kind} {found.name} {predicate}"


def state_of(found: Found) -> str:
    """The state in the words of all APIs, and the API's own word where that is another."""
    phase = _status_text(found, "phase")
    state = found.state or phase
    return f"{state} (phase {phase})" if phase and phase != state else state


def reason_of(found: Found) -> str:
    """Why the job is where it is, as some APIs say it of the job as a whole."""
    return _status_text(found, "reason")


def _status_text(found: Found, key: str) -> str:
    status = found.manifest.get("status")
    value = status.get(key) if isinstance(status, Mapping) else None
    return value if isinstance(value, str) else ""
