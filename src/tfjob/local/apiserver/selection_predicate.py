"""The objects that a list or a watch selects: namespace, name, labels, fields.

Each kind has a fixed set of selectable fields; others are refused by name.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tfjob.local.apiserver import status
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.request import Request
from tfjob.local.apiserver.selector import (
    FieldSelector,
    LabelSelector,
    SelectorError,
    parse_fields,
    parse_labels,
)

Json = dict[str, Any]
Matches = Callable[[str, str, Json], bool]

_ALWAYS = ("metadata.name", "metadata.namespace")


def namespace_asked(request: Request) -> str:
    """The namespace of the request, or of its field selector."""
    if request.namespace:
        return request.namespace
    return _equals(request, "metadata.namespace")


def _equals(request: Request, field: str) -> str:
    text = request.query.get("fieldSelector", "")
    if field not in text:
        return ""
    for term in _fields(text, request.kind).terms:
        if term.path == field and not term.negated:
            return term.value
    return ""


def matcher(request: Request) -> Matches | None:
    """A predicate for the request's selectors; None if everything matches."""
    labels = _labels(request.query.get("labelSelector", ""))
    fields = _fields(request.query.get("fieldSelector", ""), request.kind)
    namespace, only_name, kind = request.namespace, request.name, request.kind
    if not (namespace or only_name or labels.requirements or fields.terms):
        return None

    def matches(at: str, name: str, obj: Json) -> bool:
        if (namespace and at != namespace) or (only_name and name != only_name):
            return False
        if not labels.matches(obj["metadata"].get("labels") or {}):
            return False
        return not fields.terms or fields.matches(lambda field: field_value(kind, obj, field))

    return matches


def has_selector(query: Mapping[str, str]) -> bool:
    return bool(query.get("labelSelector") or query.get("fieldSelector"))


def _labels(text: str) -> LabelSelector:
    try:
        return parse_labels(text)
    except SelectorError as error:
        raise status.bad_request(str(error)) from error


def _fields(text: str, kind: Kind) -> FieldSelector:
    try:
        selector = parse_fields(text)
    except SelectorError as error:
        raise status.bad_request(str(error)) from error
    for term in selector.terms:
        if term.path not in _ALWAYS and term.path not in kind.selectable:
            raise status.bad_request(f"field label not supported: {term.path}")
    return selector


def field_value(kind: Kind, obj: Json, field: str) -> str:
    """The field as text; empty if it is absent."""
    if kind.stored_as == "events":
        field = field.replace("regarding.", "involvedObject.", 1)
        field = field.replace("reportingController", "reportingComponent")
    if kind.resource == "events" and field == "source":
        source: Json = obj.get("source") or {}
        return str(source.get("component") or obj.get("reportingComponent") or "")
    value: object = obj
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "false" if field in {"spec.hostNetwork", "spec.unschedulable"} else ""
    return str(value)
