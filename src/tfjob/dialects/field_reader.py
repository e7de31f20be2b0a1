"""Reads JSON of unknown shape: each method returns a usable value and collects faults.

Null is the same as absent, because an API server drops it before validation. The fault messages
are those of its schema validation. Nothing raises, whatever the JSON or YAML contains.
"""

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfjob.dialects.schema import QUANTITY
from tfjob.k8s import field
from tfjob.k8s.field import Fault, FaultKind
from tfjob.k8s.nesting import MAX_DEPTH, MAX_VALUES, is_bounded

ROOT = "manifest"
"""The path of a fault that concerns the whole object."""
_MAX_FAULTS = 100
_UNBOUNDED = f"must have no more than {MAX_DEPTH} levels and {MAX_VALUES} values"
_INT32 = 2**31 - 1
_JSON_INTEGERS = range(-(2**63), 2**64)


class Reader:
    """Collects the faults of one object in order."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def note(self, fault: Fault) -> None:
        self.faults.append(fault)

    def mapping(self, value: object, path: str) -> Mapping[str, Any]:
        if value is None:
            return {}
        if isinstance(value, Mapping):
            return value
        self.wrong_type(path, value, "object")
        return {}

    def sequence(self, value: object, path: str) -> Sequence[Any]:
        if value is None:
            return ()
        if isinstance(value, list | tuple):
            return value
        self.wrong_type(path, value, "array")
        return ()

    def text(self, value: object, path: str) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        self.wrong_type(path, value, "string")
        return ""

    def boolean(self, value: object, path: str) -> bool:
        if value is None or isinstance(value, bool):
            return bool(value)
        self.wrong_type(path, value, "boolean")
        return False

    def integer(
        self, value: object, path: str, *, at_least: int = 0, at_most: int = _INT32
    ) -> int | None:
        """An integer within bounds, or None if absent or invalid. `1.0` is an integer."""
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong_type(path, value, "integer")
            return None
        if value < at_least:
            rule = f"{path} in body should be greater than or equal to {at_least}"
            remedy = f"write {at_least} or more"
            self.note(field.invalid(path, value, rule, remedy=remedy))
            return None
        if value > at_most:
            rule = f"{path} in body should be less than or equal to {at_most}"
            self.note(field.invalid(path, value, rule, remedy=f"write {at_most} or less"))
            return None
        return value

    def choice(
        self, value: object, path: str, allowed: Iterable[str], *, remedy: str = ""
    ) -> str | None:
        """One of the allowed values, or None if absent or invalid."""
        if value is None:
            return None
        choices = list(allowed)
        if isinstance(value, str) and value in choices:
            return value
        if isinstance(value, str):
            remedy = remedy or _suggestion(value, choices)
            self.note(field.unsupported(path, value, choices, remedy=remedy))
        else:
            self.wrong_type(path, value, "string")
        return None

    def texts(self, value: object, path: str) -> None:
        """Check a list of strings."""
        for place, each in enumerate(self.sequence(value, path)):
            if not isinstance(each, str):
                self.wrong_type(f"{path}[{place}]", each, "string")

    def objects(self, value: object, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The path and content of each object of a list, in which null is a fault."""
        for place, each in enumerate(self.sequence(value, path)):
            if each is None:
                self.wrong_type(f"{path}[{place}]", each, "object")
            yield f"{path}[{place}]", self.mapping(each, f"{path}[{place}]")

    def labels(self, value: object, path: str) -> Mapping[str, str]:
        """A map of strings to strings, in which null is a fault."""
        found = self.mapping(value, path)
        wrong = [key for key, each in found.items() if not isinstance(each, str)]
        for key in wrong:
            self.wrong_type(f"{path}.{key}", found[key], "string")
        return {} if wrong else found

    def pod_metadata(self, value: object, path: str) -> None:
        """Check the metadata of a pod template."""
        found = self.mapping(value, path)
        self.labels(found.get("labels"), f"{path}.labels")
        self.labels(found.get("annotations"), f"{path}.annotations")
        self.texts(found.get("finalizers"), f"{path}.finalizers")

    def is_quantity(self, value: object, path: str) -> bool:
        """Whether the value is a resource quantity; anything else is a fault."""
        if isinstance(value, float) and value.is_integer():
            return True
        if isinstance(value, bool) or not isinstance(value, str | int):
            self.wrong_type(path, value, "integer,string")
            return False
        if isinstance(value, str) and re.fullmatch(QUANTITY, value) is None:
            rule = f"{path} in body should match '{QUANTITY}'"
            self.note(field.invalid(path, value, rule, remedy=_REMEDIES["integer,string"]))
            return False
        return True

    def json(self, document: object) -> None:
        """Check that a YAML document can be represented as JSON and is not too deep or large."""
        if not is_bounded(document):
            remedy = "look for aliases that repeat or contain each other"
            self.note(Fault(ROOT, FaultKind.INVALID, detail=_UNBOUNDED, remedy=remedy))
        elif not _is_plain(document):
            self._note_odd_values(document)

    def _note_odd_values(self, document: object) -> None:
        remaining: list[tuple[object, str]] = [(document, "")]
        while remaining and len(self.faults) < _MAX_FAULTS:
            value, path = remaining.pop()
            if isinstance(value, Mapping):
                self._check_keys(value, path or ROOT)
                remaining += [
                    (each, f"{path}.{key}" if path else str(key)) for key, each in value.items()
                ]
            elif isinstance(value, list | tuple):
                remaining += [(each, f"{path}[{index}]") for index, each in enumerate(value)]
            elif not _is_json(value):
                rule = "must be a value that JSON can carry"
                remedy = "write it as text, in quotes"
                self.note(field.invalid(path or ROOT, value, rule, remedy=remedy))

    def _check_keys(self, value: Mapping[Any, Any], path: str) -> None:
        for key in value:
            if not (isinstance(key, str) and _is_json(key)):
                remedy = "put the key in quotes"
                self.note(field.invalid(path, key, "keys must be strings", remedy=remedy))

    def wrong_type(self, path: str, value: object, wanted: str) -> None:
        rule = f'{path} in body must be of type {wanted}: "{_type_of(value)}"'
        self.note(field.invalid(path, value, rule, remedy=_REMEDIES[wanted]))


_REMEDIES: Mapping[str, str] = {
    "object": "write it as indented `name: value` lines, or remove the field",
    "array": "write it as lines that begin with `- `, or remove the field",
    "string": "write it as text, in quotes where it looks like something else",
    "boolean": "write true or false, without quotes",
    "integer": "write a whole number, without quotes",
    "integer,string": "write a number with a unit, such as 500m, 2 or 4Gi",
}


def _suggestion(value: str, choices: Sequence[str]) -> str:
    """Suggest the allowed value that was probably meant."""
    words = {choice.lower(): choice for choice in choices if choice}
    close = difflib.get_close_matches(value.lower(), words, n=1)
    if close:
        return f"did you mean {words[close[0]]}?"
    return "use one of the supported values, or leave the field out"


_TYPE_NAMES: Mapping[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
}


def _type_of(value: object) -> str:
    """The JSON type of a value, or Python's if JSON has none."""
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, list | tuple):
        return "array"
    return _TYPE_NAMES.get(type(value), type(value).__name__)


def _is_plain(document: object) -> bool:
    """Whether a document is pure JSON; a fast check before the search for the offending fields."""
    remaining: list[Any] = [document]
    while remaining:
        value = remaining.pop()
        if isinstance(value, Mapping):
            if not all(isinstance(key, str) and _is_json(key) for key in value):
                return False
            remaining.extend(value.values())
        elif isinstance(value, list | tuple):
            remaining.extend(value)
        elif not _is_json(value):
            return False
    return True


def _is_json(value: object) -> bool:
    """Whether JSON can represent a scalar."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return value in _JSON_INTEGERS
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str) and (value.isascii() or not _has_lone_surrogate(value))


def _has_lone_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)
