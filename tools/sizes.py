"""Finds files of more than 400 lines and functions of more than 60.

Exceptions are listed in ALLOWED with their reasons; an entry that is no longer needed is a fault.
Docstrings and decorators do not count as part of a function.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

FILE_LINES = 400
FUNCTION_LINES = 60

# "path" or "path::function" -> the reason for the exception.
ALLOWED: Mapping[str, str] = {}


class Long(NamedTuple):
    """A file or function that exceeds its limit."""

    place: str
    lines: int
    limit: int


def long_places(root: Path, folders: Iterable[str]) -> Iterator[Long]:
    """All files and functions below the directories that exceed their limits."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            yield from _long_in(path.relative_to(root).as_posix(), path.read_text("utf-8"))


def _long_in(name: str, source: str) -> Iterator[Long]:
    lines = len(source.splitlines())
    if lines > FILE_LINES:
        yield Long(name, lines, FILE_LINES)
    for node in ast.walk(ast.parse(source, name)):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (length := _length(node)) > FUNCTION_LINES
        ):
            yield Long(f"{name}::{node.name}", length, FUNCTION_LINES)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    has_docstring = ast.get_docstring(node, clean=False) is not None
    docstring = (first.end_lineno or first.lineno) - first.lineno + 1 if has_docstring else 0
    return (node.end_lineno or node.lineno) - node.lineno + 1 - docstring


def faults(found: Iterable[Long], allowed: Mapping[str, str]) -> list[str]:
    """Excesses without an exception, and exceptions that are not needed."""
    places = {each.place: each for each in found}
    too_long = [
        f"{each.place}: {each.lines} lines, at most {each.limit}: split it by concept, or give "
        f"its reason in tools/sizes.py"
        for place, each in places.items()
        if place not in allowed
    ]
    idle = [
        f"tools/sizes.py: {place} is allowed to be long but is not: remove the entry"
        for place in allowed
        if place not in places
    ]
    return too_long + idle


def main(folders: list[str], *, root: Path, allowed: Mapping[str, str] = ALLOWED) -> int:
    """Print the faults; return 1 if there are any."""
    found = faults(long_places(root, folders), allowed)
    print("\n".join(found) or "sizes: nothing too long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], root=Path.cwd()))
