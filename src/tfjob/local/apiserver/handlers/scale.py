"""The scale subresource, as autoscaling/v1 Scale."""

from typing import Any

import msgspec

from tfjob.k8s import jsonpath
from tfjob.local.apiserver import admission, decode, responses, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.handlers.objects import commit
from tfjob.local.apiserver.handlers.patch import patched
from tfjob.local.apiserver.request import Answer, Request, json_answer
from tfjob.local.apiserver.selector import SelectorError, labels_from_object

Json = dict[str, Any]


def get_scale(backend: Backend, request: Request) -> Answer:
    return json_answer(shown(request, backend.get(request).object()))


def update_scale(backend: Backend, request: Request) -> Answer:
    value = decode.parse_body(request.body, request.content_type)
    return _set(backend, request, value)


def patch_scale(backend: Backend, request: Request) -> Answer:
    current = shown(request, backend.get(request).object())
    media = request.content_type.partition(";")[0].strip().lower()
    change = decode.parse_body(request.body, "")
    return _set(backend, request, patched(current, change, media=media))


def shown(request: Request, obj: Json) -> Json:
    """The Scale of an object."""
    paths = request.kind.scale or {}
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec_replicas = _first(obj, paths["specReplicasPath"])
    answer: Json = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": spec_replicas} if spec_replicas else {},
        "status": {"replicas": _first(obj, paths["statusReplicasPath"]) or 0},
    }
    selector = _first(obj, paths["labelSelectorPath"]) if paths.get("labelSelectorPath") else None
    if selector:
        answer["status"]["selector"] = _selector_text(selector)
    return answer


def _first(obj: Json, path: str) -> Any:
    values = jsonpath.find(obj, path)
    return values[0] if values else None


def _selector_text(selector: object) -> str:
    if isinstance(selector, str):
        return selector
    try:
        return labels_from_object(selector).render()
    except SelectorError:
        return ""


def _set(backend: Backend, request: Request, value: object) -> Answer:
    replicas, revision = _wanted(request, value), _revision(request, value)
    old = backend.get(request).object()
    if revision and revision != old["metadata"]["resourceVersion"]:
        raise status.modified(request.kind.qualified, request.name)
    changed = backend.get(request).object()
    _put(changed, (request.kind.scale or {})["specReplicasPath"], replicas)
    obj = admission.for_update(backend, _whole_object(request), changed, old)
    stored = commit(backend, request, obj, old=old)
    return json_answer(shown(request, responses.decoded(stored)))


def _whole_object(request: Request) -> Request:
    return msgspec.structs.replace(request, subresource="")


def _wanted(request: Request, value: object) -> int:
    spec = value.get("spec") if isinstance(value, dict) else None
    replicas = (spec or {}).get("replicas", 0) if isinstance(spec or {}, dict) else None
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise status.bad_request(
            f"Scale of {request.kind.qualified} {request.name!r}: "
            "spec.replicas must be a whole number, "
            f"got {replicas!r}; nothing was changed"
        )
    if replicas < 0 and not request.kind.is_custom:
        fault = status.FieldError(
            "spec.replicas",
            "FieldValueInvalid",
            f"Invalid value: {replicas}: must be greater than or equal to 0",
        )
        raise status.invalid("Scale.autoscaling", request.name, [fault])
    return replicas


def _revision(request: Request, value: object) -> object:
    """The resourceVersion that the change is meant for; empty for any."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata or {}, dict):
        raise status.bad_request(
            f"Scale of {request.kind.qualified} {request.name!r}: "
            f"metadata must be an object, got {metadata!r}; nothing was changed"
        )
    return (metadata or {}).get("resourceVersion")


def _put(obj: Json, path: str, value: int) -> None:
    *parents, last = jsonpath.parse(path)
    place: Any = obj
    for step in parents:
        place = place.setdefault(step, {})
    place[last] = value
