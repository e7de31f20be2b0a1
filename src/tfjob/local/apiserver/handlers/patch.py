"""patch: JSON patch, merge patch, strategic merge patch and server-side apply.

Apply is a merge: fields that are sent win, others stay, and ownership of fields is not recorded. So
there are no conflicts, and leaving a field out does not remove it.
"""

from typing import Any

from tfjob.local.apiserver import admission, decode, responses, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.handlers.objects import commit, create_object
from tfjob.local.apiserver.json_patch import PatchError, json_patch, merge
from tfjob.local.apiserver.request import Answer, Request
from tfjob.local.apiserver.strategic_patch import strategic

Json = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
_MOST_OPERATIONS = 10_000


def patch(backend: Backend, request: Request) -> Answer:
    admission.check_options(request)
    media = request.content_type.partition(";")[0].strip().lower()
    if media == APPLY:
        return _apply(backend, request)
    if media not in {JSON_PATCH, MERGE, STRATEGIC}:
        raise status.StatusError(
            415, "UnsupportedMediaType", "415: Unsupported Media Type", details={}
        )
    if media == STRATEGIC and request.kind.is_custom:
        accepted = f"{JSON_PATCH}, {MERGE}, {APPLY}"
        raise status.unsupported_media(
            "the body of the request was in an unknown format - "
            f"accepted media types include: {accepted}"
        )
    old = backend.get(request).object()
    current = _shown(request, old)
    changed = patched(current, decode.parse_body(request.body, ""), media=media)
    return _store(backend, request, changed, old=old)


def _shown(request: Request, stored: Json) -> Json:
    """The object in the version that the patch was written for."""
    kind = request.kind
    shown = kind.outgoing(stored) if kind.outgoing is not None else stored
    return {"apiVersion": kind.api_version, "kind": kind.kind, **shown}


def patched(current: Json, change: object, *, media: str) -> object:
    try:
        if media == JSON_PATCH:
            if not isinstance(change, list) or len(change) > _MOST_OPERATIONS:
                raise status.bad_request(
                    f"a JSON patch must be a list of at most {_MOST_OPERATIONS} operations; "
                    "nothing was changed"
                )
            return json_patch(current, change)
        if not isinstance(change, dict):
            raise status.bad_request("a merge patch must be a JSON object; nothing was changed")
        if media == MERGE:
            return merge(current, change)
        return strategic(current, change)
    except PatchError as error:
        message = f"the server rejected our request due to an error in our request: {error}"
        raise status.StatusError(422, "Invalid", message, details={}) from error


def _apply(backend: Backend, request: Request) -> Answer:
    change = decode.parse_yaml(request.body)
    if not isinstance(change, dict):
        raise status.bad_request("an applied configuration must be an object; nothing was changed")
    if not request.query.get("fieldManager"):
        finding = status.FieldError(
            "fieldManager", "FieldValueRequired", "Required value: is required for apply patch"
        )
        raise status.invalid("PatchOptions.meta.k8s.io", "", [finding])
    _check_head(request, change)
    stored = backend.store.get(request.key)
    if stored is None:
        if request.subresource:
            raise status.not_found(request.kind.qualified, request.name)
        meta = {**(change.get("metadata") or {}), "name": request.name}
        return create_object(backend, request, {**change, "metadata": meta})
    current = _shown(request, stored.object())
    if request.kind.is_custom:
        changed: object = _overlaid(current, change)
    else:
        changed = strategic(current, change)
    return _store(backend, request, changed, old=stored.object())


def _overlaid(current: Json, change: Json) -> Json:
    """The object with the applied fields; unlike in a merge patch, null is a value."""
    found = dict(current)
    for key, value in change.items():
        before = found.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            found[key] = _overlaid(before, value)
        else:
            found[key] = value
    return found


def _check_head(request: Request, change: Json) -> None:
    kind = request.kind
    head = (change.get("apiVersion"), change.get("kind"))
    if head != (kind.api_version, kind.kind):
        raise status.bad_request(
            f"an applied configuration must name apiVersion {kind.api_version} "
            f"and kind {kind.kind}, it names {head[0]} and {head[1]}; nothing was changed"
        )


def _store(backend: Backend, request: Request, changed: object, *, old: Json) -> Answer:
    read = admission.read_object(request, changed)
    obj = admission.for_update(backend, request, read.obj, old)
    body = commit(backend, request, obj, old=old)
    return responses.object_response(backend, request, body, warnings=read.warnings)
