"""delete and deletecollection.

An object with finalizers is only marked for deletion. A running pod is marked until its node
deletes it with a grace period of zero.
"""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from tfjob.k8s import time
from tfjob.local.apiserver import decode, metadata, responses, selection_predicate, status
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.request import Answer, Request, json_answer
from tfjob.local.apiserver.store import Key, StoredObject

Json = dict[str, Any]

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_SHOWN_WHEN_GONE = frozenset({"pods", "services", "serviceaccounts", "persistentvolumeclaims"})
_PRECONDITIONS = (
    ("uid", "UID", "deleted and then recreated"),
    ("resourceVersion", "ResourceVersion", "modified"),
)
_POLICIES = ("Background", "Foreground", "Orphan")


class Options(msgspec.Struct, frozen=True, rename="camel"):
    """DeleteOptions of a request."""

    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    preconditions: dict[str, str | None] | None = None
    dry_run: list[str] | None = None


def delete(backend: Backend, request: Request) -> Answer:
    options = read_options(request)
    stored = backend.get(request)
    obj, is_gone = end(backend, request.kind, key=request.key, options=options)
    is_shown = request.kind.resource in _SHOWN_WHEN_GONE
    if is_gone and not is_shown:
        meta = stored.object()["metadata"]
        about: Json = {"name": request.name, "kind": request.kind.plural, "uid": meta["uid"]}
        if request.kind.group:
            about["group"] = request.kind.group
        return json_answer(status.success(about))
    return responses.object_response(backend, request, responses.encoded(obj))


def read_options(request: Request) -> Options:
    """Options from the body, else from the query."""
    value: object = {}
    if request.body.strip():
        value = decode.parse_body(request.body, request.content_type)
    elif request.query:
        value = _from_query(request)
    try:
        options = msgspec.convert(value, Options)
    except msgspec.ValidationError as error:
        raise status.bad_request(f"DeleteOptions: {error}; nothing was deleted") from error
    policy = options.propagation_policy
    if policy is not None and policy not in _POLICIES:
        finding = status.FieldError(
            "propagationPolicy",
            "FieldValueNotSupported",
            f'Unsupported value: "{policy}": '
            'supported values: "Foreground", "Background", "Orphan", "nil"',
        )
        raise status.invalid("DeleteOptions.meta.k8s.io", "", [finding])
    if request.is_dry_run:
        options = msgspec.structs.replace(options, dry_run=["All"])
    return options


def _from_query(request: Request) -> Json:
    query = request.query
    value: Json = {}
    if query.get("gracePeriodSeconds", "").lstrip("-").isdecimal():
        value["gracePeriodSeconds"] = int(query["gracePeriodSeconds"])
    if query.get("propagationPolicy"):
        value["propagationPolicy"] = query["propagationPolicy"]
    if query.get("orphanDependents"):
        value["orphanDependents"] = request.flag("orphanDependents")
    return value


def end(backend: Backend, kind: Kind, *, key: Key, options: Options) -> tuple[Json, bool]:
    """Delete an object or mark it; returns its state, and whether it is gone."""
    stored = backend.store.get(key)
    if stored is None:
        raise status.not_found(kind.qualified, key.name)
    obj = stored.object()
    _check_preconditions(kind, obj, options)
    _check_protected(kind, key)
    before = stored.object()
    _set_propagation(obj["metadata"], options)
    if kind.resource == "customresourcedefinitions.apiextensions.k8s.io":
        _keep_until_empty(obj["metadata"])
    resource = kind.resource
    is_kept = resource in {"pods", "namespaces"} or bool(obj["metadata"].get("finalizers"))
    if not is_kept:
        if not options.dry_run:
            remove(backend, key, obj)
        return obj, True
    _mark(kind, obj, grace=_grace(kind, obj, options), now=backend.clock())
    if options.dry_run:
        return obj, metadata.is_finished(obj, resource=resource)
    if metadata.is_finished(obj, resource=resource):
        remove(backend, key, obj)
        return obj, True
    if obj != before:
        backend.store.put(key, obj)
    return obj, False


def remove(backend: Backend, key: Key, obj: Json) -> None:
    """Remove an object from the store; `obj` keeps the resourceVersion that clients know."""
    revision = obj["metadata"]["resourceVersion"]
    backend.store.remove(key, obj)
    obj["metadata"]["resourceVersion"] = revision


def _check_preconditions(kind: Kind, obj: Json, options: Options) -> None:
    wanted = options.preconditions or {}
    meta = obj["metadata"]
    for field, label, what in _PRECONDITIONS:
        asked = wanted.get(field)
        if asked and asked != meta[field]:
            why = (
                f"the {label} in the precondition ({asked}) does not match "
                f"the {label} in record ({meta[field]}). The object might have been {what}"
            )
            raise status.conflict(kind.group_kind, meta["name"], why)


def _check_protected(kind: Kind, key: Key) -> None:
    if kind.resource == "namespaces" and key.name in {"default", "kube-system", "kube-public"}:
        message = f'namespaces "{key.name}" is forbidden: this namespace may not be deleted'
        about = {"name": key.name, "kind": "namespaces"}
        raise status.StatusError(403, "Forbidden", message, details=about)


def _set_propagation(meta: Json, options: Options) -> None:
    policy = options.propagation_policy
    if policy is None and options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if policy is None:
        return
    finalizers = [f for f in meta.get("finalizers") or [] if f not in {FOREGROUND, ORPHAN}]
    if policy == "Foreground":
        finalizers.append(FOREGROUND)
    if policy == "Orphan":
        finalizers.append(ORPHAN)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)


def _keep_until_empty(meta: Json) -> None:
    if "deletionTimestamp" not in meta and CLEANUP not in (meta.get("finalizers") or ()):
        meta["finalizers"] = [*(meta.get("finalizers") or ()), CLEANUP]


def _grace(kind: Kind, obj: Json, options: Options) -> int:
    """The grace period in seconds; only running pods have one."""
    if kind.resource != "pods":
        return 0
    asked = options.grace_period_seconds
    grace = asked if asked is not None else obj["spec"].get("terminationGracePeriodSeconds", 30)
    is_running_somewhere = bool(obj["spec"].get("nodeName"))
    is_over = (obj.get("status") or {}).get("phase") in {"Succeeded", "Failed"}
    if not is_running_somewhere or is_over:
        return 0
    return max(int(grace), 0) if grace >= 0 else 1


def _mark(kind: Kind, obj: Json, *, grace: int, now: datetime) -> None:
    meta = obj["metadata"]
    if "deletionTimestamp" in meta:
        if kind.resource == "pods" and grace < (meta.get("deletionGracePeriodSeconds") or 0):
            _shorten(meta, grace)
        return
    metadata.next_generation(meta)
    meta["deletionTimestamp"] = time.render(now + timedelta(seconds=grace))
    if kind.resource == "namespaces":
        obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
        return
    meta["deletionGracePeriodSeconds"] = grace


def _shorten(meta: Json, grace: int) -> None:
    end_at = time.parse(meta["deletionTimestamp"])
    saved = meta["deletionGracePeriodSeconds"] - grace
    if end_at is not None:
        meta["deletionTimestamp"] = time.render(end_at - timedelta(seconds=saved))
    meta["deletionGracePeriodSeconds"] = grace


def deletecollection(backend: Backend, request: Request) -> Answer:
    options = read_options(request)
    matches = selection_predicate.matcher(request)
    namespace = selection_predicate.namespace_asked(request)
    shown = []
    for row in backend.store.page(request.kind.resource, namespace=namespace):
        if matches is not None and not matches(row.namespace, row.name, row.object()):
            continue
        key = Key(request.kind.resource, row.namespace, row.name)
        obj, _ = end(backend, request.kind, key=key, options=options)
        shown.append(StoredObject(row.namespace, row.name, row.revision, responses.encoded(obj)))
    meta = {"resourceVersion": str(backend.store.revision)}
    return responses.list_response(backend, request, shown, meta=meta)
