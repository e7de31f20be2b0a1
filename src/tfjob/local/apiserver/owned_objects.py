"""What controllers do with the objects they own: find, create and delete them, record events.

An object is owned if it has the owner's UID; labels are not enough.
"""

from contextlib import suppress
from datetime import datetime
from typing import Any

from tfjob.k8s import time
from tfjob.local.apiserver import responses
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.handlers.delete import Options, end
from tfjob.local.apiserver.handlers.objects import create_object
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.request import Request
from tfjob.local.apiserver.status import StatusError
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
_ENDED = frozenset({"Succeeded", "Failed"})


def owned(backend: Backend, owner: Json, resource: str) -> list[Json]:
    """Objects of a resource that have this owner, by name."""
    found = []
    for key in backend.store.owned_by(owner["metadata"]["uid"]):
        stored = backend.store.get(key) if key.resource == resource else None
        if stored is not None:
            found.append(stored.object())
    return sorted(found, key=lambda child: str(child["metadata"]["name"]))


def make(backend: Backend, resource: str, body: Json, *, namespace: str) -> Json:
    """Create an object as a client would; raises StatusError if it is refused."""
    request = Request(verb="create", kind=_kind(backend, resource), namespace=namespace)
    return responses.decoded(create_object(backend, request, body).body)


def drop(backend: Backend, resource: str, child: Json) -> None:
    """Delete an object as a client would."""
    meta = child["metadata"]
    key = Key(resource, meta["namespace"], meta["name"])
    options = Options(propagation_policy="Background")
    end(backend, _kind(backend, resource), key=key, options=options)


def store_status(backend: Backend, key: Key, status: Json) -> None:
    """Store the status if it changed."""
    stored = backend.store.get(key)
    if stored is not None and stored.object().get("status") != status:
        backend.store.put(key, {**stored.object(), "status": status})


def pod_of(owner: Json, *, api_version: str, kind: str) -> Json:
    """A pod from the owner's template, with a generated name."""
    template = owner["spec"]["template"]
    known = template.get("metadata") or {}
    kept = ("labels", "annotations", "finalizers")
    return {
        "metadata": {
            **{field: known[field] for field in kept if field in known},
            "generateName": f"{owner['metadata']['name']}-",
            "ownerReferences": [owner_reference(owner, api_version=api_version, kind=kind)],
        },
        "spec": template.get("spec") or {},
    }


def owner_reference(owner: Json, *, api_version: str, kind: str) -> Json:
    meta = owner["metadata"]
    named = {"apiVersion": api_version, "kind": kind, "name": meta["name"], "uid": meta["uid"]}
    return {**named, "controller": True, "blockOwnerDeletion": True}


def record_event(
    backend: Backend, about: Json, *, reference: str, component: str, reason: str, message: str
) -> None:
    """Record a Normal event; `reference` is the object's API version and kind, `apps/v1 X`."""
    meta, now = about["metadata"], time.render(backend.clock())
    api_version, _, kind = reference.partition(" ")
    named = {"kind": kind, "apiVersion": api_version, "namespace": meta["namespace"]}
    body = {
        "metadata": {"generateName": f"{meta['name']}."},
        "involvedObject": {**named, "name": meta["name"], "uid": meta["uid"]},
        "reason": reason,
        "message": message,
        "type": "Normal",
        "source": {"component": component},
        "reportingComponent": component,
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
    }
    with suppress(StatusError):  # a terminating namespace takes no events
        make(backend, "events", body, namespace=meta["namespace"])


def is_terminating(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def has_ended(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def is_active(pod: Json) -> bool:
    return not has_ended(pod) and not is_terminating(pod)


def ready_since(pod: Json) -> datetime | None:
    """When the pod became ready; None if it is not."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") == "True":
            changed = time.parse(condition.get("lastTransitionTime"))
            return changed or time.parse(pod["metadata"].get("creationTimestamp"))
    return None


def ended_at(pod: Json) -> datetime | None:
    """When the pod's last container terminated, if known; else when the pod was created."""
    states = [one.get("state") or {} for one in pod["status"].get("containerStatuses") or ()]
    ends = [time.parse((state.get("terminated") or {}).get("finishedAt")) for state in states]
    known = [moment for moment in ends if moment is not None]
    return max(known, default=time.parse(pod["metadata"].get("creationTimestamp")))


def _kind(backend: Backend, resource: str) -> Kind:
    kind = backend.registry.of_resource(resource)
    if kind is None:
        raise RuntimeError(f"{resource}: a built-in kind is missing from the registry")
    return kind
