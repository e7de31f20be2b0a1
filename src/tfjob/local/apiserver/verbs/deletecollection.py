"""deletecollection: end every object that a list with the same selectors would show."""

from tfjob.local.apiserver import present, selection
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.request import Answer, Request
from tfjob.local.apiserver.store import Key, Stored
from tfjob.local.apiserver.verbs.delete import end, read_options


def deletecollection(backend: Backend, request: Request) -> Answer:
    options = read_options(request)
    matches = selection.matcher(request)
    namespace = selection.namespace_asked(request)
    shown = []
    for row in backend.store.page(request.kind.resource, namespace=namespace):
        if matches is not None and not matches(row.namespace, row.name, row.object()):
            continue
        key = Key(request.kind.resource, row.namespace, row.name)
        obj, _ = end(backend, request.kind, key=key, options=options)
        shown.append(Stored(row.namespace, row.name, row.revision, present.encoded(obj)))
    meta = {"resourceVersion": str(backend.store.revision)}
    return present.many(backend, request, shown, meta=meta)
