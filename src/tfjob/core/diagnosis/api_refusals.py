"""Finds the cause of a refused create in the API server's message.

The phrases are those of Kubernetes. A message that matches none of them is shown as it is.
"""

from collections.abc import Sequence
from typing import Final

from tfjob.core.diagnosis.causes import Cause

_PHRASES: Final[Sequence[tuple[Cause, Sequence[str]]]] = (
    (Cause.QUOTA_EXCEEDED, ("exceeded quota", "insufficient quota", "failed quota")),
    (
        Cause.POD_SECURITY_VIOLATION,
        ("violates PodSecurity", "unable to validate against any security context constraint"),
    ),
    (Cause.WEBHOOK_UNAVAILABLE, ("failed calling webhook",)),
    (Cause.WEBHOOK_DENIED, ("admission webhook", "ValidatingAdmissionPolicy")),
    (Cause.NAME_TAKEN, ("already exists",)),
    (Cause.INVALID_POD, (" is invalid: ", "unknown field", "cannot be handled as a ")),
)


def cause_of(message: str) -> Cause:
    if "serviceaccount" in message.lower() and "not found" in message:
        return Cause.SERVICE_ACCOUNT_MISSING
    for cause, phrases in _PHRASES:
        if any(phrase in message for phrase in phrases):
            return cause
    return Cause.CREATE_REFUSED
