"""YAML files as documents that know where each of their fields stands.

Values are read as the tools of Kubernetes read them, and a key may stand once. A file that cannot
be read is a sentence for its reader, never a traceback.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tfjob.k8s.nesting import MAX_DEPTH, MAX_VALUES

STDIN = "-"


class DocumentError(Exception):
    """A file that holds no readable documents; the message says which, where and why."""


class Document(msgspec.Struct):
    file: str
    number: int
    value: Any
    node: Any
    repeated: list[tuple[str, int]]
    """Keys that stand more than once in one mapping: path, and line of the last."""

    def line_of(self, path: str, value: object = None) -> int:
        """The line of a field such as `spec.x[0].y`, or of the object that lacks it.

        Where the value is one of the field's own keys, that key is what the reader looks for.
        """
        node, line = self.node, _line(self.node)
        steps = [*_steps(path), *([value] if isinstance(value, str) else [])]
        for step in steps:
            entry = _entry(node, step)
            if entry is None:
                break
            place, node = entry
            line = _line(place)
        return line

    def at(self, path: str) -> Mapping[str, Any]:
        """The object at a path such as `spec.x[0]`; empty where none is."""
        value = self.value
        for step in _steps(path):
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                return {}
        return value if isinstance(value, Mapping) else {}

    def spelt(self, path: str) -> str:
        """The path itself or, where no such field is, that of its name further out.

        In an older version of an API a field may stand there.
        """
        *way, name = _steps(path) or [""]
        if _holds(self.node, [*way, name]):
            return path
        outer = ([*way[:depth], name] for depth in range(len(way) - 1, 0, -1))
        found = next((steps for steps in outer if _holds(self.node, steps)), None)
        return path if found is None else ".".join(found)


def _holds(node: Any, steps: Sequence[str]) -> bool:
    for step in steps:
        entry = _entry(node, step)
        if entry is None:
            return False
        node = entry[1]
    return True


def shown_name(file: str) -> str:
    """What a person calls the file."""
    return "standard input" if file == STDIN else file


def read(file: str) -> list[Document]:
    """The documents of one file, `-` being standard input; the items of a List one by one."""
    text, shown = _text(file), shown_name(file)
    try:
        return list(_documents(shown, text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{shown}:{mark.line + 1}" if mark else shown
        why = _tab(text, mark.line if mark else None) or error.problem or error.context
        raise DocumentError(f"{place}: no valid YAML: {why}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DocumentError(f"{shown}:{line}: no valid YAML: {error.reason}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(f"{shown}: no valid YAML: {error}") from error


def _tab(text: str, line: int | None) -> str:
    """What to say where a tab is why a line cannot be read."""
    found = text.splitlines()[line : line + 1] if line is not None else []
    indent = re.match(r"[ \t]*", found[0]) if found else None
    if indent is None or "\t" not in indent[0]:
        return ""
    column = indent[0].index("\t") + 1
    return (
        f"the line is indented by a tab (column {column}), and YAML takes only blanks;"
        " remedy: replace every tab at the beginning of lines by blanks"
    )


def _text(file: str) -> str:
    shown = shown_name(file)
    if file == STDIN and sys.stdin is None:
        raise DocumentError(f"{shown}: cannot be read: it is closed")
    try:
        raw = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        # A name with a zero in it is refused before anything looks for the file.
        reason = error.strerror if isinstance(error, OSError) else error
        raise DocumentError(f"{shown}: cannot be read: {reason}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{shown}: is not UTF-8 text (byte {error.start})") from error


class _Loader(yaml.CSafeLoader):
    """Reads what JSON can say, as the tools of Kubernetes do: a date and a time are text, and a
    number may have an exponent without a point."""


_OTHERWISE = {f"tag:yaml.org,2002:{name}" for name in ("timestamp", "int", "float")}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in _OTHERWISE]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+.0123456789"),
)


def _check_bounds(shown: str, text: str) -> None:
    """What is nested too deeply would end the program in the middle of composing it, and what is
    too much would keep it for a long time."""
    depth = number = values = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            number, values = number + 1, 0
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.NodeEvent)
        place = f"{shown}:{event.start_mark.line + 1}"
        if depth > MAX_DEPTH:
            raise DocumentError(f"{place}: nested too deeply: at most {MAX_DEPTH} levels are read")
        if values > MAX_VALUES:
            raise DocumentError(
                f"{place}: document {number} is too large: over {MAX_VALUES} values"
            )


def _documents(shown: str, text: str) -> Iterator[Document]:
    _check_bounds(shown, text)
    loader = _Loader(text)
    number = 0
    while loader.check_node():
        node = loader.get_node()
        number += 1
        if _size(node, {}) > MAX_VALUES:
            place = f"{shown}:{_line(node)}: document {number}"
            raise DocumentError(f"{place} is too large: aliases make it over {MAX_VALUES} values")
        # Building the value writes merged keys into the nodes, where they would look repeated.
        repeated = {id(item): list(_repeated(item)) for item in _item_nodes(node)}
        value = loader.construct_document(node)
        if value is None:
            continue
        for inner_node, inner in _items(node, value):
            yield Document(shown, number, inner, inner_node, repeated.get(id(inner_node), []))


def _item_nodes(node: Any) -> Iterator[Any]:
    """The nodes that can turn out to be objects: the whole document, or the items of a list."""
    yield node
    items = _entry(node, "items")
    if items is not None and isinstance(items[1], yaml.SequenceNode):
        yield from items[1].value


def _items(node: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.get("items") if isinstance(value, Mapping) else None
    if not isinstance(items, list) or not str(value.get("kind", "")).endswith("List"):
        yield node, value
        return
    yield from zip(list(_item_nodes(node))[1:], items, strict=True)


def _size(node: Any, known: dict[int, int]) -> int:
    """How many nodes there are once every alias is written out."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MAX_VALUES + 1  # an alias to something that contains it
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


def _entry(node: Any, step: str) -> tuple[Any, Any] | None:
    """Where a field begins, and its content; of a key that stands twice the last one counts."""
    if isinstance(node, yaml.MappingNode):
        found = (entry for entry in reversed(node.value) if str(entry[0].value) == step)
        return next(found, None)
    if isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
        item = node.value[int(step)]
        return item, item
    return None


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1
