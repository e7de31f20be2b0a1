"""YAML files as documents that know where each of their fields stands.

Timestamps stay text and a key may stand once, as an API server has it. A file that cannot be
read is a sentence for its reader, never a traceback.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

STDIN = "-"
MOST_NODES = 1_000_000
"""Aliases can make a small file describe a huge object."""


class DocumentError(Exception):
    """A file that holds no readable documents; the message says which, where and why."""


class Document(msgspec.Struct):
    file: str
    number: int
    value: Any
    node: Any
    repeated: list[tuple[str, int]]

    @property
    def line(self) -> int:
        return _line(self.node)

    def line_of(self, path: str) -> int:
        """The line of a field such as `spec.x[0].y`, or of the object that lacks it."""
        node = self.node
        for step in _steps(path):
            inner = _inner(node, step)
            if inner is None:
                break
            node = inner
        return _line(node)


def read(file: str) -> list[Document]:
    """The documents of one file, `-` being standard input; the items of a List one by one."""
    text = _text(file)
    try:
        return list(_documents(file, text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{file}:{mark.line + 1}" if mark else file
        raise DocumentError(f"{place}: no valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DocumentError(f"{file}: no valid YAML: {reason}") from error


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == STDIN else Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise DocumentError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{file}: is not UTF-8 text (byte {error.start})") from error


class _Loader(yaml.CSafeLoader):
    """Reads what JSON can say; a date is text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _documents(file: str, text: str) -> Iterator[Document]:
    shown = "standard input" if file == STDIN else file
    loader = _Loader(text)
    number = 0
    while loader.check_node():
        node = loader.get_node()
        number += 1
        if _size(node, {}) > MOST_NODES:
            raise DocumentError(f"{shown}: document {number} is too large: over {MOST_NODES} nodes")
        repeated = list(_repeated(node))
        value = loader.construct_document(node)
        if value is None:
            continue
        for inner_node, inner in _items(node, value):
            yield Document(
                file=shown, number=number, value=inner, node=inner_node, repeated=repeated
            )


def _items(node: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.get("items") if isinstance(value, Mapping) else None
    if not isinstance(items, list) or not str(value.get("kind", "")).endswith("List"):
        yield node, value
        return
    yield from zip(_inner(node, "items").value, items, strict=True)


def _size(node: Any, known: dict[int, int]) -> int:
    """How many nodes there are once every alias is written out."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST_NODES + 1  # an alias to something that contains it
    children = node.value if isinstance(node, yaml.CollectionNode) else ()
    parts = [
        part for child in children for part in (child if isinstance(child, tuple) else [child])
    ]
    known[id(node)] = 1 + sum(_size(part, known) for part in parts)
    return known[id(node)]


def _repeated(node: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """Keys that stand more than once in one mapping, with the line of the repetition."""
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from _repeated(child, f"{path}[{index}]")
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, child in node.value:
        name = str(key.value)
        own = f"{path}.{name}" if path else name
        if name in seen and name != "<<":
            yield own, _line(key)
        seen.add(name)
        yield from _repeated(child, own)


def _steps(path: str) -> list[str]:
    return [step for step in path.replace("[", ".").replace("]", "").split(".") if step]


def _inner(node: Any, step: str) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next((child for key, child in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
        return node.value[int(step)]
    return None


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1
