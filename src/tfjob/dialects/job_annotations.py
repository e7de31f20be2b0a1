"""Annotations of a job with settings that its API has no field for.

A value that is not understood is ignored, with a warning that names the annotation.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from tfjob.core.job import Recovery
from tfjob.dialects.stored_values import mapping, metadata_of
from tfjob.k8s import time

RECOVERY: Final = "tfjob.dev/recovery"
"""What happens when a replica is lost: Auto, Group or Replica."""
EVALUATOR_GRACE: Final = "tfjob.dev/evaluator-grace-seconds"
"""How many seconds evaluators may outlive the training."""
INVALID: Final = "InvalidAnnotation"
"""The reason of the warning event."""
_RECOVERIES: Final = {str(each).lower(): each for each in Recovery}
_MAX_DIGITS: Final = 9
_MAX_SHOWN: Final = 40


class JobAnnotations(msgspec.Struct, frozen=True):
    recovery: Recovery
    evaluator_grace: timedelta = timedelta()
    warnings: tuple[tuple[str, str], ...] = ()
    """Reasons and messages of Warning events."""


def read(manifest: Mapping[str, Any], *, recovery: str) -> JobAnnotations:
    """The settings of a job; `recovery` is the operator's."""
    given = mapping(metadata_of(manifest).get("annotations"))
    warnings: list[tuple[str, str]] = []
    mode = _RECOVERIES.get(str(given.get(RECOVERY, recovery)).lower())
    if mode is None:
        allowed = ", ".join(map(str, Recovery))
        warnings.append(_warning(RECOVERY, given, f"use one of {allowed}; {recovery} applies"))
    grace = _seconds(given.get(EVALUATOR_GRACE, "0"))
    if grace is None:
        told = "use a whole number of seconds, such as 300; no grace applies"
        warnings.append(_warning(EVALUATOR_GRACE, given, told))
    return JobAnnotations(
        recovery=mode or Recovery(recovery),
        evaluator_grace=grace or timedelta(),
        warnings=tuple(warnings),
    )


def _seconds(value: object) -> timedelta | None:
    if not isinstance(value, str) or not (value.isascii() and value.isdigit()):
        return None
    return time.duration(int(value)) if len(value) <= _MAX_DIGITS else None


def _warning(name: str, given: Mapping[str, Any], told: str) -> tuple[str, str]:
    value = str(given.get(name))
    shown = value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…"
    return INVALID, f"metadata.annotations[{name}]: {shown!r} is not valid; {told}"
