"""Object metadata: what clients may set, and what only the server sets.

Pure, except for the random suffixes of generated names and UIDs.
"""

import secrets
import uuid
from datetime import datetime
from typing import Any

from tfjob.k8s import time
from tfjob.k8s.field import Fault, forbidden, invalid, required
from tfjob.local.apiserver import status
from tfjob.local.apiserver.kinds import Kind

Json = dict[str, Any]
Faults = list[Fault | status.FieldError]

_TAIL_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_GENERATED_BASE = 58
_SERVER_SET = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
    "managedFields",
)
_KEPT_ON_UPDATE = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "generateName",
)


def generated_name(base: str) -> str:
    tail = "".join(secrets.choice(_TAIL_LETTERS) for _ in range(5))
    return base[:_LONGEST_GENERATED_BASE] + tail


def at_creation(obj: Json, *, kind: Kind, namespace: str, now: datetime) -> Json:
    """The object with the metadata of a new object."""
    meta = {k: v for k, v in obj["metadata"].items() if k not in _SERVER_SET and v is not None}
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = generated_name(meta["generateName"])
    if namespace:
        meta["namespace"] = namespace
    else:
        meta.pop("namespace", None)
    meta["uid"] = str(uuid.uuid4())
    if kind.has_generation or kind.is_custom:
        meta["generation"] = 1
    elif obj["metadata"].get("generation"):
        meta["generation"] = obj["metadata"]["generation"]
    meta["creationTimestamp"] = time.render(now)
    return {**obj, "metadata": _without_empty(meta)}


def at_update(obj: Json, old: Json) -> Json:
    """The object with server-owned metadata taken from its previous state."""
    before = old["metadata"]
    meta = {
        k: v
        for k, v in obj["metadata"].items()
        if k not in _SERVER_SET and k not in _KEPT_ON_UPDATE and v is not None
    }
    meta |= {k: before[k] for k in _KEPT_ON_UPDATE if k in before}
    for fixed in ("name", "namespace", "resourceVersion"):
        if fixed in before:
            meta[fixed] = before[fixed]
    return {**obj, "metadata": _without_empty(meta)}


def _without_empty(meta: Json) -> Json:
    """Drop empty maps and lists, as Go's omitempty does."""
    return {k: v for k, v in meta.items() if v not in ({}, [], "")}


def check_preconditions(kind: Kind, obj: Json, old: Json, *, is_patch: bool) -> None:
    """Refuse an update for another UID or resourceVersion."""
    asked, current = obj["metadata"], old["metadata"]
    name = current["name"]
    _check_uid(kind, asked.get("uid"), current, is_patch=is_patch)
    revision = asked.get("resourceVersion")
    if not revision:
        if kind.must_name_revision or kind.is_custom:
            fault = invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise status.invalid(kind.qualified, name, [fault])
        return
    if revision != current["resourceVersion"]:
        raise status.modified(kind.qualified, name)


def _check_uid(kind: Kind, asked: str | None, current: Json, *, is_patch: bool) -> None:
    if not asked or asked == current["uid"]:
        return
    name, namespace = current["name"], current.get("namespace", "")
    if is_patch:
        # kube-apiserver reports this twice.
        fault = invalid("metadata.uid", asked, "field is immutable")
        raise status.invalid(kind.group_kind, name, [fault, fault])
    where = "/".join(
        part
        for part in (kind.group if kind.is_custom else "", kind.plural, namespace, name)
        if part
    )
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{where}, ResourceVersion: 0, "
        f"AdditionalErrorMsg: Precondition failed: UID in precondition: {asked}, "
        f"UID in object meta: {current['uid']}"
    )
    raise status.conflict(kind.qualified, name, why)


def immutable_faults(obj: Json, old: Json) -> Faults:
    """Faults of changes to immutable metadata."""
    faults: Faults = []
    before = old["metadata"]
    if "deletionTimestamp" in before:
        new = set(obj["metadata"].get("finalizers") or ()) - set(before.get("finalizers") or ())
        if new:
            listed = ", ".join(f'"{finalizer}"' for finalizer in sorted(new))
            detail = "no new finalizers can be added if the object is being deleted"
            fault = forbidden(
                "metadata.finalizers", f"{detail}, found new finalizers []string{{{listed}}}"
            )
            # kube-apiserver reports this twice.
            faults += [fault, fault]
    return faults


def owner_faults(meta: Json) -> Faults:
    faults: Faults = []
    controllers = []
    for ref in meta.get("ownerReferences") or ():
        path = "metadata.ownerReferences"
        if not ref.get("apiVersion"):
            faults.append(invalid(f"{path}.apiVersion", "", "version must not be empty"))
        faults += [
            invalid(f"{path}.{field}", "", "must not be empty")
            for field in ("kind", "name", "uid")
            if not ref.get(field)
        ]
        if ref.get("controller"):
            controllers.append(ref)
    if len(controllers) > 1:
        names = " and ".join(ref.get("name", "") for ref in controllers[:2])
        detail = (
            "Only one reference can have Controller set to true. "
            f'Found "true" in references for {names}'
        )
        faults.append(invalid("metadata.ownerReferences", controllers, detail))
    return faults


def name_required(meta: Json) -> Faults:
    if meta.get("name"):
        return []
    return [required("metadata.name", "name or generateName is required")]


def is_finished(obj: Json, *, resource: str) -> bool:
    """Whether a deleted object has no finalizers left."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if resource == "namespaces" and obj["spec"].get("finalizers"):
        return False
    return not meta.get("deletionGracePeriodSeconds")


def next_generation(meta: Json) -> None:
    if "generation" in meta:
        meta["generation"] += 1
