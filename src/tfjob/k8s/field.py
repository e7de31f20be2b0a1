"""Validation faults with the exact text of Kubernetes field errors.

Faults are values: validation collects them and does not raise. Rendering accepts any value from
JSON or YAML and never raises.
"""

import enum
import json
from collections.abc import Iterable

import msgspec

MAX_VALUE_LENGTH = 200


class FaultKind(enum.StrEnum):
    """The error types of Kubernetes field errors, as printed."""

    INVALID = "Invalid value"
    REQUIRED = "Required value"
    FORBIDDEN = "Forbidden"
    UNSUPPORTED = "Unsupported value"
    DUPLICATE = "Duplicate value"
    NOT_FOUND = "Not found"
    INTERNAL = "Internal error"


_WITHOUT_VALUE = frozenset({FaultKind.REQUIRED, FaultKind.FORBIDDEN, FaultKind.INTERNAL})


class Fault(msgspec.Struct, frozen=True):
    """One invalid field. `remedy` says what to do and is not part of the Kubernetes text."""

    path: str
    kind: FaultKind
    value: object = msgspec.UNSET
    detail: str = ""
    remedy: str = ""

    @property
    def text(self) -> str:
        """`<field>: <Kind>[: <value>][: <detail>]`."""
        parts = [self.path, self.kind.value]
        if self.kind not in _WITHOUT_VALUE and self.value is not msgspec.UNSET:
            parts.append(_render_value(self.value))
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)


def invalid(path: str, value: object, detail: str, *, remedy: str = "") -> Fault:
    """A value that violates a rule, which the detail states."""
    return Fault(path, FaultKind.INVALID, value, detail, remedy)


def required(path: str, detail: str, *, remedy: str = "") -> Fault:
    """A missing value."""
    return Fault(path, FaultKind.REQUIRED, detail=detail, remedy=remedy)


def forbidden(path: str, detail: str, *, remedy: str = "") -> Fault:
    """A field that must not be set, whatever its value."""
    return Fault(path, FaultKind.FORBIDDEN, detail=detail, remedy=remedy)


def unsupported(path: str, value: object, allowed: Iterable[str], *, remedy: str = "") -> Fault:
    """A value that is not in an enum, which is printed in alphabetical order."""
    return not_in(path, value, sorted(allowed), remedy=remedy)


def not_in(path: str, value: object, allowed: Iterable[str], *, remedy: str = "") -> Fault:
    """A value that is not in an enum, which is printed in the given order."""
    choices = ", ".join(_json(choice) for choice in allowed)
    detail = f"supported values: {choices}" if choices else ""
    return Fault(path, FaultKind.UNSUPPORTED, value, detail, remedy)


def not_found(path: str, value: object) -> Fault:
    """A reference to something that does not exist."""
    return Fault(path, FaultKind.NOT_FOUND, value)


def duplicate(path: str, value: object, *, remedy: str = "") -> Fault:
    """A repeated value that must be unique."""
    return Fault(path, FaultKind.DUPLICATE, value, remedy=remedy)


def internal(path: str, detail: str, *, remedy: str = "") -> Fault:
    """A check that failed for a reason that is not the user's."""
    return Fault(path, FaultKind.INTERNAL, detail=detail, remedy=remedy)


def summary(faults: Iterable[Fault]) -> str:
    """All faults in one line: a single one as it is, several in brackets without duplicates."""
    texts = list(dict.fromkeys(fault.text for fault in faults))
    if len(texts) == 1:
        return texts[0]
    return f"[{', '.join(texts)}]" if texts else ""


def _render_value(value: object) -> str:
    if value is None:
        return '"null"'
    text = _json(value)
    if len(text) <= MAX_VALUE_LENGTH:
        return text
    ending = '…"' if isinstance(value, str) else "…"
    return text[: MAX_VALUE_LENGTH - len(ending)] + ending


def _json(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        # YAML allows values that JSON cannot represent: keys that are dates or lists, and cycles.
        text = f"<{type(value).__name__}>"
    # A lone surrogate is valid in JSON text but cannot be encoded as UTF-8.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
