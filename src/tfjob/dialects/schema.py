"""Pieces of a structural schema: what an API server is told about one field of an API.

Each piece is a plain value with a sentence for `kubectl explain`, and perhaps hints for people
whose value is refused, which no definition carries. Nothing here knows which API the field
belongs to.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]

QUANTITY = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
_INT32 = 2**31 - 1
REMEDY = "x-tfjob-remedy"
"""What to do about a value that is refused here."""
ABSENT = "x-tfjob-absent"
"""Where a required field is absent: what is said, and what to do about it."""
_KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_RULES = "x-kubernetes-validations"


def hinted(schema: Schema, *, remedy: str = "", absent: tuple[str, str] | None = None) -> Schema:
    """The same piece with hints for people."""
    hints = {REMEDY: remedy, ABSENT: absent}
    return {**schema, **{key: hint for key, hint in hints.items() if hint}}


def published(schema: Any) -> Any:
    """The schema as an API server gets it: without hints."""
    if isinstance(schema, dict):
        return {key: published(each) for key, each in schema.items() if key not in {REMEDY, ABSENT}}
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
    """Amounts by resource name."""
    amount: Schema = {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": QUANTITY,
        "x-kubernetes-int-or-string": True,
    }
    return mapping(about, amount)


def mapping(
    about: str, values: Schema, *, at_most: int | None = None, rules: Sequence[Schema] = ()
) -> Schema:
    """An object whose keys the user chooses."""
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
    """An object whose fields are known; others are dropped unless it keeps them."""
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
    is_required: bool = False,
    is_forbidden: bool = False,
) -> Schema:
    """A condition in CEL and what is said where it does not hold.

    `says` is the message as an expression, for messages that name a value. A rule that looks at
    `oldSelf.hasValue()` holds on creation too; one that looks at a bare `oldSelf`, on updates only.
    """
    found: Schema = {"rule": expression}
    if message:
        found["message"] = message
    if message_expression:
        found["messageExpression"] = message_expression
    if at:
        found["fieldPath"] = at
    if is_required:
        found["reason"] = "FieldValueRequired"
    if is_forbidden:
        found["reason"] = "FieldValueForbidden"
    if "oldSelf.hasValue()" in expression:
        found["optionalOldSelf"] = True
    return found


def needs_text(name: str, message: str) -> Schema:
    """An object must have this field, and more than an empty text in it."""
    is_said = f"has(self.{name}) && self.{name} != ''"
    return rule(is_said, message, at=f".{name}", is_required=True)


def pod_metadata() -> Schema:
    """What a pod template may say of the metadata of its pods."""
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
    """In CEL: each step from an object down to a field is there."""
    steps = path.split(".")
    places = [".".join([root, *steps[: depth + 1]]) for depth in range(len(steps))]
    return " && ".join(f"has({place})" for place in places)


def ruled(schema: Schema, rules: Sequence[Schema]) -> Schema:
    """The same piece under rules of its own."""
    return {**schema, _RULES: list(rules)} if rules else schema
