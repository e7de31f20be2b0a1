"""Admission: from a client's object to the stored one (decode, prune, default, validate).

The result depends on the request, the previous state and the clock alone; nothing is written here.
Each subresource changes only its own part of the object.
"""

import base64
from typing import Any

import msgspec

from tfjob.k8s.field import not_in
from tfjob.local.apiserver import (
    bootstrap,
    builtin_validation,
    crd,
    decode,
    defaults,
    metadata,
    pod_admission,
    quota,
    status,
)
from tfjob.local.apiserver.backend import Backend
from tfjob.local.apiserver.kinds import Kind
from tfjob.local.apiserver.request import Request

Json = dict[str, Any]
_STATUS_FIRST = frozenset({"Node", "PersistentVolumeClaim"})  # may be created with a status


class Admitted(msgspec.Struct, frozen=True):
    obj: Json
    warnings: tuple[str, ...] = ()


def read_object(request: Request, value: object) -> Admitted:
    """Decode the object; unknown fields are dropped and reported."""
    kind = request.kind
    obj = decode.object_of(value, kind)
    if kind.incoming is not None:
        obj = kind.incoming(obj)
    if kind.is_custom:
        obj["metadata"], unknown = _custom_metadata(obj["metadata"], kind)
        unknown += kind.schema.prune(obj)
    else:
        obj, unknown = decode.typed(obj, kind)
        obj.setdefault("metadata", {})
    return Admitted(obj, _judge_unknown(unknown, request))


def _custom_metadata(meta: Json, kind: Kind) -> tuple[Json, list[str]]:
    shell = msgspec.structs.replace(kind, kind="CustomResourceDefinition")
    read, unknown = decode.typed({"metadata": meta}, shell)
    return dict(read["metadata"]), unknown


def _judge_unknown(unknown: list[str], request: Request) -> tuple[str, ...]:
    wish = request.query.get("fieldValidation", "")
    if wish not in {"", "Strict", "Warn", "Ignore"}:
        fault = not_in("fieldValidation", wish, ("Ignore", "Strict", "Warn"))
        raise status.invalid("CreateOptions.meta.k8s.io", "", [fault])
    if not unknown or wish == "Ignore":
        return ()
    texts = tuple(f'unknown field "{path}"' for path in unknown)
    if wish == "Strict":
        kind = request.kind
        why = f"strict decoding error: {', '.join(texts)}"
        if request.verb == "patch":
            finding = status.FieldError("patch", "FieldValueInvalid", f"Invalid value: {why}")
            raise status.invalid("", "", [finding])
        head = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
        raise status.bad_request(f"{head}: {why}")
    return texts


def check_options(request: Request) -> None:
    """Refuse a dryRun other than All."""
    wish = request.query.get("dryRun")
    if wish not in {None, "", "All"}:
        fault = not_in("dryRun", [wish], ["All"])
        names = {"create": "CreateOptions", "patch": "PatchOptions", "update": "UpdateOptions"}
        option = names.get(request.verb, "DeleteOptions")
        raise status.invalid(f"{option}.meta.k8s.io", "", [fault])


def for_creation(backend: Backend, request: Request, obj: Json) -> Json:
    """The first state of an object, validated."""
    kind = request.kind
    _check_place(request, obj)
    obj = metadata.at_creation(obj, kind=kind, namespace=request.namespace, now=backend.clock())
    _check_namespace(backend, request, obj)
    if kind.is_custom:
        if kind.has_status:
            obj.pop("status", None)
        kind.schema.default(obj)
    else:
        first = obj.get("status")
        if kind.has_status:
            obj.pop("status", None)
        _built_in_defaults(kind, obj)
        if first and kind.kind in _STATUS_FIRST:
            obj["status"] = {**(obj.get("status") or {}), **first}
    _refuse_faults(kind, obj, _creation_faults(kind, obj))
    _assign(backend, kind, obj)
    _prune_for_storage(kind, obj)
    return obj


def _prune_for_storage(kind: Kind, obj: Json) -> None:
    if kind.storage_schema is not None:
        kind.storage_schema.prune(obj)


def _built_in_defaults(kind: Kind, obj: Json) -> None:
    defaults.apply_defaults(kind.kind, obj)
    if kind.resource == "secrets":
        _fold_string_data(obj)
    if kind.resource == crd.RESOURCE:
        crd.prepare(obj)


def _fold_string_data(secret: Json) -> None:
    plain = secret.pop("stringData", None) or {}
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in plain.items()}
    if encoded:
        secret["data"] = {**(secret.get("data") or {}), **encoded}


def _assign(backend: Backend, kind: Kind, obj: Json) -> None:
    """Set what depends on other objects or the clock."""
    if kind.resource == "pods":
        pod_admission.admit_pod(backend.store, obj)
        if backend.mounts_tokens:
            pod_admission.add_token_volume(backend.store, obj)
    quota.check(backend.store, kind, obj)
    if kind.resource == "services":
        backend.cluster_ips.assign(obj)
    if kind.resource == crd.RESOURCE:
        crd.established(obj, now=backend.clock())


def _check_place(request: Request, obj: Json) -> None:
    namespace = obj["metadata"].get("namespace")
    if namespace and namespace != request.namespace:
        what = (
            "the namespace of the provided object does not match the namespace sent on the request"
        )
        raise status.bad_request(what)
    if obj["metadata"].get("resourceVersion"):
        raise status.StatusError(
            500, "", "resourceVersion should not be set on objects to be created"
        )


def _check_namespace(backend: Backend, request: Request, obj: Json) -> None:
    if not request.namespace:
        return
    found = backend.namespace(request.namespace)
    if found is None:
        named = {**obj, "kind": request.kind.kind}
        if request.is_dry_run and bootstrap.is_provisioned(backend, request.namespace, named):
            return
        raise status.not_found("namespaces", request.namespace)
    if "deletionTimestamp" in found["metadata"]:
        name = obj["metadata"].get("name", "")
        raise status.terminating(request.kind.qualified, name, request.namespace)


def _creation_faults(kind: Kind, obj: Json) -> metadata.Faults:
    faults = builtin_validation.metadata_faults(kind, obj)
    if kind.is_custom:
        return [*faults, *kind.schema.faults(obj)]
    if kind.resource == crd.RESOURCE:
        return [*faults, *crd.faults(obj)]
    return [*faults, *builtin_validation.content_faults(kind, obj)]


def _refuse_faults(kind: Kind, obj: Json, faults: metadata.Faults) -> None:
    if faults:
        raise status.invalid(kind.group_kind, obj["metadata"].get("name", ""), faults)


def for_update(backend: Backend, request: Request, obj: Json, old: Json) -> Json:
    """The next state of an object, validated; equal to `old` if nothing changes."""
    kind = request.kind
    _check_name(request, obj)
    metadata.check_preconditions(kind, obj, old, is_patch=request.verb == "patch")
    if request.subresource == "status":
        obj = _status_only(kind, obj, old)
    else:
        obj = metadata.at_update(obj, old)
        _keep_other_parts(backend, kind, obj, old)
    _refuse_faults(kind, obj, _update_faults(request, obj, old))
    _prune_for_storage(kind, obj)
    if _spec_changed(kind, obj, old):
        metadata.next_generation(obj["metadata"])
    return obj


def _check_name(request: Request, obj: Json) -> None:
    name = obj["metadata"].get("name")
    if not name and request.verb == "update":
        raise status.bad_request(
            f"the name of the object ({request.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != request.name:
        raise status.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({request.name})"
        )
    namespace = obj["metadata"].get("namespace")
    if namespace and namespace != request.namespace:
        raise status.bad_request(
            "the namespace of the object "
            f"({namespace}) does not match the namespace on the request ({request.namespace})"
        )


def _status_only(kind: Kind, obj: Json, old: Json) -> Json:
    if kind.is_custom:
        meta = {**old["metadata"]}
    else:
        meta = metadata.at_update(obj, old)["metadata"]
        for field in ("ownerReferences", "finalizers"):
            meta.pop(field, None)
            if field in old["metadata"]:
                meta[field] = old["metadata"][field]
    result = {**old, "metadata": meta}
    result.pop("status", None)
    if kind.resource == "pods":
        defaults.pod_status(obj.setdefault("status", {}))
    if "status" in obj:
        result["status"] = obj["status"]
    return result


def _keep_other_parts(backend: Backend, kind: Kind, obj: Json, old: Json) -> None:
    if kind.has_status:
        obj.pop("status", None)
    if kind.is_custom:
        kind.schema.default(obj)
    else:
        _carry_over(kind, obj, old)
        _built_in_defaults(kind, obj)
    if kind.has_status:
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]
    if kind.resource == crd.RESOURCE and not crd.faults(obj):
        crd.established(obj, now=backend.clock(), old=old)


def _carry_over(kind: Kind, obj: Json, old: Json) -> None:
    """Keep values that the server chose earlier and that the update leaves out."""
    if kind.resource == "services":
        spec, before = obj.setdefault("spec", {}), old["spec"]
        if spec.get("type", "ClusterIP") != "ExternalName":
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if not spec.get(field) and field in before:
                    spec[field] = before[field]
    if kind.resource == "namespaces":
        obj["spec"] = old.get("spec", {})
    if kind.resource == "jobs.batch":
        spec, before = obj.setdefault("spec", {}), old["spec"]
        spec.setdefault("selector", before.get("selector"))


def _update_faults(request: Request, obj: Json, old: Json) -> metadata.Faults:
    kind = request.kind
    faults: metadata.Faults = []
    if request.subresource != "status":
        faults += builtin_validation.metadata_faults(kind, obj)
    faults += builtin_validation.update_faults(kind, obj, old)
    if kind.is_custom:
        if request.subresource == "status":
            return [*faults, *kind.schema.status_faults(obj, old)]
        return [*faults, *kind.schema.faults(obj, old)]
    if request.subresource == "status":
        return faults
    if kind.resource == crd.RESOURCE:
        return [*faults, *crd.faults(obj)]
    return [*faults, *builtin_validation.content_faults(kind, obj)]


def _spec_changed(kind: Kind, obj: Json, old: Json) -> bool:
    if not (kind.has_generation or kind.is_custom):
        return False
    apart = {"metadata", "status"} if kind.has_status else {"metadata"}
    return {k: v for k, v in obj.items() if k not in apart} != {
        k: v for k, v in old.items() if k not in apart
    }
