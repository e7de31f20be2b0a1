"""The simple JSONPath of printer columns and scale paths.

Supported: `.spec.a`, `['a-b']`, `[0]`, `[-1:]`, `[*]` and `[?(@.type=='x')]`. A path is parsed, and
refused, when it is given; evaluating one never raises.
"""

import json
import re
from functools import lru_cache
from typing import Any

_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z0-9_$/\\.-]*?)(?=[.\[]|$)"""
    r"""|\[(?P<quote>['"])(?P<key>.*?)(?P=quote)\]"""
    r"""|\[(?P<index>-?\d+|\*)\]"""
    r"""|\[(?P<start>-?\d*):(?P<end>-?\d*)\]"""
    r"""|\[\?\(@\.(?P<field>[\w.-]+)\s*==\s*(?P<mark>['"])(?P<wanted>.*?)(?P=mark)\s*\)\]"""
)


class PathError(ValueError):
    """A path outside the supported subset."""


class Filter(str):
    """Keeps elements whose field equals a string: `field==text`."""

    __slots__ = ()


class Slice(str):
    """Keeps a range of elements: `start:end`, either may be empty."""

    __slots__ = ()


Step = str | int | Filter | Slice


@lru_cache(maxsize=512)
def parse(path: str) -> tuple[Step, ...]:
    """Parse a path, with or without braces."""
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    if not text.startswith((".", "[")):
        text = "." + text
    steps: list[Step] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None or found.end() == at:
            raise PathError(
                f"JSONPath {path!r}: cannot read {text[at:]!r}; "
                "allowed are .name, ['name'], [0], [-1:], [*]"
            )
        steps += _step(found)
        at = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> list[Step]:
    if found["key"] is not None:
        return [found["key"]]
    if found["index"] is not None:
        return ["*" if found["index"] == "*" else int(found["index"])]
    if found["start"] is not None:
        return [Slice(f"{found['start']}:{found['end']}")]
    if found["field"] is not None:
        return [Filter(f"{found['field']}=={found['wanted']}")]
    return [found["name"].replace("\\", "")] if found["name"] else []


def find(value: object, path: str) -> list[Any]:
    """All values that the path matches."""
    values: list[Any] = [value]
    for step in parse(path):
        values = [item for each in values for item in _follow(each, step)]
    return values


def _follow(value: object, step: Step) -> list[Any]:
    if isinstance(step, (Filter, Slice, int)) or (step == "*" and isinstance(value, list)):
        return _elements(value, step) if isinstance(value, list) else []
    if not isinstance(value, dict):
        return []
    if step == "*":
        return list(value.values())
    return [value[step]] if step in value else []


def _elements(value: list[Any], step: Step) -> list[Any]:
    if isinstance(step, Filter):
        field, _, wanted = step.partition("==")
        return [item for item in value if _text_of(item, field) == wanted]
    if isinstance(step, Slice):
        start, end = (int(part) if part else None for part in step.split(":"))
        return value[start:end]
    if isinstance(step, int):
        return [value[step]] if -len(value) <= step < len(value) else []
    return value


def _text_of(item: object, field: str) -> str | None:
    """The value of a field, which may be deeper, as a filter compares it."""
    for name in field.split("."):
        if not isinstance(item, dict) or name not in item:
            return None
        item = item[name]
    return item if isinstance(item, str) else json.dumps(item)
