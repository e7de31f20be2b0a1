"""JSON patch (RFC 6902) and JSON merge patch (RFC 7386).

The operations of a JSON patch are applied all or not at all; one that does not fit is a PatchError
that names it. Inputs are never changed, and results share nothing with them.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Literal

import msgspec


class PatchError(ValueError):
    """A patch that is malformed or does not fit its target; nothing was patched."""


class _Operation(msgspec.Struct, frozen=True, rename={"source": "from"}):
    op: Literal["add", "remove", "replace", "move", "copy", "test"]
    path: str
    source: str | None = None
    value: Any = msgspec.UNSET


def json_patch(target: Any, operations: object) -> Any:
    """The target after all operations, in their order."""
    if not isinstance(operations, list):
        kind = type(operations).__name__
        raise PatchError(f"json patch: must be a list of operations, got {kind}; not applied")
    document = deepcopy(target)
    for number, each in enumerate(operations):
        where = f"operation {number}"
        try:
            operation = msgspec.convert(each, _Operation)
            where = f"operation {number} ({operation.op} {operation.path!r})"
            document = _applied(document, operation)
        except (PatchError, msgspec.ValidationError) as error:
            raise PatchError(f"json patch: {where}: {error}; patch not applied") from error
    return document


def is_same(one: Any, other: Any) -> bool:
    """Equality of JSON values, where true is not 1 as it is in Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _applied(document: Any, operation: _Operation) -> Any:
    path = _steps(operation.path)
    match operation.op:
        case "remove":
            return _removed(document, path)
        case "move":
            return _moved(document, path, source=_steps(_source(operation)))
        case "copy":
            return _added(document, path, deepcopy(_found(document, _steps(_source(operation)))))
    value = deepcopy(_value(operation))
    if operation.op == "add":
        return _added(document, path, value)
    current = _found(document, path)
    if operation.op == "replace":
        return _added(_removed(document, path), path, value) if path else value
    if not is_same(current, value):
        raise PatchError("the value differs")
    return document


def _source(operation: _Operation) -> str:
    if operation.source is None:
        raise PatchError("a 'from' is required")
    return operation.source


def _value(operation: _Operation) -> Any:
    if operation.value is msgspec.UNSET:
        raise PatchError("a 'value' is required")
    return operation.value


def _steps(pointer: str) -> list[str]:
    """The steps of a JSON pointer, from the whole document inwards."""
    if pointer and not pointer.startswith("/"):
        raise PatchError(f"a pointer is empty or starts with '/', got {pointer!r}")
    if re.search("~(?![01])", pointer):
        raise PatchError(f"in a pointer '~' is followed by 0 or 1, got {pointer!r}")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _found(document: Any, path: list[str]) -> Any:
    for step in path:
        document = document[_existing(document, step)]
    return document


def _existing(container: Any, step: str) -> str | int:
    """The key or index that a step means in a container that has it."""
    if isinstance(container, dict) and step in container:
        return step
    if isinstance(container, list):
        return _index(step, below=len(container))
    raise PatchError(f"{step!r} does not exist")


def _index(step: str, *, below: int) -> int:
    if re.fullmatch("0|[1-9][0-9]{0,9}", step) is None or int(step) >= below:
        raise PatchError(f"{step!r} is not an index of the list; use a whole number below {below}")
    return int(step)


def _added(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    *outer, last = path
    container = _found(document, outer)
    if isinstance(container, dict):
        container[last] = value
    elif isinstance(container, list):
        size = len(container)
        container.insert(size if last == "-" else _index(last, below=size + 1), value)
    else:
        raise PatchError(f"{last!r} cannot be added to what is neither an object nor a list")
    return document


def _removed(document: Any, path: list[str]) -> Any:
    if not path:
        raise PatchError("the whole document cannot be removed")
    *outer, last = path
    container = _found(document, outer)
    del container[_existing(container, last)]
    return document


def _moved(document: Any, path: list[str], *, source: list[str]) -> Any:
    value = _found(document, source)
    if path == source:
        return document
    if path[: len(source)] == source:
        raise PatchError("a value cannot be moved into itself")
    return _added(_removed(document, source), path, value)


def merge(target: Any, patch: Any) -> Any:
    """JSON merge patch (RFC 7386): objects are merged, null removes, all else replaces."""
    if not isinstance(patch, Mapping):
        return deepcopy(patch)
    base = target if isinstance(target, Mapping) else {}
    merged = {}
    for key in dict.fromkeys([*base, *patch]):
        if key not in patch:
            merged[key] = deepcopy(base[key])
        elif patch[key] is not None:
            merged[key] = merge(base.get(key), patch[key])
    return merged
