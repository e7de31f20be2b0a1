"""Routes a request to its handler.

Every request is answered with an object, a stream or a Status; an unexpected error becomes a 500,
never a broken connection.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from tfjob.local.apiserver import auth, discovery, openapi, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.handlers import scale
from tfjob.local.apiserver.handlers.delete import delete, deletecollection
from tfjob.local.apiserver.handlers.listing import list_
from tfjob.local.apiserver.handlers.objects import create, get, update
from tfjob.local.apiserver.handlers.patch import patch
from tfjob.local.apiserver.handlers.pod_metrics import pod_metrics
from tfjob.local.apiserver.handlers.pod_subresources import bind, log
from tfjob.local.apiserver.handlers.proxy import ProxyRequest, moved, proxy, proxy_request, url_for
from tfjob.local.apiserver.handlers.watch import watch
from tfjob.local.apiserver.kinds import POD_METRICS
from tfjob.local.apiserver.request import (
    Answer,
    NoSuchGroup,
    Request,
    Stream,
    json_answer,
    parse_path,
    verb_of,
)
from tfjob.local.apiserver.store import StoreFullError

Json = dict[str, Any]
Verb = Callable[[Backend, Request], Answer | Stream]
_log = logging.getLogger(__name__)

_VERBS: dict[str, Verb] = {
    "create": create,
    "delete": delete,
    "deletecollection": deletecollection,
    "get": get,
    "list": list_,
    "patch": patch,
    "update": update,
    "watch": watch,
}
_SCALE: dict[str, Verb] = {
    "get": scale.get_scale,
    "patch": scale.patch_scale,
    "update": scale.update_scale,
}
_HEALTH = frozenset({"/healthz", "/livez", "/readyz"})


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it was received."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    address: str = ""


async def answer(backend: Backend, incoming: HttpRequest) -> Answer | Stream:
    """Answer a request; a StatusError becomes its Status."""
    try:
        return await _dispatch(backend, incoming)
    except status.StatusError as refusal:
        return refused(refusal)
    except NoSuchGroup:
        return Answer(
            code=404, body=b"404 page not found\n", content_type="text/plain; charset=utf-8"
        )
    except StoreFullError as error:
        return refused(status.internal(str(error)))
    except Exception as error:  # noqa: BLE001 - the last handler: the error is logged and answered with a 500
        _log.exception("request failed", extra={"method": incoming.method, "path": incoming.path})
        what = f"{type(error).__name__}: this is a fault of the local API server of tfjob"
        return refused(status.internal(what))


def refused(refusal: status.StatusError) -> Answer:
    return json_answer(refusal.body(), code=refusal.code)


async def _dispatch(backend: Backend, incoming: HttpRequest) -> Answer | Stream:
    path = incoming.path.rstrip("/") or "/"
    if incoming.method == "GET":
        document = _document(backend, incoming, path)
        if document is not None:
            return document
    if incoming.method == "POST":
        review = auth.review(path)
        if review is not None:
            return json_answer(review, code=201)
    errand = proxy_request(incoming.path)
    if errand is not None:
        return await _handed_on(backend, incoming, errand)
    target = parse_path(path, backend.registry)
    verb = verb_of(incoming.method, target, incoming.query)
    request = Request(
        verb=verb,
        kind=target.kind,
        namespace=target.namespace,
        name=target.name,
        subresource=target.subresource,
        query=incoming.query,
        body=incoming.body,
        content_type=incoming.content_type,
        accept=incoming.accept,
    )
    if request.subresource == "log":
        return await log(backend, request)
    if request.kind.group == POD_METRICS.group:
        return await pod_metrics(backend, request)
    return _chosen(request)(backend, request)


async def _handed_on(backend: Backend, incoming: HttpRequest, errand: ProxyRequest) -> Answer:
    url = url_for(backend, errand)
    if not errand.rest:
        return moved(incoming.path)
    return await proxy(
        url,
        method=incoming.method,
        query=incoming.query,
        body=incoming.body,
        content_type=incoming.content_type,
    )


def _chosen(request: Request) -> Verb:
    if request.subresource == "scale":
        return _SCALE[request.verb]
    if request.subresource == "binding":
        return bind
    return _VERBS[request.verb]


def _document(backend: Backend, incoming: HttpRequest, path: str) -> Answer | None:
    """Responses about the server itself, not about objects."""
    if path in _HEALTH or path.startswith(("/livez/", "/readyz/", "/healthz/")):
        return Answer(body=b"ok", content_type="text/plain; charset=utf-8")
    if path == "/":
        paths = [
            "/api",
            "/api/v1",
            "/apis",
            "/healthz",
            "/livez",
            "/openapi/v2",
            "/openapi/v3",
            "/readyz",
            "/version",
        ]
        return json_answer({"paths": paths})
    if path == "/openapi/v2" and openapi.PROTOBUF_ASKED in incoming.accept:
        return Answer(body=openapi.EMPTY, content_type=openapi.PROTOBUF_GIVEN)
    if path.startswith("/openapi/"):
        document = openapi.find(path, backend.registry)
        return json_answer(document) if document is not None else None
    found = discovery.find(path, backend.registry, address=incoming.address, accept=incoming.accept)
    if found is None:
        return None
    is_aggregated = found["kind"] == "APIGroupDiscoveryList" if "kind" in found else False
    media = discovery.AGGREGATED if is_aggregated else "application/json"
    return Answer(body=msgspec.json.encode(found), content_type=media)
