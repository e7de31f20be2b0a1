"""JSON that is nested too deeply, found and cut without recursion.

An API server stores objects of up to 10,000 levels. The decoders of this process recurse, and
raise RecursionError at a depth that differs between versions of Python. So one limit holds
everywhere, and a scan over the bytes finds what exceeds it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

MAX_DEPTH: Final = 100
"""Levels that are read: many times what a pod needs, and a tenth of what breaks a program."""
MAX_VALUES: Final = 1_000_000
"""More than fit into the largest request that an API server takes. A few lines of YAML can mean
far more, by aliases of aliases."""
TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"
CUT: Final = msgspec.json.encode([[TOO_DEEP]])
"""Stands for a value that was cut: no field of any kind is a list of lists."""
UNREADABLE: Final = (UnicodeError, RecursionError, msgspec.DecodeError)
"""What decoding bytes of others can raise."""

_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRINGS: Final = re.compile(_STRING, re.DOTALL)
_TOKENS: Final = re.compile(_STRING + rb"|[\[\]{}]", re.DOTALL)
_BRACKETS: Final = b"[]{}"
_OTHER_BYTES: Final = bytes(set(range(256)) - set(_BRACKETS))
_OPENING: Final = frozenset(b"[{")


def is_deep(text: bytes) -> bool:
    """Whether JSON has more levels than are read; quick for what has few brackets."""
    if text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in _STRINGS.sub(b"", text).translate(None, _OTHER_BYTES):
        depth += 1 if bracket in _OPENING else -1
        if depth > MAX_DEPTH:
            return True
    return False


def is_bounded(document: object) -> bool:
    """Level by level, so that neither depth nor breadth, nor a cycle, can keep us."""
    level: list[Any] = [document]
    seen = 0
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for value in level:
            if isinstance(value, Mapping):
                below.extend(value.values())
            elif isinstance(value, list | tuple):
                below.extend(value)
            if seen + len(below) > MAX_VALUES:
                return False
        if not below:
            return True
        seen += len(below)
        level = below
    return False


def plain(text: bytes) -> Any:
    """An object as plain values, without its fields that are nested too deeply."""
    return msgspec.json.decode(pruned(text, level=1) if is_deep(text) else text)


def pruned(text: bytes, *, level: int) -> bytes:
    """The JSON without the fields of its objects that are nested too deeply.

    `level` is where the fields of an object stand: 1 in the object itself, 2 in an event of a
    watch, 3 in a list. A field that is too deep is replaced as a whole by a value that fits no
    type. Of `metadata`, which tells whose object it is, only the fields that are too deep go.
    """
    pieces: list[bytes] = []
    kept_from = 0
    for start, end in _deep_values(text, level=level):
        pieces += (text[kept_from:start], CUT)
        kept_from = end
    return b"".join((*pieces, text[kept_from:]))


def _deep_values(text: bytes, *, level: int) -> list[tuple[int, int]]:
    """Where the values begin and end that are to be cut."""
    found: list[tuple[int, int]] = []
    depth = deepest = start = 0
    cut = level
    key = b""
    for token in _TOKENS.finditer(text):
        first = text[token.start()]
        if first == ord('"'):
            key = token.group()
        elif first in _OPENING:
            if depth == level:
                cut = level + (key == b'"metadata"')
            if depth == cut:
                start, deepest = token.start(), depth
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
            if depth == cut and deepest - cut > MAX_DEPTH:
                found.append((start, token.end()))
                deepest = cut
    return found
