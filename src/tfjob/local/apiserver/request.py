"""A request of the Kubernetes API as a value: which verb on which kind, namespace, name.

Law: a path either names something served or is refused with the words of a real server; a name
never holds a slash, a percent sign, `.` or `..`, so nothing can climb out of its place.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from tfjob.local.apiserver import status
from tfjob.local.apiserver.kinds import Kind, Registry
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
_encode = msgspec.json.Encoder().encode

_INSIDE = "a pod is a process of this machine, and its volumes are folders: use them from a shell"
_PORTS = (
    "a pod listens on this machine itself, where its annotation tfjob.dev/url says if it serves"
)
_FIXED = "a pod keeps what it was made with"

# A real server has these subresources; here they are refused by name, and with what to do instead.
_LEFT_OUT = {
    "pods": {
        "attach": _INSIDE,
        "ephemeralcontainers": _INSIDE,
        "eviction": "delete the pod instead",
        "exec": _INSIDE,
        "portforward": _PORTS,
        "resize": _FIXED,
    },
    "nodes": {"proxy": "the node has no server of its own"},
    "serviceaccounts": {"token": "clients use the token of the kubeconfig"},
}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    verb: str
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: Mapping[str, str] = {}
    body: bytes = b""
    content_type: str = ""
    accept: str = ""

    @property
    def key(self) -> Key:
        return Key(self.kind.resource, self.namespace, self.name)

    @property
    def is_dry_run(self) -> bool:
        return self.query.get("dryRun") == "All"

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in {"1", "t", "true"}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    code: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    warnings: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


class Stream(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that goes on until its source or its reader ends."""

    chunks: AsyncIterator[bytes]
    content_type: str = "application/json"


def json_answer(value: Json, *, code: int = 200, warnings: tuple[str, ...] = ()) -> Answer:
    return Answer(code=code, body=_encode(value), warnings=warnings)


class NoSuchGroup(Exception):  # noqa: N818 - an expected answer, not a fault of ours
    """A path below a group that is not served; a real server answers it in plain text."""


class Target(msgspec.Struct, frozen=True):
    """What a path names, before any method is applied to it."""

    kind: Kind
    namespace: str
    name: str
    subresource: str


def parse_path(raw_path: str, registry: Registry) -> Target:
    """Find the kind and the object that a path names, or refuse."""
    parts = [_segment(part) for part in raw_path.strip("/").split("/")]
    group, version, rest = _split_group(parts)
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in {"status", "finalize"}:
        namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3:
        raise status.no_such_path()
    plural, name, subresource = (*rest, "", "")[:3]
    kind = registry.find(group=group, version=version, plural=plural)
    if kind is None and group not in registry.groups():
        raise NoSuchGroup
    if kind is None or (bool(namespace) and not kind.is_namespaced):
        raise status.no_such_path()
    if kind.is_namespaced and name and not namespace:
        raise status.no_such_path()
    _check_subresource(kind, subresource)
    return Target(kind, namespace, name, subresource)


def _segment(raw: str) -> str:
    part = unquote(raw)
    if part in {"", ".", ".."} or "/" in part or "%" in part or "\x00" in part:
        raise status.bad_request(
            f"path segment {part!r}: a name may not be empty, '.' or '..', nor contain '/' or '%'; "
            "the request was refused and nothing was changed"
        )
    return part


def _split_group(parts: list[str]) -> tuple[str, str, list[str]]:
    if parts[0] == "api" and len(parts) >= 3 and parts[1] == "v1":
        return "", "v1", parts[2:]
    if parts[0] == "apis" and len(parts) >= 4:
        return parts[1], parts[2], parts[3:]
    raise NoSuchGroup


def _check_subresource(kind: Kind, subresource: str) -> None:
    if not subresource or subresource in kind.subresources:
        return
    if subresource == "status" and kind.has_status:
        return
    if subresource == "scale" and kind.scale is not None:
        return
    hints = _LEFT_OUT.get(kind.plural, {}) if not kind.group else {}
    if subresource in hints:
        raise status.not_supported(f"{kind.plural}/{subresource}", hint=hints[subresource])
    raise status.no_such_path()


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str:
    """Which verb a method means on a target, or refuse."""
    if target.subresource == "binding":
        verbs = {"POST": "create"}
    elif target.name:
        verbs = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    else:
        verbs = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
    verb = verbs.get(method, "")
    is_watch = query.get("watch", "").lower() in {"1", "t", "true"}
    if verb == "list" and is_watch:
        return "watch"
    if verb == "get" and is_watch and not target.subresource:
        return "watch"
    needs_namespace = target.kind.is_namespaced and not target.namespace
    if not verb or (needs_namespace and verb in {"create", "deletecollection"}):
        raise status.method_not_allowed()
    if target.subresource and verb == "delete":
        raise status.method_not_allowed()
    return verb
