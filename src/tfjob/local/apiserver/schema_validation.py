"""Validates custom objects against their compiled schema, with kube-apiserver's messages.

All faults are returned; none raises. As in kube-apiserver, `x-kubernetes-validations` are evaluated
only where the plain schema holds.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tfjob.k8s.cel import BudgetError, Meter
from tfjob.k8s.cel_functions import EvaluationError
from tfjob.k8s.validation_rule import OUT_OF_BUDGET, ValidationRule
from tfjob.local.apiserver.schema import Node
from tfjob.local.apiserver.status import FieldError

Json = dict[str, Any]
_INT32 = range(-(2**31), 2**31)
_MAX_STEPS = 1_000_000
"""Steps of CEL evaluation per object: more than any rule needs that a kube-apiserver accepts."""
_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_UNCHECKED = (
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_PREFIXES = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}


def check(
    node: Node, value: Json, *, old: Json | None = None, more: Iterable[FieldError] = ()
) -> list[FieldError]:
    """All faults of an object; `old` is its previous state, for transition rules."""
    found = [*_plain(node, value, ""), *more]
    return found + _after(found, node, value, old)


def check_status(
    node: Node, value: Json, *, old: Json, more: Iterable[FieldError] = ()
) -> list[FieldError]:
    """Faults of a status update; the rest of the object was validated before."""
    status = node.properties.get("status")
    plain = (
        list(_plain(status, value.get("status"), "status")) if status and "status" in value else []
    )
    found = [*(_relative(finding) for finding in plain), *more]
    late = _after(found, node, value, old)
    return found + [finding for finding in late if finding.path.startswith(("status", "<nil>"))]


def _relative(finding: FieldError) -> FieldError:
    """Inside messages of a status update, paths are relative to the status."""
    message = finding.message.replace(": status.", ": ", 1)
    return FieldError(finding.path, finding.cause, message)


def _after(found: list[FieldError], node: Node, value: Json, old: Json | None) -> list[FieldError]:
    if any(finding.cause in _BLOCKING for finding in found):
        has_rules = any(each.rules for each in node.walk())
        return [FieldError("<nil>", "FieldValueInvalid", _UNCHECKED)] if has_rules else []
    return list(_all_ruled(node, value, old))


_GO_TYPES: dict[type, str] = {
    str: "string",
    bool: "bool",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def scale_faults(value: Json, paths: Iterable[str]) -> Iterator[FieldError]:
    """Faults of the fields that the scale subresource reads."""
    for path in paths:
        place: object = value
        for step in path.strip(".").split("."):
            if not isinstance(place, dict):
                yield _no_access(path, place, "map[string]interface{}")
                break
            place = place.get(step)
            if place is None:
                break
        else:
            if isinstance(place, bool) or not isinstance(place, int):
                yield _no_access(path, place, "int64")
            elif place < 0:
                message = f"Invalid value: {place}: should be a non-negative integer"
                yield FieldError(path, "FieldValueInvalid", message)
            elif place > _INT32[-1]:
                message = f"Invalid value: {place}: should be less than or equal to {_INT32[-1]}"
                yield FieldError(path, "FieldValueInvalid", message)


def _no_access(path: str, value: object, wanted: str) -> FieldError:
    shown = "[]" if value == [] else value
    kind = _GO_TYPES.get(type(value), "int64")
    text = (
        f"Invalid value: 0: {path} accessor error: {shown} is of the type {kind}, expected {wanted}"
    )
    return FieldError(path, "FieldValueInvalid", text)


# -- schema --------------------------------------------------------------------------------------


def _plain(node: Node, value: object, path: str) -> Iterator[FieldError]:
    if value is None and node.is_nullable:
        return
    wrong = _type_fault(node, value, path)
    if wrong is not None:
        yield wrong
        if isinstance(value, float) and "format" in node.spec:
            yield _out_of_range(node, path)
        return
    yield from _enum(node, value, path)
    if isinstance(value, str):
        yield from _text(node, value, path)
    elif isinstance(value, bool):
        pass
    elif isinstance(value, (int, float)):
        yield from _number(node, value, path)
    elif isinstance(value, list):
        yield from _list(node, value, path)
    elif isinstance(value, dict):
        yield from _object(node, value, path)
    yield from _combined(node, value, path)


def _type_fault(node: Node, value: object, path: str) -> FieldError | None:
    names = _type_names(value)
    if node.is_int_or_string:
        wanted, is_right = "integer,string", bool({"integer", "string"} & names)
    else:
        wanted, is_right = node.type, not node.type or node.type in names
    if is_right:
        return None
    shown = next(iter(names - {"number"}), "number")
    if isinstance(value, float) and "format" in node.spec:
        shown, wanted = "float64", node.spec["format"]
    message = f'Invalid value: "{shown}": {path} in body must be of type {wanted}: "{shown}"'
    return FieldError(path or "<nil>", "FieldValueTypeInvalid", message)


def _type_names(value: object) -> set[str]:
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int):
        return {"integer", "number"}
    if isinstance(value, float):
        return {"integer", "number"} if value.is_integer() else {"number"}
    names: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return {names.get(type(value), "null")}


def _enum(node: Node, value: object, path: str) -> Iterator[FieldError]:
    allowed = node.spec.get("enum")
    if allowed is not None and value not in allowed:
        shown = ", ".join(_quoted(item) for item in allowed)
        message = f"Unsupported value: {_quoted(value)}: supported values: {shown}"
        yield FieldError(path, "FieldValueNotSupported", message)


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _bad(path: str, value: object, rule: str) -> FieldError:
    return FieldError(
        path, "FieldValueInvalid", f"Invalid value: {_quoted(value)}: {path} in body {rule}"
    )


def _text(node: Node, value: str, path: str) -> Iterator[FieldError]:
    spec = node.spec
    if len(value) < spec.get("minLength", 0):
        yield _bad(path, value, f"should be at least {spec['minLength']} chars long")
    if "maxLength" in spec and len(value) > spec["maxLength"]:
        message = f"Too long: may not be more than {spec['maxLength']} bytes"
        yield FieldError(path, "FieldValueTooLong", message)
    if node.pattern is not None and node.pattern.search(value) is None:
        yield _bad(path, value, f"should match '{spec['pattern']}'")


def _out_of_range(node: Node, path: str) -> FieldError:
    text = f"Checked value must be of type integer with format {node.spec['format']} in {path}"
    return FieldError("<nil>", "FieldValueInvalid", f'Invalid value: "": {text}')


def _number(node: Node, value: float, path: str) -> Iterator[FieldError]:
    spec = node.spec
    if spec.get("format") == "int32" and value not in _INT32:
        yield _out_of_range(node, path)
    if "minimum" in spec:
        is_open = bool(spec.get("exclusiveMinimum"))
        if value < spec["minimum"] or (is_open and value == spec["minimum"]):
            than = "greater than" if is_open else "greater than or equal to"
            yield _bad(path, value, f"should be {than} {spec['minimum']}")
    if "maximum" in spec:
        is_open = bool(spec.get("exclusiveMaximum"))
        if value > spec["maximum"] or (is_open and value == spec["maximum"]):
            than = "less than" if is_open else "less than or equal to"
            yield _bad(path, value, f"should be {than} {spec['maximum']}")
    if spec.get("multipleOf") and value % spec["multipleOf"]:
        yield _bad(path, value, f"should be a multiple of {spec['multipleOf']}")


def _list(node: Node, value: list[Any], path: str) -> Iterator[FieldError]:
    spec = node.spec
    if len(value) < spec.get("minItems", 0):
        yield _bad(path, len(value), f"should have at least {spec['minItems']} items")
    if "maxItems" in spec and len(value) > spec["maxItems"]:
        message = f"Too many: {len(value)}: must have at most {spec['maxItems']} items"
        yield FieldError(path, "FieldValueTooMany", message)
    yield from _duplicates(node, value, path)
    if node.items is not None:
        for index, item in enumerate(value):
            yield from _plain(node.items, item, f"{path}[{index}]")


def _duplicates(node: Node, value: list[Any], path: str) -> Iterator[FieldError]:
    kind = node.spec.get("x-kubernetes-list-type")
    keys = node.spec.get("x-kubernetes-list-map-keys") or ()
    if kind not in {"set", "map"}:
        return
    seen: list[Any] = []
    for index, item in enumerate(value):
        mark = item
        if kind == "map":
            mark = {key: item.get(key) for key in keys if isinstance(item, dict)}
        if mark in seen:
            message = f"Duplicate value: {_quoted(mark)}"
            yield FieldError(f"{path}[{index}]", "FieldValueDuplicate", message)
        seen.append(mark)


def _object(node: Node, value: Json, path: str) -> Iterator[FieldError]:
    spec = node.spec
    if len(value) < spec.get("minProperties", 0):
        yield _bad(path, len(value), f"should have at least {spec['minProperties']} properties")
    if "maxProperties" in spec and len(value) > spec["maxProperties"]:
        message = f"Too many: {len(value)}: must have at most {spec['maxProperties']} items"
        yield FieldError(path, "FieldValueTooMany", message)
    for name in node.required:
        if name not in value and not (
            node.is_embedded and name in {"apiVersion", "kind", "metadata"}
        ):
            yield FieldError(_below(path, name), "FieldValueRequired", "Required value")
    for key, item in value.items():
        child = node.child(key)
        if child is not None:
            yield from _plain(child, item, _below(path, key))


def _below(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _combined(node: Node, value: object, path: str) -> Iterator[FieldError]:
    """allOf, anyOf, oneOf, not: only value validations are allowed in them."""
    spec = node.spec
    for part in spec.get("allOf") or ():
        yield from _partial(part, value, path)
    several = spec.get("anyOf")
    if (
        several
        and not node.is_int_or_string
        and all(list(_partial(p, value, path)) for p in several)
    ):
        yield _bad(path, value, "must validate at least one schema (anyOf)")
    one = spec.get("oneOf")
    if one and sum(not list(_partial(p, value, path)) for p in one) != 1:
        yield _bad(path, value, "must validate one and only one schema (oneOf)")
    if "not" in spec and not list(_partial(spec["not"], value, path)):
        yield _bad(path, value, "must not validate the schema (not)")


def _partial(spec: Json, value: object, path: str) -> list[FieldError]:
    loose = {"x-kubernetes-preserve-unknown-fields": True, **_loosened(spec)}
    return list(_plain(Node(loose, path), value, path))


def _loosened(spec: Json) -> Json:
    keep = "x-kubernetes-preserve-unknown-fields"
    loose = dict(spec)
    if "properties" in spec:
        loose["properties"] = {
            k: {keep: True, **_loosened(v)} for k, v in spec["properties"].items()
        }
    if isinstance(spec.get("items"), dict):
        loose["items"] = {keep: True, **_loosened(spec["items"])}
    return loose


# -- rules ---------------------------------------------------------------------------------------


class _Place(NamedTuple):
    """Where the walk is: the path, the previous state of the value, and the budget of the walk."""

    path: str
    old: object
    meter: Meter


def _all_ruled(node: Node, value: Json, old: Json | None) -> Iterator[FieldError]:
    """The violated rules of an object, up to the one that exceeds the budget."""
    try:
        yield from _ruled(node, value, _Place("", old, Meter(_MAX_STEPS)))
    except BudgetError:
        yield FieldError("<nil>", "FieldValueInvalid", f'Invalid value: "": {OUT_OF_BUDGET}')


def _ruled(node: Node, value: object, at: _Place) -> Iterator[FieldError]:
    if value is None:
        return
    for rule in node.rules:
        finding = _judged(rule, value, at)
        if finding is not None:
            yield finding
    if isinstance(value, dict):
        for key, item in value.items():
            child = node.child(key)
            if child is not None:
                before = at.old.get(key) if isinstance(at.old, dict) else None
                path = _below(at.path, key) if key in node.properties else f"{at.path}[{key}]"
                yield from _ruled(child, item, _Place(path, before, at.meter))
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            before = _same_element(node, item, at.old)
            yield from _ruled(node.items, item, _Place(f"{at.path}[{index}]", before, at.meter))


def _same_element(node: Node, item: object, old: object) -> object:
    """The previous state of a list element, if elements have keys."""
    keys = node.spec.get("x-kubernetes-list-map-keys") or ()
    if not keys or not isinstance(old, list) or not isinstance(item, dict):
        return None
    mark = [item.get(key) for key in keys]
    for before in old:
        if isinstance(before, dict) and [before.get(key) for key in keys] == mark:
            return before
    return None


def _judged(rule: ValidationRule, value: object, at: _Place) -> FieldError | None:
    if not rule.applies(at.old):
        return None
    env = rule.env(value, old=at.old, meter=at.meter)
    try:
        if rule.holds(env):
            return None
        message = rule.message_for(env)
    except EvaluationError as error:
        message = f"rule evaluation error: {error}"
    path = f"{at.path}{rule.field_path}".lstrip(".") or "<nil>"
    prefix = _PREFIXES.get(rule.reason, "Invalid value")
    return FieldError(path, rule.reason, f"{prefix}: {message}")
