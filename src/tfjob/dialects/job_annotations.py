"""Annotations of a job with settings that its API has no field for.

A value that is not understood is ignored, with a warning that names the annotation.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec

from tfjob.core.job import Recovery
from tfjob.dialects.stored_values import mapping, metadata_of

RECOVERY: Final = "tfjob.dev/recovery"
"""What happens when a replica is lost: Auto, Group or Replica."""
EVALUATOR_GRACE: Final = "tfjob.dev/evaluator-grace-seconds"
"""How many seconds evaluators may outlive the training."""
_MAX_EVALUATOR_GRACE: Final = 86_400
"""A day: until the grace is over, the other replicas keep what they run on."""
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
    seconds = _whole_number(given.get(EVALUATOR_GRACE, "0"))
    if seconds is None:
        remedy = f"use a whole number of seconds up to {_MAX_EVALUATOR_GRACE}; no grace applies"
        warnings.append(_warning(EVALUATOR_GRACE, given, remedy))
    elif seconds > _MAX_EVALUATOR_GRACE:
        remedy = f"use at most {_MAX_EVALUATOR_GRACE}, which is a day and applies"
        warnings.append(_warning(EVALUATOR_GRACE, given, remedy))
    grace = timedelta(seconds=min(seconds or 0, _MAX_EVALUATOR_GRACE))
    return JobAnnotations(
        recovery=mode or Recovery(recovery),
        evaluator_grace=grace,
        warnings=tuple(warnings),
    )


def _whole_number(value: object) -> int | None:
    """The number that a text stands for. All that are too long to be allowed are the same."""
    if not isinstance(value, str) or not (value.isascii() and value.isdigit()):
        return None
    digits = value.lstrip("0")
    return int(digits or "0") if len(digits) <= _MAX_DIGITS else 10**_MAX_DIGITS


def _warning(name: str, given: Mapping[str, Any], remedy: str) -> tuple[str, str]:
    value = str(given.get(name))
    shown = value if len(value) <= _MAX_SHOWN else f"{value[:_MAX_SHOWN]}…"
    return INVALID, f"metadata.annotations[{name}]: {shown!r} is not valid; {remedy}"
