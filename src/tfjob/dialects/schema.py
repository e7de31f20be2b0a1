"""Builders for structural schemas (OpenAPI v3) of custom resources.

Each takes the description for `kubectl explain`. A schema may also carry remedies for users whose
value is rejected; these are not published in the CRD.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tfjob.k8s.field import FaultKind

Schema = dict[str, Any]

QUANTITY = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
_INT32 = 2**31 - 1
REMEDY = "x-tfjob-remedy"
"""Hint for a rejected value of this field."""
ABSENT = "x-tfjob-absent"
"""Message and remedy for a required field that is absent."""
REPORT = "x-tfjob-report"
"""How the offline check reports the violation of a rule."""
RULES = "x-kubernetes-validations"
GIVEN_NAME = "givenName"
"""Variable of reports: the name of the job as its user wrote it."""
RESERVED = "reserved"
"""Variable of reports: how many characters the API server appends to that name."""
_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
REASONS = {
    FaultKind.REQUIRED: "FieldValueRequired",
    FaultKind.FORBIDDEN: "FieldValueForbidden",
}
"""The reason of a rule, by the kind of its faults; without one, they are of invalid values."""
_HINTS = frozenset({REMEDY, ABSENT, REPORT})


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How the offline check reports a violated rule, where it can be more precise than the CRD.

    The rule alone decides whether there is a violation. `entries`, `is_bad`, `value` and `argument`
    are CEL over `self` and the variables of the check.
    """

    entries: str = ""
    """A map or list whose bad entries are reported one by one."""
    is_bad: str = ""
    """Whether the entry `e` at the key or index `k`, after the entries `before`, is a bad one."""
    at: str = ""
    """The path of the fault below that of the rule; `{}` is the key or index of the entry."""
    value: str = ""
    """The rejected value; without it, the value at the path of the rule."""
    argument: str = ""
    """What `{}` in the detail and the remedy stands for."""
    kind: FaultKind | None = None
    """The kind of the fault; without it, the reason of the rule."""
    detail: str | None = None
    """The text of the fault; without it, the message of the rule."""
    remedy: str | Callable[[Any, Any], str] = ""
    """What the user can do, or a function of the value and the argument that returns it."""
    order: int = 0
    """Faults are sorted by this number; negative ones precede those of the plain schema."""
    hides_entries: bool = False
    """Bad entries are not checked any further."""


def with_remedies(
    schema: Schema, *, remedy: str = "", absent: tuple[str, str] | None = None
) -> Schema:
    """The schema with remedies for users."""
    found = {REMEDY: remedy, ABSENT: absent}
    return {**schema, **{key: each for key, each in found.items() if each}}


def published(schema: Any) -> Any:
    """The schema as published in the CRD, without remedies."""
    if isinstance(schema, dict):
        return {key: published(each) for key, each in schema.items() if key not in _HINTS}
    return [published(each) for each in schema] if isinstance(schema, list) else schema


def text(about: str, *, among: Sequence[str] = (), default: str | None = None) -> Schema:
    found: Schema = {"description": about, "type": "string"}
    if among:
        found["enum"] = list(among)
    if default is not None:
        found["default"] = default
    return found


def moment(about: str) -> Schema:
    return {"description": about, "type": "string", "format": "date-time"}


def boolean(about: str, *, default: bool | None = None) -> Schema:
    found: Schema = {"description": about, "type": "boolean"}
    if default is not None:
        found["default"] = default
    return found


def integer(about: str, *, at_least: int = 0, at_most: int = _INT32) -> Schema:
    found: Schema = {"description": about, "type": "integer", "minimum": at_least}
    found["format"] = "int32" if at_most <= _INT32 else "int64"
    if at_most < _INT32:
        found["maximum"] = at_most
    return found


def quantities(about: str) -> Schema:
    """A map of resource names to quantities."""
    amount: Schema = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": QUANTITY,
        "x-kubernetes-int-or-string": True,
    }
    return mapping(about, amount)


def mapping(
    about: str, values: Schema, *, at_most: int | None = None, rules: Sequence[Schema] = ()
) -> Schema:
    """An object with arbitrary keys."""
    found: Schema = {"description": about, "type": "object", "additionalProperties": values}
    if at_most is not None:
        found["maxProperties"] = at_most
    return ruled(found, rules)


def array(about: str, items: Schema, *, at_most: int | None = None) -> Schema:
    found: Schema = {"description": about, "type": "array", "items": items}
    if at_most is not None:
        found["maxItems"] = at_most
    return found


def record(
    about: str,
    properties: Mapping[str, Schema],
    *,
    required: Sequence[str] = (),
    keeps_unknown: bool = False,
    rules: Sequence[Schema] = (),
) -> Schema:
    """An object with known fields. Unknown ones are pruned unless `keeps_unknown`."""
    found: Schema = {"description": about, "type": "object"}
    if required:
        found["required"] = list(required)
    if keeps_unknown:
        found[_KEEPS_UNKNOWN] = True
    if properties:
        found["properties"] = dict(properties)
    return ruled(found, rules)


def rule(
    expression: str,
    message: str = "",
    *,
    message_expression: str = "",
    at: str = "",
    kind: FaultKind = FaultKind.INVALID,
    report: Report | None = None,
) -> Schema:
    """A CEL validation rule and its message.

    `message_expression` is a CEL expression for messages that contain a value. A rule that uses
    `oldSelf.hasValue()` also applies to creation; one that uses a bare `oldSelf`, only to updates.
    """
    found: Schema = {"rule": expression}
    if message:
        found["message"] = message
    if message_expression:
        found["messageExpression"] = message_expression
    if at:
        found["fieldPath"] = at
    if kind in REASONS:
        found["reason"] = REASONS[kind]
    if "oldSelf.hasValue()" in expression:
        found["optionalOldSelf"] = True
    if report is not None:
        found[REPORT] = report
    return found


def needs_text(name: str, message: str, *, remedy: str) -> Schema:
    """A rule that a field must be present and not empty."""
    is_said = f"has(self.{name}) && self.{name} != ''"
    report = Report(remedy=remedy)
    return rule(is_said, message, at=f".{name}", kind=FaultKind.REQUIRED, report=report)


def pod_metadata() -> Schema:
    """The schema of the metadata of a pod template."""
    return record(
        "Labels, annotations and finalizers of the pods; the rest is ignored.",
        {
            "labels": mapping("Labels of the pods.", {"type": "string"}),
            "annotations": mapping("Annotations of the pods.", {"type": "string"}),
            "finalizers": array("Finalizers of the pods.", {"type": "string"}),
            "name": text("Ignored: pods are named after the job."),
            "namespace": text("Ignored: pods are in the job's namespace."),
            "creationTimestamp": text("Ignored: many tools write it as null."),
        },
    )


def has_path(root: str, path: str) -> str:
    """A CEL expression: every step of the path from an object to a field is present."""
    steps = path.split(".")
    places = [".".join([root, *steps[: depth + 1]]) for depth in range(len(steps))]
    return " && ".join(f"has({place})" for place in places)


def ruled(schema: Schema, rules: Sequence[Schema]) -> Schema:
    """The schema with validation rules."""
    return {**schema, RULES: list(rules)} if rules else schema
