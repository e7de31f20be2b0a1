"""Detects and cuts JSON that is nested too deeply, without recursion.

An API server stores objects of up to 10,000 levels, but decoders recurse and raise RecursionError
at a depth that depends on the version of Python. Therefore one fixed limit applies everywhere, and
a scan over the bytes finds what exceeds it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

MAX_DEPTH: Final = 100
"""Far more levels than a pod needs, and a tenth of what makes decoders fail."""
MAX_VALUES: Final = 1_000_000
"""More than fit into the largest request that an API server accepts. Nested YAML aliases can expand
a few lines to far more."""
TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"
CUT: Final = msgspec.json.encode([[TOO_DEEP]])
"""Replaces a value that is too deep: no field of any kind is a list of lists."""
UNREADABLE: Final = (UnicodeError, RecursionError, msgspec.DecodeError)
"""What decoding untrusted bytes can raise."""

_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_STRINGS: Final = re.compile(_STRING, re.DOTALL)
_TOKENS: Final = re.compile(_STRING + rb"|[\[\]{}]", re.DOTALL)
_BRACKETS: Final = b"[]{}"
_OTHER_BYTES: Final = bytes(set(range(256)) - set(_BRACKETS))
_OPENING: Final = frozenset(b"[{")


def is_deep(text: bytes) -> bool:
    """Whether JSON has more than MAX_DEPTH levels; fast if it has few brackets."""
    if text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in _STRINGS.sub(b"", text).translate(None, _OTHER_BYTES):
        depth += 1 if bracket in _OPENING else -1
        if depth > MAX_DEPTH:
            return True
    return False


def is_bounded(document: object) -> bool:
    """Whether a document is within MAX_DEPTH and MAX_VALUES.

    Walks level by level, so that it ends soon even on cycles.
    """
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
    """Decode an object without its fields that are nested too deeply."""
    return msgspec.json.decode(pruned(text, level=1) if is_deep(text) else text)


def pruned(text: bytes, *, level: int) -> bytes:
    """The JSON with all fields that are nested too deeply replaced by CUT.

    `level` is the depth of the fields of an object: 1 in the object itself, 2 in a watch event, 3
    in a list. A field is replaced as a whole, by a value that fits no type. In `metadata`, which
    identifies the object, only its fields that are too deep are replaced.
    """
    pieces: list[bytes] = []
    kept_from = 0
    for start, end in _deep_values(text, level=level):
        pieces += (text[kept_from:start], CUT)
        kept_from = end
    return b"".join((*pieces, text[kept_from:]))


def _deep_values(text: bytes, *, level: int) -> list[tuple[int, int]]:
    """The start and end offsets of the values to replace."""
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
