"""get, create and update of one object."""

from typing import Any

from tfjob.local.apiserver import admission, decode, metadata, responses, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.bootstrap import provision_namespace
from tfjob.local.apiserver.handlers.delete import remove
from tfjob.local.apiserver.request import Answer, Request
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
_GENERATED_TRIES = 8


def get(backend: Backend, request: Request) -> Answer:
    return responses.object_response(backend, request, backend.get(request).body)


def create(backend: Backend, request: Request) -> Answer:
    admission.check_options(request)
    value = decode.parse_body(request.body, request.content_type)
    return create_object(backend, request, value)


def create_object(backend: Backend, request: Request, value: object) -> Answer:
    """Create an object from decoded JSON; used by create and by apply."""
    read = admission.read_object(request, value)
    if not request.is_dry_run:
        provision_namespace(backend, request.namespace, {**read.obj, "kind": request.kind.kind})
    obj = _with_free_name(backend, request, read.obj)
    if request.is_dry_run:
        return responses.object_response(
            backend, request, _unstored(obj), code=201, warnings=read.warnings
        )
    key = Key(request.kind.resource, request.namespace, obj["metadata"]["name"])
    change = backend.store.put(key, obj)
    return responses.object_response(
        backend, request, change.body, code=201, warnings=read.warnings
    )


def _with_free_name(backend: Backend, request: Request, sent: Json) -> Json:
    resource = request.kind.resource
    tries = _GENERATED_TRIES if not sent["metadata"].get("name") else 1
    name = ""
    for _ in range(tries):
        obj = admission.for_creation(backend, request, sent)
        name = obj["metadata"]["name"]
        if backend.store.get(Key(resource, request.namespace, name)) is None:
            return obj
    raise status.already_exists(request.kind.qualified, name)


def _unstored(obj: Json) -> bytes:
    obj["metadata"].pop("resourceVersion", None)
    return responses.encoded(obj)


def update(backend: Backend, request: Request) -> Answer:
    admission.check_options(request)
    value = decode.parse_body(request.body, request.content_type)
    read = admission.read_object(request, value)
    old = backend.get(request)
    obj = admission.for_update(backend, request, read.obj, old.object())
    body = commit(backend, request, obj, old=old.object())
    return responses.object_response(backend, request, body, warnings=read.warnings)


def commit(backend: Backend, request: Request, obj: Json, *, old: Json) -> bytes:
    """Store an admitted object and return its body; an unchanged one gets no new revision."""
    if obj == old or request.is_dry_run:
        return responses.encoded(obj)
    if metadata.is_finished(obj, resource=request.kind.resource):
        remove(backend, request.key, obj)
        return responses.encoded(obj)
    return backend.store.put(request.key, obj).body


def store_internally(backend: Backend, key: Key, obj: Json) -> None:
    """Store a change by the server itself: no admission, but a finished object is removed."""
    if metadata.is_finished(obj, resource=key.resource):
        backend.store.remove(key, obj)
    else:
        backend.store.put(key, obj)
