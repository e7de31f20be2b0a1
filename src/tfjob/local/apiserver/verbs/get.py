"""get: show one object as it is now."""

from tfjob.local.apiserver import present, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Answer, Request
from tfjob.local.apiserver.store import Stored


def get(backend: Backend, request: Request) -> Answer:
    return present.one(backend, request, found(backend, request).body)


def found(backend: Backend, request: Request) -> Stored:
    """The living object that a request names, or a refusal."""
    stored = backend.store.get(request.key)
    if stored is None:
        raise status.not_found(request.kind.qualified, request.name)
    return stored
