"""Renders stored objects in the negotiated form: plain, Table or PartialObjectMetadata.

Stored bodies have no `kind` and `apiVersion`, so that one body serves every version; they are added
here, without decoding the body for the plain form.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from tfjob.local.apiserver import table
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.request import Answer, Request
from tfjob.local.apiserver.store import StoredObject

Json = dict[str, Any]
PLAIN, TABLE, PARTIAL = "plain", "table", "partial"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class _MetaOnly(msgspec.Struct):
    metadata: msgspec.Raw


_decode_meta = msgspec.json.Decoder(_MetaOnly).decode
_PARTIAL_HEAD = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",'


def encoded(obj: Json) -> bytes:
    return _encode(obj)


def decoded(body: bytes) -> Json:
    return dict(_decode(body))


def negotiated_form(accept: str) -> str:
    """The first supported form in an Accept header; plain JSON by default."""
    for entry in accept.split(","):
        media, *parameters = [part.strip() for part in entry.split(";")]
        options = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media not in {"application/json", "*/*", "application/*"}:
            continue
        form = options.get("as", "")
        if not form:
            return PLAIN
        if options.get("g") == "meta.k8s.io" and options.get("v") == "v1":
            if form == "Table":
                return TABLE
            if form.startswith("PartialObjectMetadata"):
                return PARTIAL
    return PLAIN


def wants_table(request: Request) -> bool:
    return negotiated_form(request.accept) == TABLE


def with_head(kind: Kind, body: bytes) -> bytes:
    """A stored body with `kind` and `apiVersion`."""
    if kind.outgoing is not None:
        body = _encode(kind.outgoing(_decode(body)))
    elif kind.is_custom:
        body = _custom(kind, body)
    return kind.head + body[1:]


def _custom(kind: Kind, body: bytes) -> bytes:
    """Apply the defaults of the stored version and the pruning of the requested one."""
    stored = kind.storage_schema or kind.schema
    if not stored.has_defaults and kind.storage_schema is None:
        return body
    obj = _decode(body)
    stored.default(obj)
    if kind.storage_schema is not None:
        kind.schema.prune(obj)
    return _encode(obj)


def object_response(
    backend: Backend,
    request: Request,
    body: bytes,
    *,
    code: int = 200,
    warnings: Iterable[str] = (),
) -> Answer:
    """The response with a single object."""
    form = negotiated_form(request.accept)
    kind = request.kind
    if form == TABLE:
        stored = StoredObject("", "", 0, body)
        shown = _table(backend, request, [stored], revision=_revision(body))
    elif form == PARTIAL:
        shown = _PARTIAL_HEAD + b'"metadata":' + bytes(_decode_meta(body).metadata) + b"}"
    else:
        shown = with_head(kind, body)
    all_warnings = (*warnings, *((kind.warning,) if kind.warning else ()))
    return Answer(code=code, body=shown, warnings=all_warnings)


def _revision(body: bytes) -> str:
    meta = _decode(_decode_meta(body).metadata)
    return str(meta.get("resourceVersion", ""))


def list_response(
    backend: Backend, request: Request, items: list[StoredObject], *, meta: Json
) -> Answer:
    """The response with a list."""
    form = negotiated_form(request.accept)
    kind = request.kind
    warnings = (kind.warning,) if kind.warning else ()
    if form == TABLE:
        shown = _table(backend, request, items, revision="", meta=meta)
        return Answer(body=shown, warnings=warnings)
    if form == PARTIAL:
        head = {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": meta,
        }
        bodies = [
            _PARTIAL_HEAD + b'"metadata":' + bytes(_decode_meta(i.body).metadata) + b"}"
            for i in items
        ]
    else:
        head = {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": meta}
        is_bare = not kind.is_custom and kind.outgoing is None
        bodies = [i.body if is_bare else with_head(kind, i.body) for i in items]
        if not kind.is_custom and kind.outgoing is not None:
            bodies = [_encode(kind.outgoing(_decode(i.body))) for i in items]
    body = _encode(head)[:-1] + b',"items":[' + b",".join(bodies) + b"]}"
    return Answer(body=body, warnings=warnings)


def event_object(
    backend: Backend, request: Request, body: bytes, *, form: str, is_first: bool
) -> bytes:
    """The object of a watch event."""
    if form == TABLE:
        rows = [StoredObject("", "", 0, body)]
        return _table(backend, request, rows, revision=_revision(body), has_columns=is_first)
    if form == PARTIAL:
        return _PARTIAL_HEAD + b'"metadata":' + bytes(_decode_meta(body).metadata) + b"}"
    return with_head(request.kind, body)


def _table(
    backend: Backend,
    request: Request,
    items: list[StoredObject],
    *,
    revision: str,
    meta: Json | None = None,
    has_columns: bool = True,
) -> bytes:
    objects = [item.object() for item in items]
    shown = table.render(
        request.kind,
        objects,
        now=backend.clock(),
        include=request.query.get("includeObject", "Metadata"),
    )
    shown["metadata"] = meta if meta is not None else {"resourceVersion": revision}
    if not has_columns:
        shown["columnDefinitions"] = None
    return _encode(shown)
