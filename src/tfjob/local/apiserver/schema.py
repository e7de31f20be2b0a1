"""A compiled structural schema: pruning, defaulting, and the tree that validation walks.

Compiled once from a CustomResourceDefinition; an unsupported keyword is refused then. Objects are
changed in place. Messages are those of kube-apiserver.
"""

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tfjob.k8s.cel_functions import regex
from tfjob.k8s.validation_rule import RuleError, ValidationRule

Json = dict[str, Any]

_KNOWN = frozenset(
    {
        "additionalProperties",
        "allOf",
        "anyOf",
        "default",
        "description",
        "enum",
        "example",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "externalDocs",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "not",
        "nullable",
        "oneOf",
        "pattern",
        "properties",
        "required",
        "title",
        "type",
        "uniqueItems",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    }
)
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean"})
_HEAD = ("apiVersion", "kind", "metadata")


class SchemaError(ValueError):
    """A schema that cannot be served; `path` is the place in the schema."""

    def __init__(self, path: str, value: object, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.value = value


def _rule(spec: Json, path: str) -> ValidationRule:
    try:
        return ValidationRule(spec)
    except RuleError as error:
        message = f"compilation failed: {error}"
        raise SchemaError(f"{path}.{error.keyword}", error.text, message) from error


class Node:
    """One level of a schema."""

    def __init__(self, spec: Json, path: str, *, is_root: bool = False) -> None:
        self.spec = spec
        self.is_root = is_root
        self._check_keywords(path)
        self.type = spec.get("type", "")
        self.is_nullable = bool(spec.get("nullable"))
        self.keeps_unknown = bool(spec.get("x-kubernetes-preserve-unknown-fields"))
        self.is_int_or_string = bool(spec.get("x-kubernetes-int-or-string"))
        self.is_embedded = is_root or bool(spec.get("x-kubernetes-embedded-resource"))
        self.properties = {
            name: Node(child, f"{path}.properties[{name}]")
            for name, child in (spec.get("properties") or {}).items()
            if not (self.is_embedded and name in _HEAD)
        }
        more = spec.get("additionalProperties")
        self.additional = (
            Node(more, f"{path}.additionalProperties") if isinstance(more, dict) else None
        )
        self.allows_more = more is True
        items = spec.get("items")
        self.items = Node(items, f"{path}.items") if isinstance(items, dict) else None
        self.required = tuple(spec.get("required") or ())
        self.pattern = self._pattern(path)
        rules = spec.get("x-kubernetes-validations") or ()
        at = f"{path}.x-kubernetes-validations"
        self.rules = tuple(_rule(rule, f"{at}[{i}]") for i, rule in enumerate(rules))
        self.has_default = "default" in spec

    def _check_keywords(self, path: str) -> None:
        for keyword in self.spec:
            if keyword not in _KNOWN:
                raise SchemaError(
                    f"{path}.{keyword}", keyword, "not supported by the local API server of tfjob"
                )
        type_ = self.spec.get("type", "")
        if type_ and type_ not in _TYPES:
            raise SchemaError(
                f"{path}.type",
                type_,
                'must be "object", "array", "string", "integer", "number" or "boolean"',
            )
        if (
            not type_
            and not self.spec.get("x-kubernetes-int-or-string")
            and not self.spec.get("x-kubernetes-preserve-unknown-fields")
        ):
            raise SchemaError(f"{path}.type", None, "must not be empty for specified object fields")

    def _pattern(self, path: str) -> re.Pattern[str] | None:
        text = self.spec.get("pattern")
        if text is None:
            return None
        try:
            return regex(text)
        except re.error as error:
            raise SchemaError(
                f"{path}.pattern", text, f"must be a valid regular expression: {error}"
            ) from error

    def child(self, key: str) -> "Node | None":
        return self.properties.get(key) or self.additional

    def walk(self) -> Iterator["Node"]:
        yield self
        below = [*self.properties.values(), self.additional, self.items]
        for node in below:
            if node is not None:
                yield from node.walk()


def prune(node: Node, value: object, *, path: str, unknown: list[str]) -> None:
    """Remove unspecified fields, in place."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if node.items is not None:
                prune(node.items, item, path=f"{path}[{index}]", unknown=unknown)
        return
    if not isinstance(value, dict):
        return
    for key in list(value):
        if node.is_embedded and key in _HEAD:
            continue
        at = f"{path}.{key}" if path else key
        child = node.child(key)
        if child is not None:
            prune(child, value[key], path=at, unknown=unknown)
        elif not (node.keeps_unknown or node.allows_more):
            unknown.append(at)
            del value[key]


def default(node: Node, value: object) -> None:
    """Set defaults, in place; a null that is not nullable counts as absent."""
    if isinstance(value, list):
        for item in value:
            if node.items is not None:
                default(node.items, item)
        return
    if not isinstance(value, dict):
        return
    _drop_nulls(node, value)
    for key, child in node.properties.items():
        if child.has_default and key not in value:
            value[key] = deepcopy(child.spec["default"])
    for key, item in value.items():
        below = node.child(key)
        if below is not None:
            default(below, item)


def _drop_nulls(node: Node, value: Json) -> None:
    for key in [k for k, v in value.items() if v is None]:
        child = node.child(key)
        if child is not None and not child.is_nullable:
            del value[key]
