"""Reads YAML files into documents that keep the line number of each field, and writes objects.

Values are parsed as Kubernetes tools parse them; duplicate keys are recorded. A file that cannot
be read raises DocumentError with a message for the user. What is written, all parsers read alike.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from tfjob.k8s.nesting import MAX_DEPTH, MAX_VALUES
from tfjob.sdk import yaml_errors

STDIN = "-"
_STEP = re.compile(r"\[([^\]]+)\]|([^.\[\]]+)")


class DocumentError(Exception):
    """A file cannot be read; the message names the file, the line and the reason."""


class Document(msgspec.Struct):
    file: str
    number: int
    value: Any
    node: Any
    repeated: list[tuple[str, int]]
    """Duplicate keys of a mapping: the path, and the line of the last occurrence."""

    def line_of(self, path: str, value: object = None) -> int:
        """The line of a field such as `spec.x[0].y`, or of the object that lacks it.

        If `value` is a key of the field, the line is that of the key.
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
        """The object at a path such as `spec.x[0]`; empty if there is none."""
        value = self.value
        for step in _steps(path):
            if isinstance(value, Mapping):
                value = value.get(step)
            elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                return {}
        return value if isinstance(value, Mapping) else {}

    def has(self, path: str) -> bool:
        return _holds(self.node, _steps(path))

    def spelt(self, path: str) -> str:
        """The path of a field; if it does not exist, that of a field of this name further out.

        Older versions of an API have some fields further out.
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
    """The name of the file in messages."""
    return "standard input" if file == STDIN else file


def read(file: str) -> list[Document]:
    """The documents of a file, with the items of Lists as documents; `-` is standard input."""
    return parse(_text(file), shown_name(file))


def parse(text: str, shown: str) -> list[Document]:
    """The documents of a text; `shown` names it in messages."""
    try:
        return list(_documents(shown, text))
    except yaml.MarkedYAMLError as error:
        line, why = yaml_errors.explained(error, text)
        place = shown if line is None else f"{shown}:{line}"
        raise DocumentError(f"{place}: invalid YAML: {why}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DocumentError(f"{shown}:{line}: invalid YAML: {error.reason}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise DocumentError(f"{shown}: invalid YAML: {error}") from error


def _text(file: str) -> str:
    shown = shown_name(file)
    if file == STDIN and sys.stdin is None:
        raise DocumentError(f"{shown}: cannot be read: it is closed")
    try:
        raw = sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        # A file name that contains a NUL character raises ValueError.
        reason = error.strerror if isinstance(error, OSError) else error
        raise DocumentError(f"{shown}: cannot be read: {reason}") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{shown}{not_utf8(error)}") from error


def not_utf8(error: UnicodeDecodeError) -> str:
    """The line of the first byte that is not UTF-8, and the remedy."""
    line = error.object.count(b"\n", 0, error.start) + 1
    return f":{line}: is not UTF-8 text (byte {error.start}); remedy: save the file as UTF-8"


class _Loader(yaml.CSafeLoader):
    """Parses the types of JSON only, as Kubernetes tools do: dates and times are strings, and a
    number may have an exponent without a decimal point."""


_REPLACED_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("timestamp", "int", "float")}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag not in _REPLACED_TAGS]
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


class _Dumper(yaml.CSafeDumper):
    """Writes shared values in full instead of aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - overrides
        return True


# Quote strings that other YAML parsers read as numbers or booleans.
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[.0-9]+[eE][-+]?[0-9]+$"), list("-+.0123456789")
)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?0o[0-7_]+$"), list("-+0"))
_Dumper.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"[yYnN]$"), list("yYnN"))


def as_yaml(manifest: Mapping[str, Any]) -> str:
    text: str = yaml.dump(
        manifest, Dumper=_Dumper, sort_keys=False, width=2**20, allow_unicode=True
    )
    return text


def _check_bounds(shown: str, text: str) -> None:
    """Reject documents that are nested so deeply that they would crash the parser, or so large
    that parsing takes very long."""
    depth = number = values = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            number, values = number + 1, 0
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        values += isinstance(event, yaml.NodeEvent)
        place = f"{shown}:{event.start_mark.line + 1}"
        if depth > MAX_DEPTH:
            raise DocumentError(
                f"{place}: nested too deeply: at most {MAX_DEPTH} levels are allowed"
            )
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
            raise DocumentError(
                f"{place} is too large: its aliases expand to over {MAX_VALUES} values"
            )
        # Find duplicates first: constructing the value copies merged keys into the nodes.
        repeated = {id(item): list(_repeated(item)) for item in _item_nodes(node)}
        value = loader.construct_document(node)
        if value is None:
            continue
        for inner_node, inner in _items(node, value):
            yield Document(shown, number, inner, inner_node, repeated.get(id(inner_node), []))


def _item_nodes(node: Any) -> Iterator[Any]:
    """The nodes that may be objects: the whole document and the items of a List."""
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
    """The number of nodes after expanding all aliases."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MAX_VALUES + 1  # a cycle: an alias to an enclosing node
    children = node.value if isinstance(node, yaml.CollectionNode) else ()
    parts = [
        part for child in children for part in (child if isinstance(child, tuple) else [child])
    ]
    known[id(node)] = 1 + sum(_size(part, known) for part in parts)
    return known[id(node)]


def _repeated(node: Any, path: str = "") -> Iterator[tuple[str, int]]:
    """Duplicate keys of a mapping, with the line of the duplicate."""
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
    """The names and indexes of a path; a name in brackets may contain dots."""
    return [quoted or plain for quoted, plain in _STEP.findall(path)]


def _entry(node: Any, step: str) -> tuple[Any, Any] | None:
    """The nodes of a field's key and value; of duplicate keys the last one counts."""
    if isinstance(node, yaml.MappingNode):
        found = (entry for entry in reversed(node.value) if str(entry[0].value) == step)
        return next(found, None)
    if isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
        item = node.value[int(step)]
        return item, item
    return None


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1
