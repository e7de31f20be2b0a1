"""update: store the next revision of an object, unless nothing changed."""

from typing import Any

from tfjob.local.apiserver import admission, decode, metadata, present
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Answer, Request
from tfjob.local.apiserver.store import Key
from tfjob.local.apiserver.verbs.delete import remove
from tfjob.local.apiserver.verbs.get import found

Json = dict[str, Any]


def update(backend: Backend, request: Request) -> Answer:
    admission.check_options(request)
    value = decode.parse_body(request.body, request.content_type)
    read = admission.read_object(request, value)
    old = found(backend, request)
    obj = admission.for_update(backend, request, read.obj, old.object())
    body = commit(backend, request, obj, old=old.object())
    return present.one(backend, request, body, warnings=read.warnings)


def commit(backend: Backend, request: Request, obj: Json, *, old: Json) -> bytes:
    """Store an admitted state and return it as stored; an unchanged one costs no revision."""
    if obj == old or request.is_dry_run:
        return present.encoded(obj)
    if metadata.is_finished(obj, resource=request.kind.resource):
        remove(backend, request.key, obj)
        return present.encoded(obj)
    return backend.store.put(request.key, obj).body


def store_internally(backend: Backend, key: Key, obj: Json) -> None:
    """A change by the server itself: no admission, but what is finished goes."""
    if metadata.is_finished(obj, resource=key.resource):
        backend.store.remove(key, obj)
    else:
        backend.store.put(key, obj)
