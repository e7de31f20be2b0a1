"""Faults found in an object, worded exactly as Kubernetes words its field errors.

A fault is a value: validation collects all of them and raises none. Rendering accepts any value
that JSON or YAML can bring, and never raises.
"""

import enum
import json
from collections.abc import Iterable

import msgspec

MAX_VALUE_LENGTH = 200


class FaultKind(enum.StrEnum):
    """What is wrong with a field, in the words that Kubernetes prints."""

    INVALID = "Invalid value"
    REQUIRED = "Required value"
    FORBIDDEN = "Forbidden"
    UNSUPPORTED = "Unsupported value"
    DUPLICATE = "Duplicate value"
    NOT_FOUND = "Not found"


_WITHOUT_VALUE = frozenset({FaultKind.REQUIRED, FaultKind.FORBIDDEN})


class Fault(msgspec.Struct, frozen=True):
    """One wrong field. `remedy` is advice for a person and no part of the Kubernetes text."""

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
    """A value that breaks a rule; the detail names the rule."""
    return Fault(path, FaultKind.INVALID, value, detail, remedy)


def required(path: str, detail: str, *, remedy: str = "") -> Fault:
    """A value that is missing."""
    return Fault(path, FaultKind.REQUIRED, detail=detail, remedy=remedy)


def forbidden(path: str, detail: str, *, remedy: str = "") -> Fault:
    """A value that may not stand here at all, whatever it is."""
    return Fault(path, FaultKind.FORBIDDEN, detail=detail, remedy=remedy)


def unsupported(path: str, value: object, allowed: Iterable[str], *, remedy: str = "") -> Fault:
    """A value outside a closed list, which is printed in the order of the alphabet."""
    return not_in(path, value, sorted(allowed), remedy=remedy)


def not_in(path: str, value: object, allowed: Iterable[str], *, remedy: str = "") -> Fault:
    """A value outside a closed list, which is printed in the order that is given."""
    choices = ", ".join(_json(choice) for choice in allowed)
    detail = f"supported values: {choices}" if choices else ""
    return Fault(path, FaultKind.UNSUPPORTED, value, detail, remedy)


def not_found(path: str, value: object) -> Fault:
    """A reference to something that is not there."""
    return Fault(path, FaultKind.NOT_FOUND, value)


def duplicate(path: str, value: object, *, remedy: str = "") -> Fault:
    """A value that may occur once and occurs again."""
    return Fault(path, FaultKind.DUPLICATE, value, remedy=remedy)


def summary(faults: Iterable[Fault]) -> str:
    """All faults in one line: one as it is, several in brackets, identical texts once."""
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
        # YAML can bring what JSON cannot spell: keys that are dates or lists, and cycles.
        text = f"<{type(value).__name__}>"
    # A lone surrogate is legal in a JSON text and unprintable everywhere else.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
