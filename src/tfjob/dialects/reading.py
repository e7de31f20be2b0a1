"""Reading JSON of unknown shape: each question returns a usable value and notes what was wrong.

Null is the same as absent. The texts of the faults are those of an API server's schema check.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfjob.k8s import field
from tfjob.k8s.field import Fault


class Reader:
    """Collects the faults of one object, in the order in which they are found."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def note(self, fault: Fault) -> None:
        self.faults.append(fault)

    def mapping(self, value: object, path: str) -> Mapping[str, Any]:
        if value is None:
            return {}
        if isinstance(value, Mapping):
            return value
        self._wrong_type(path, value, "object")
        return {}

    def sequence(self, value: object, path: str) -> Sequence[Any]:
        if value is None:
            return ()
        if isinstance(value, list | tuple):
            return value
        self._wrong_type(path, value, "array")
        return ()

    def text(self, value: object, path: str) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        self._wrong_type(path, value, "string")
        return ""

    def boolean(self, value: object, path: str) -> bool:
        if value is None or isinstance(value, bool):
            return bool(value)
        self._wrong_type(path, value, "boolean")
        return False

    def integer(
        self, value: object, path: str, *, at_least: int = 0, at_most: int = 2**31 - 1
    ) -> int | None:
        """A whole number within bounds, or None when absent or refused."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            self._wrong_type(path, value, "integer")
            return None
        if value < at_least:
            rule = f"{path} in body should be greater than or equal to {at_least}"
            self.note(field.invalid(path, value, rule))
            return None
        if value > at_most:
            rule = f"{path} in body should be less than or equal to {at_most}"
            self.note(field.invalid(path, value, rule))
            return None
        return value

    def choice(self, value: object, path: str, allowed: Iterable[str]) -> str | None:
        """One of the allowed words, or None when absent or refused."""
        if value is None:
            return None
        choices = list(allowed)
        if isinstance(value, str) and value in choices:
            return value
        if isinstance(value, str):
            self.note(field.unsupported(path, value, choices))
        else:
            self._wrong_type(path, value, "string")
        return None

    def labels(self, value: object, path: str) -> Mapping[str, str]:
        """A map of text to text."""
        found = self.mapping(value, path)
        wrong = [key for key, each in found.items() if not isinstance(each, str)]
        for key in wrong:
            self._wrong_type(f"{path}.{key}", found[key], "string")
        return {} if wrong else found

    def _wrong_type(self, path: str, value: object, wanted: str) -> None:
        rule = f"{path} in body must be of type {wanted}"
        self.note(field.invalid(path, value, rule))
