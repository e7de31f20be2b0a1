"""The operators and functions of the CEL subset, by name, with their numbers of arguments.

Each takes values and returns one. A value of the wrong type makes it raise one of FAILURES.
"""

import functools
import itertools
import re
import string
from collections.abc import Callable, Mapping
from typing import Any

_TO_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_TO_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
FAILURES = (
    TypeError,
    ValueError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    StopIteration,
    re.error,
)
"""What a function may raise for values that it does not take."""
OBJECTS = (dict, Mapping)
LISTS = (list, tuple)
Function = tuple[tuple[int, ...], Callable[..., Any]]


class EvaluationError(Exception):
    """A rule that cannot be evaluated for a value."""


class Optional:
    """CEL's optional value."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def has_value(self) -> bool:
        return self._value is not None

    def value(self) -> Any:
        if self._value is None:
            raise EvaluationError("optional.none() dereference")
        return self._value

    def or_value(self, other: Any) -> Any:
        return other if self._value is None else self._value


def truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(f"no such overload: {type(value).__name__} is not a bool")
    return value


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, str) or one is None:
        return bool(one == other)
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    if isinstance(one, LISTS) and isinstance(other, LISTS):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, OBJECTS) and isinstance(other, OBJECTS):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    return bool(one == other)


def _contained(item: Any, container: Any) -> bool:
    if not isinstance(container, (*LISTS, *OBJECTS)):
        raise TypeError(f"in {type(container).__name__}")
    if isinstance(item, str):
        return item in container
    return any(_equal(item, each) for each in container)


def _sum(one: Any, other: Any) -> Any:
    if (
        isinstance(one, bool)
        or isinstance(other, bool)
        or isinstance(one, str) is not isinstance(other, str)
    ):
        raise TypeError(f"{type(one).__name__} + {type(other).__name__}")
    return one + other


def _product(one: Any, other: Any) -> Any:
    if isinstance(one, str | list) or isinstance(other, str | list):
        raise TypeError(f"{type(one).__name__} * {type(other).__name__}")
    return one * other


def _quotient(one: Any, other: Any) -> Any:
    if isinstance(one, float):
        return one / other
    whole = abs(one) // abs(other)
    return whole if (one < 0) == (other < 0) else -whole


def _remainder(one: int, other: int) -> int:
    return one - other * int(_quotient(one, other))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"string({type(value).__name__})")


def _format(pattern: str, values: list[Any]) -> str:
    rest = iter(values)

    def shown(found: re.Match[str]) -> str:
        return "%" if found[0] == "%%" else _text(next(rest))

    return re.sub(r"%[sdf%]", shown, pattern)


@functools.lru_cache(maxsize=256)
def regex(pattern: str) -> re.Pattern[str]:
    """A compiled pattern. `$` is the very end, as in Go; in Python a newline may follow it."""
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


def _find(text: str, pattern: str) -> str:
    found = regex(pattern).search(text)
    return found[0] if found else ""


def _lower_ascii(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_TO_LOWER)


def _upper_ascii(text: str) -> str:
    return text.upper() if text.isascii() else text.translate(_TO_UPPER)


def _sorted(values: list[Any]) -> bool:
    return all(one <= other for one, other in itertools.pairwise(values))


FUNCTIONS: Mapping[str, Function] = {
    "==": ((2,), _equal),
    "!=": ((2,), lambda one, other: not _equal(one, other)),
    "<": ((2,), lambda one, other: one < other),
    "<=": ((2,), lambda one, other: one <= other),
    ">": ((2,), lambda one, other: one > other),
    ">=": ((2,), lambda one, other: one >= other),
    "in": ((2,), _contained),
    "+": ((2,), _sum),
    "-": ((2,), lambda one, other: one - other),
    "*": ((2,), _product),
    "/": ((2,), _quotient),
    "%": ((2,), _remainder),
    "!_": ((1,), lambda value: not truth(value)),
    "-_": ((1,), lambda value: -value),
    "size": ((1,), len),
    "string": ((1,), _text),
    "int": ((1,), int),
    "uint": ((1,), int),
    "double": ((1,), float),
    "dyn": ((1,), lambda value: value),
}
METHODS: Mapping[str, Function] = {
    "size": ((1,), len),
    "matches": ((2,), lambda text, pattern: regex(pattern).search(text) is not None),
    "startsWith": ((2,), str.startswith),
    "endsWith": ((2,), str.endswith),
    "contains": ((2,), lambda text, part: part in text),
    "lowerAscii": ((1,), _lower_ascii),
    "upperAscii": ((1,), _upper_ascii),
    "trim": ((1,), str.strip),
    "replace": ((3, 4), str.replace),
    "split": ((2,), str.split),
    "join": ((1, 2), lambda items, by="": by.join(items)),
    "indexOf": (
        (2,),
        lambda value, part: value.find(part) if isinstance(value, str) else value.index(part),
    ),
    "lastIndexOf": ((2,), lambda text, part: text.rfind(part)),
    "substring": ((2, 3), lambda text, start, end=None: text[start:end]),
    "find": ((2,), _find),
    "findAll": ((2,), lambda text, pattern: [m[0] for m in regex(pattern).finditer(text)]),
    "format": ((2,), _format),
    "hasValue": ((1,), Optional.has_value),
    "value": ((1,), Optional.value),
    "orValue": ((2,), Optional.or_value),
    "isSorted": ((1,), _sorted),
    "sum": ((1,), sum),
    "min": ((1,), min),
    "max": ((1,), max),
}
