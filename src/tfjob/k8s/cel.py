"""Compiles and evaluates the CEL subset that validation rules of CRDs use.

Expressions are compiled once; a function or macro outside the subset is refused by name then. At
run time, a missing key or a wrong type is an EvaluationError, which `&&` and `||` absorb if the
other side decides. A Meter bounds the work that a value can cause.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tfjob.k8s.cel_functions import (
    FAILURES,
    FUNCTIONS,
    LISTS,
    METHODS,
    OBJECTS,
    EvaluationError,
    truth,
)
from tfjob.k8s.cel_syntax import (
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
METER = ""
"""The key of the Meter among the variables: no variable can have this name."""
_FIELD_ESCAPES = {"__dot__": ".", "__dash__": "-", "__slash__": "/", "__underscores__": "__"}
_MEASURED = (str, *LISTS)
_ITERABLE = (*LISTS, *OBJECTS)
_LENGTH_OF_A_STEP = 64
"""Functions read this many characters or elements in the time of one step."""


class BudgetError(Exception):
    """The evaluation took more steps than its meter allows."""


class Meter:
    """Counts steps: elements that macros visit, and the length of what functions read."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise BudgetError


_UNLIMITED = Meter(2**63)


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
            return _list_of(items, names)
        case Pairs(pairs):
            both = [(_compiled(k, names), _compiled(v, names)) for k, v in pairs]
            return lambda env: _map_of((key(env), value(env)) for key, value in both)
    raise CelError(f"{node!r} is not supported")


def _list_of(items: tuple[Node, ...], names: frozenset[str]) -> Program:
    constant = [item.value for item in items if isinstance(item, Literal)]
    if len(constant) == len(items):
        return lambda _env: constant
    parts = [_compiled(item, names) for item in items]
    return lambda env: [part(env) for part in parts]


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
    table = FUNCTIONS if target is None else METHODS
    found = table.get(name)
    if found is None or len(given) not in found[0]:
        shown = f".{name}" if target is not None else name
        raise CelError(f"{shown}() with {len(args)} arguments is not supported")
    parts = [_compiled(node, names) for node in given]
    if target is not None:
        parts[0] = _metered(parts[0])
    return _applied(name, found[1], parts)


def _applied(name: str, function: Callable[..., Any], parts: list[Program]) -> Program:
    if len(parts) == 1:
        only = parts[0]

        def run_one(env: Env) -> Any:
            try:
                return function(only(env))
            except FAILURES as error:
                raise EvaluationError(f"no such overload: {name} ({error})") from error

        return run_one
    if len(parts) == 2:
        left, right = parts

        def run(env: Env) -> Any:
            try:
                return function(left(env), right(env))
            except FAILURES as error:
                raise EvaluationError(f"no such overload: {name} ({error})") from error

        return run

    def run_all(env: Env) -> Any:
        try:
            return function(*[part(env) for part in parts])
        except FAILURES as error:
            raise EvaluationError(f"no such overload: {name} ({error})") from error

    return run_all


def _metered(target: Program) -> Program:
    """The target of a method, whose length counts: methods read all of it."""

    def run(env: Env) -> Any:
        value = target(env)
        if isinstance(value, _MEASURED) and len(value) > _LENGTH_OF_A_STEP:
            env.get(METER, _UNLIMITED).spend(len(value) // _LENGTH_OF_A_STEP)
        return value

    return run


# -- laziness ------------------------------------------------------------------------------------


def _both(left: Program, right: Program, *, decisive: bool) -> Program:
    """`&&` and `||`: either side may decide alone, even if the other fails."""

    def run(env: Env) -> bool:
        try:
            verdict: object = left(env)
            if verdict is decisive:
                return decisive
            truth(verdict)
        except EvaluationError:
            if truth(right(env)) is decisive:
                return decisive
            raise
        return truth(right(env))

    return run


def _choice(condition: Program, yes: Program, no: Program) -> Program:
    return lambda env: yes(env) if truth(condition(env)) else no(env)


_LAZY: dict[str, Callable[..., Program]] = {
    "&&": lambda left, right: _both(left, right, decisive=False),
    "||": lambda left, right: _both(left, right, decisive=True),
    "?:": _choice,
}
_MACROS = frozenset({"all", "exists", "exists_one", "existsOne", "filter", "map"})


def _macro(
    name: str, of: Program, variable: str, body: list[Node], names: frozenset[str]
) -> Program:
    if len(body) != (2 if name == "map" and len(body) == 2 else 1):
        raise CelError(f".{name}() takes a variable and one expression")
    inner = names | {variable}
    programs = [_compiled(node, inner) for node in body]
    test = programs[0]

    def scoped(env: Env) -> tuple[list[Any], dict[str, Any]]:
        """The elements, and the one scope that is to hold each of them in turn."""
        elements = _elements(of(env))
        env.get(METER, _UNLIMITED).spend(1 + len(elements))
        return elements, dict(env)

    if name in {"all", "exists"}:
        return _quantified(scoped, test, variable, decisive=name == "exists")
    keep = programs[-1] if name == "map" else None
    has_test = keep is None or len(programs) == 2
    chosen = _chosen(scoped, variable, test=test if has_test else None, keep=keep)
    if name in {"exists_one", "existsOne"}:
        return lambda env: len(chosen(env)) == 1
    return chosen


_Scoped = Callable[[Env], tuple[list[Any], dict[str, Any]]]


def _chosen(
    scoped: _Scoped, variable: str, *, test: Program | None, keep: Program | None
) -> Program:
    """The elements that pass the test, or what `keep` makes of them."""

    def run(env: Env) -> list[Any]:
        elements, scope = scoped(env)
        found = []
        for item in elements:
            scope[variable] = item
            if test is None or truth(test(scope)):
                found.append(item if keep is None else keep(scope))
        return found

    return run


def _quantified(scoped: _Scoped, test: Program, variable: str, *, decisive: bool) -> Program:
    """`all` and `exists`: one element may decide alone, even if the test fails for others."""

    def run(env: Env) -> bool:
        elements, scope = scoped(env)
        failure: EvaluationError | None = None
        for item in elements:
            scope[variable] = item
            try:
                if truth(test(scope)) is decisive:
                    return decisive
            except EvaluationError as error:
                failure = error
        if failure is not None:
            raise failure
        return not decisive

    return run


def _elements(value: object) -> list[Any]:
    if isinstance(value, _ITERABLE):
        return list(value)
    raise EvaluationError(
        f"expression of type '{type(value).__name__}' cannot be range of a comprehension"
    )


# -- values --------------------------------------------------------------------------------------


def _map_of(pairs: Iterator[tuple[Any, Any]]) -> dict[Any, Any]:
    try:
        return dict(pairs)
    except TypeError as error:
        raise EvaluationError(f"unsupported key type: {error}") from error


def _field(value: object, key: str) -> Any:
    if isinstance(value, OBJECTS) and key in value:
        return value[key]
    raise EvaluationError(f"no such key: {key}")


def _has(value: object, key: str) -> bool:
    return isinstance(value, OBJECTS) and key in value


def _item(value: object, key: Any) -> Any:
    if isinstance(value, LISTS) and isinstance(key, int):
        if 0 <= key < len(value):
            return value[key]
        raise EvaluationError(f"index out of bounds: {key}")
    if isinstance(value, OBJECTS):
        try:
            return value[key]
        except (LookupError, TypeError):
            pass
    raise EvaluationError(f"no such key: {key}")
