"""Evaluates the CEL subset that validation rules of CRDs use.

Expressions are compiled once; a function or macro outside the subset is refused by name then. At
run time, a missing key or a wrong type is an EvaluationError, which `&&` and `||` absorb if the
other side decides.
"""

import itertools
import re
import string
from collections.abc import Callable, Mapping
from typing import Any

from tfjob.local.apiserver.cel_syntax import (
    Call,
    CelError,
    Index,
    Items,
    Literal,
    Name,
    Node,
    Pairs,
    Select,
    parse,
)

Env = Mapping[str, Any]
Program = Callable[[Env], Any]
_TO_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_TO_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_FIELD_ESCAPES = {"__dot__": ".", "__dash__": "-", "__slash__": "/", "__underscores__": "__"}


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


def compile_rule(text: str, *, variables: frozenset[str]) -> Program:
    """Compile an expression to a function of its variables."""
    return _compiled(parse(text), variables)


def mentions(text: str, name: str) -> bool:
    """Whether an expression uses a variable."""
    return re.search(rf"\b{name}\b", text) is not None


def _compiled(node: Node, names: frozenset[str]) -> Program:
    if isinstance(node, Call):
        return _compiled_call(node, names)
    return _compiled_value(node, names)


def _compiled_value(node: Node, names: frozenset[str]) -> Program:
    match node:
        case Literal(value):
            return lambda _env: value
        case Name(name):
            if name not in names:
                raise CelError(f"undeclared reference to '{name}'")
            return lambda env: env[name]
        case Select(target, field):
            of, key = _compiled(target, names), _unescaped(field)
            return lambda env: _field(of(env), key)
        case Index(target, key):
            of, by = _compiled(target, names), _compiled(key, names)
            return lambda env: _item(of(env), by(env))
        case Items(items):
            parts = [_compiled(item, names) for item in items]
            return lambda env: [part(env) for part in parts]
        case Pairs(pairs):
            both = [(_compiled(k, names), _compiled(v, names)) for k, v in pairs]
            return lambda env: {key(env): value(env) for key, value in both}
    raise CelError(f"{node!r} is not supported by the local API server of tfjob")


def _compiled_call(node: Call, names: frozenset[str]) -> Program:
    match node:
        case Call(name, None, args) if name in _LAZY:
            return _LAZY[name](*(_compiled(arg, names) for arg in args))
        case Call("has", None, (Select(target, field),)):
            of, key = _compiled(target, names), _unescaped(field)
            return lambda env: _has(of(env), key)
        case Call(name, target, (Name(variable), *body)) if target is not None and name in _MACROS:
            return _macro(name, _compiled(target, names), variable, list(body), names)
    return _call(node, names)


def _unescaped(field: str) -> str:
    for escape, plain in _FIELD_ESCAPES.items():
        field = field.replace(escape, plain)
    keyword = re.fullmatch(r"__(\w+?)__", field)
    return keyword[1] if keyword else field


def _call(node: Call, names: frozenset[str]) -> Program:
    name, target, args = node
    given = ([target] if target is not None else []) + list(args)
    table = _FUNCTIONS if target is None else _METHODS
    found = table.get(name)
    if found is None or len(given) not in found[0]:
        shown = f".{name}" if target is not None else name
        raise CelError(
            f"{shown}() with {len(args)} arguments "
            "is not supported by the local API server of tfjob"
        )
    parts = [_compiled(node, names) for node in given]
    function = found[1]

    def run(env: Env) -> Any:
        try:
            return function(*(part(env) for part in parts))
        except (
            TypeError,
            ValueError,
            ArithmeticError,
            AttributeError,
            LookupError,
            re.error,
        ) as error:
            raise EvaluationError(f"no such overload: {name} ({error})") from error

    return run


# -- laziness ------------------------------------------------------------------------------------


def _both(left: Program, right: Program, *, decisive: bool) -> Program:
    """`&&` and `||`: either side may decide alone, even if the other fails."""

    def run(env: Env) -> bool:
        try:
            if _truth(left(env)) is decisive:
                return decisive
        except EvaluationError:
            if _truth(right(env)) is decisive:
                return decisive
            raise
        return _truth(right(env))

    return run


def _choice(condition: Program, yes: Program, no: Program) -> Program:
    return lambda env: yes(env) if _truth(condition(env)) else no(env)


_LAZY: dict[str, Callable[..., Program]] = {
    "&&": lambda left, right: _both(left, right, decisive=False),
    "||": lambda left, right: _both(left, right, decisive=True),
    "?:": _choice,
}
_MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "filter", "map"})


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise EvaluationError(f"no such overload: {type(value).__name__} is not a bool")
    return value


def _macro(
    name: str, of: Program, variable: str, body: list[Node], names: frozenset[str]
) -> Program:
    if len(body) != (2 if name == "map" and len(body) == 2 else 1):
        raise CelError(f".{name}() takes a variable and one expression")
    inner = names | {variable}
    programs = [_compiled(node, inner) for node in body]
    test = programs[0]

    def each(env: Env) -> list[tuple[Any, Env]]:
        return [(item, {**env, variable: item}) for item in _elements(of(env))]

    if name == "map":
        keep = programs[-1]
        if len(programs) == 1:
            return lambda env: [keep(scope) for _, scope in each(env)]
        return lambda env: [keep(scope) for _, scope in each(env) if _truth(test(scope))]
    if name == "filter":
        return lambda env: [item for item, scope in each(env) if _truth(test(scope))]
    if name in {"exists_one", "existsOne"}:
        return lambda env: sum(_truth(test(scope)) for _, scope in each(env)) == 1
    return lambda env: _quantified(
        [scope for _, scope in each(env)], test, decisive=name == "exists"
    )


def _quantified(scopes: list[Env], test: Program, *, decisive: bool) -> bool:
    failure: EvaluationError | None = None
    for scope in scopes:
        try:
            if _truth(test(scope)) is decisive:
                return decisive
        except EvaluationError as error:
            failure = error
    if failure is not None:
        raise failure
    return not decisive


def _elements(value: object) -> list[Any]:
    if isinstance(value, (list, dict)):
        return list(value)
    raise EvaluationError(
        f"expression of type '{type(value).__name__}' cannot be range of a comprehension"
    )


# -- values --------------------------------------------------------------------------------------


def _field(value: object, key: str) -> Any:
    if isinstance(value, dict) and key in value:
        return value[key]
    raise EvaluationError(f"no such key: {key}")


def _has(value: object, key: str) -> bool:
    return isinstance(value, dict) and key in value


def _item(value: object, key: Any) -> Any:
    if isinstance(value, dict) and key in value:
        return value[key]
    if isinstance(value, list) and isinstance(key, int):
        if 0 <= key < len(value):
            return value[key]
        raise EvaluationError(f"index out of bounds: {key}")
    raise EvaluationError(f"no such key: {key}")


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    return bool(one == other)


def _contained(item: Any, container: Any) -> bool:
    return any(_equal(item, each) for each in container)


def _sum(one: Any, other: Any) -> Any:
    if (
        isinstance(one, bool)
        or isinstance(other, bool)
        or isinstance(one, str) is not isinstance(other, str)
    ):
        raise TypeError(f"{type(one).__name__} + {type(other).__name__}")
    return one + other


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


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _sorted(values: list[Any]) -> bool:
    return all(one <= other for one, other in itertools.pairwise(values))


Function = tuple[tuple[int, ...], Callable[..., Any]]

_FUNCTIONS: dict[str, Function] = {
    "==": ((2,), _equal),
    "!=": ((2,), lambda one, other: not _equal(one, other)),
    "<": ((2,), lambda one, other: one < other),
    "<=": ((2,), lambda one, other: one <= other),
    ">": ((2,), lambda one, other: one > other),
    ">=": ((2,), lambda one, other: one >= other),
    "in": ((2,), _contained),
    "+": ((2,), _sum),
    "-": ((2,), lambda one, other: one - other),
    "*": ((2,), lambda one, other: one * other),
    "/": ((2,), _quotient),
    "%": ((2,), _remainder),
    "!_": ((1,), lambda value: not _truth(value)),
    "-_": ((1,), lambda value: -value),
    "size": ((1,), len),
    "string": ((1,), _text),
    "int": ((1,), int),
    "uint": ((1,), int),
    "double": ((1,), float),
    "dyn": ((1,), lambda value: value),
}
_METHODS: dict[str, Function] = {
    "size": ((1,), len),
    "matches": ((2,), lambda text, pattern: re.search(pattern, text) is not None),
    "startsWith": ((2,), str.startswith),
    "endsWith": ((2,), str.endswith),
    "contains": ((2,), lambda text, part: part in text),
    "lowerAscii": ((1,), lambda text: text.translate(_TO_LOWER)),
    "upperAscii": ((1,), lambda text: text.translate(_TO_UPPER)),
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
    "findAll": ((2,), lambda text, pattern: [m[0] for m in re.finditer(pattern, text)]),
    "format": ((2,), _format),
    "hasValue": ((1,), Optional.has_value),
    "value": ((1,), Optional.value),
    "orValue": ((2,), Optional.or_value),
    "isSorted": ((1,), _sorted),
    "sum": ((1,), sum),
    "min": ((1,), min),
    "max": ((1,), max),
}
