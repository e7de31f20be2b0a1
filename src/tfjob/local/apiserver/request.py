"""A parsed API request: verb, kind, namespace, name.

A path that names nothing served is refused with kube-apiserver's message. A name never contains a
slash or a percent sign and is never `.` or `..`.
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

_INSIDE = (
    "a pod is a process of this machine, and its volumes are folders: use them from a shell, or"
    " run a command beside a replica with `tfjob exec` or `tfjob shell`"
)
_PORTS = "a pod listens on this machine; the annotation tfjob.dev/url has the address of a server"
_FIXED = "a pod cannot be changed after it was created"

# Subresources of kube-apiserver that are refused here, with what to do instead.
_LEFT_OUT = {
    "pods": {
        "attach": _INSIDE,
        "ephemeralcontainers": _INSIDE,
        "eviction": "delete the pod instead",
        "exec": _INSIDE,
        "portforward": _PORTS,
        "resize": _FIXED,
    },
    "nodes": {"proxy": "the node has no HTTP server"},
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
    """A response that ends with its source or its reader."""

    chunks: AsyncIterator[bytes]
    content_type: str = "application/json"


def json_answer(value: Json, *, code: int = 200, warnings: tuple[str, ...] = ()) -> Answer:
    return Answer(code=code, body=_encode(value), warnings=warnings)


class NoSuchGroup(Exception):  # noqa: N818 - an expected answer, not a fault of ours
    """A path below an unknown group, which kube-apiserver answers in plain text."""


class Target(msgspec.Struct, frozen=True):
    """What a path names, whatever the method."""

    kind: Kind
    namespace: str
    name: str
    subresource: str


def parse_path(raw_path: str, registry: Registry) -> Target:
    """The kind and object that a path names."""
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
    """The verb of a method on a target."""
    if target.subresource == "binding":
        verbs = {"POST": "create"}
    elif target.name:
        verbs = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    else:
        verbs = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
    verb = verbs.get(method, "")
    is_watch = query.get("watch", "").lower() in {"1", "t", "true"}
    if is_watch and (verb == "list" or (verb == "get" and not target.subresource)):
        verb = "watch"
    needs_namespace = target.kind.is_namespaced and not target.namespace
    if verb not in target.kind.verbs or (
        needs_namespace and verb in {"create", "deletecollection"}
    ):
        raise status.method_not_allowed()
    if target.subresource and verb == "delete":
        raise status.method_not_allowed()
    return verb
