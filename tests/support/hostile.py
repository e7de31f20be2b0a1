"""Bytes that a hostile tenant can store to break a parser, built without recursion."""

from typing import Final

from hypothesis import strategies as st

DEPTHS: Final = (101, 1_200, 5_000, 10_000, 100_000)
"""Just past the limit, and past the depth at which each version of Python gives up."""


def nested(depth: int) -> bytes:
    """A JSON value of that many levels, objects and lists by turns."""
    pairs, rest = divmod(depth, 2)
    return b'{"a":[' * pairs + b"[" * rest + b"]" * rest + b"]}" * pairs


def job(name: str, *, version: int = 1, spec: bytes = b"{}", status: bytes = b"{}") -> bytes:
    """A stored job, also with managed fields as deep as its spec."""
    deep = b',"managedFields":[{"fieldsV1":' + spec + b"}]"
    head = f'"namespace":"ns","name":"{name}","uid":"{name}","resourceVersion":"{version}"'
    return b'{"metadata":{%s%s},"spec":%s,"status":%s}' % (head.encode(), deep, spec, status)


def event(kind: str, stored: bytes) -> bytes:
    return b'{"type":"%s","object":%s}' % (kind.encode(), stored)


def listed(*items: bytes, version: int = 9) -> bytes:
    head = b'{"metadata":{"resourceVersion":"%d"},"items":[' % version
    return head + b",".join(items) + b"]}"


_SCALARS: Final = st.sampled_from(
    [
        b"null",
        b"true",
        b"0",
        b"-1",
        b"1e999",
        b"1" * 5_000,
        b"NaN",
        b"Infinity",
        b'""',
        b'"ns"',
        b'"\xff\xfe"',
        b'"\\ud800"',
        b'"\\ud83d\\ude00"',
        b'"' + b"x" * 10_000 + b'"',
        b'"unclosed',
        nested(99),
        nested(150),
        nested(20_000),
        b"{}",
        b"[]",
    ]
)
_KEYS: Final = st.sampled_from(
    [
        "metadata",
        "object",
        "type",
        "items",
        "spec",
        "status",
        "name",
        "namespace",
        "resourceVersion",
        "labels",
        "annotations",
        "ownerReferences",
        "kind",
        "code",
        "reason",
        "message",
        "details",
        "retryAfterSeconds",
        "causes",
        "continue",
        "x",
    ]
)


def _object(fields: list[tuple[str, bytes]]) -> bytes:
    """With repeated keys, where there are any."""
    return b"{" + b",".join(b'"%s":%s' % (key.encode(), value) for key, value in fields) + b"}"


def _larger(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    lists = st.lists(inner, max_size=4).map(lambda items: b"[" + b",".join(items) + b"]")
    return lists | st.lists(st.tuples(_KEYS, inner), max_size=6).map(_object)


_VALUES: Final = st.recursive(_SCALARS, _larger, max_leaves=12)
_KINDS: Final = st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "ODD"])
TEXTS: Final[st.SearchStrategy[bytes]] = (
    st.binary(max_size=200)
    | _VALUES
    | st.builds(event, _KINDS, _VALUES)
    | st.lists(_VALUES, max_size=3).map(lambda items: listed(*items))
)
"""Arbitrary bytes: noise, odd JSON, and odd objects where a client expects objects."""
