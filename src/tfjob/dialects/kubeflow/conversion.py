"""Converts TFJobs between v1beta1 and v1.

Converting down loses nothing: fields that only v1 has are kept in an annotation. Converting up
rejects nothing: what cannot be converted stays as it is and is reported by validation.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tfjob.dialects.base import Manifest
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.kubeflow import api, defaults
from tfjob.k8s import field
from tfjob.k8s.nesting import UNREADABLE, is_deep

_POLICY = "runPolicy"
_CLEAN = "cleanPodPolicy"
_MOVED = (_CLEAN, "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
"""Fields that are in runPolicy in v1 and in the spec itself in v1beta1."""
_SPEC_ONLY_V1 = ("successPolicy", "enableDynamicWorker")
_POLICY_ONLY_V1 = ("schedulingPolicy", "suspend", "managedBy")


def up(manifest: Manifest) -> Manifest:
    """Convert to v1. The default cleanPodPolicy of v1beta1 is made explicit."""
    given = _mapping(manifest)
    if given is None:
        return manifest
    found = dict(restored(Reader(), given))
    is_old = found.get("apiVersion") != api.API_VERSION
    found["apiVersion"] = api.API_VERSION
    spec, status = _mapping(found.get("spec")), _mapping(found.get("status"))
    if spec is not None:
        found["spec"] = _moved_into_policy(spec, is_old=is_old)
    if status is not None and "replicaStatuses" not in status:
        found["status"] = {_STATUS_NAMES.get(key, key): value for key, value in status.items()}
    return found


def origins(manifest: Manifest) -> dict[str, str]:
    """Maps paths of a job that was converted to v1 to those it has, or would have, in v1beta1."""
    spec = _mapping(manifest.get("spec")) or {}
    policy = _mapping(spec.get(_POLICY)) or {}
    return {f"spec.{_POLICY}.{key}": f"spec.{key}" for key in _MOVED if key not in policy}


_STATUS_NAMES = {"tfReplicaStatuses": "replicaStatuses"}


def down(manifest: Manifest) -> Manifest:
    """Convert a job without faults to v1beta1."""
    given = dict(manifest["spec"])
    policy = dict(given.pop(_POLICY, None) or {})
    kept: dict[str, Any] = {key: given.pop(key) for key in _SPEC_ONLY_V1 if key in given}
    kept_policy = {key: policy.pop(key) for key in _POLICY_ONLY_V1 if key in policy}
    if kept_policy:
        kept[_POLICY] = kept_policy
    spec = {_CLEAN: defaults.CLEAN_POD_POLICY, **_saying(given), **_saying(policy)}
    found = {**manifest, "apiVersion": api.OLD_API_VERSION, "spec": spec}
    if kept:
        text = msgspec.json.encode(kept, order="sorted").decode()
        metadata = dict(found.get("metadata") or {})
        metadata["annotations"] = {**(metadata.get("annotations") or {}), api.V1_ONLY: text}
        found["metadata"] = metadata
    return found


def restored(reader: Reader, manifest: Manifest) -> Manifest:
    """The job with the v1-only fields from its annotation, and without the annotation.

    All jobs are stored as v1; only the annotation shows that one was written as v1beta1.
    """
    metadata = _mapping(manifest.get("metadata")) or {}
    annotations = _mapping(metadata.get("annotations")) or {}
    if api.V1_ONLY not in annotations:
        return manifest
    kept = _parsed(annotations[api.V1_ONLY])
    spec = _mapping(manifest.get("spec"))
    if kept is None:
        path = f"metadata.annotations[{api.V1_ONLY}]"
        rule = "must be a JSON object with the fields that only v1 has; remove it if they are gone"
        reader.note(field.invalid(path, annotations[api.V1_ONLY], rule))
    if kept is None or spec is None:
        return manifest
    others = {key: value for key, value in annotations.items() if key != api.V1_ONLY}
    named = {key: value for key, value in metadata.items() if key != "annotations"}
    if others:
        named["annotations"] = others
    return {**manifest, "metadata": named, "spec": _with_kept(spec, kept)}


def _moved_into_policy(spec: Mapping[str, Any], *, is_old: bool) -> Mapping[str, Any]:
    """Values in the run policy take precedence over those in the spec."""
    given = spec.get(_POLICY)
    policy = {} if given is None else _mapping(given)
    if policy is None:
        return spec
    outer = {key: spec[key] for key in _MOVED if key in spec}
    default = {_CLEAN: defaults.OLD_CLEAN_POD_POLICY} if is_old else {}
    joined = {**default, **_saying(outer), **_saying(policy)}
    rest = {key: value for key, value in spec.items() if key not in {_POLICY, *_MOVED}}
    return {**rest, _POLICY: joined} if joined else rest


def _with_kept(spec: Mapping[str, Any], kept: Mapping[str, Any]) -> Mapping[str, Any]:
    """Fields of the spec take precedence over those from the annotation."""
    restored_spec = {key: kept[key] for key in _SPEC_ONLY_V1 if key in kept} | _saying(spec)
    given = spec.get(_POLICY)
    policy = {} if given is None else _mapping(given)
    if policy is None or not kept.get(_POLICY):
        return restored_spec
    kept_policy = {key: kept[_POLICY][key] for key in _POLICY_ONLY_V1 if key in kept[_POLICY]}
    return {**restored_spec, _POLICY: {**kept_policy, **_saying(policy)}}


def _parsed(text: object) -> Mapping[str, Any] | None:
    if not isinstance(text, str):
        return None
    try:
        raw = text.encode()
        kept = None if is_deep(raw) else _mapping(msgspec.json.decode(raw))
    except UNREADABLE:
        return None
    if kept is None or _mapping(kept.get(_POLICY, {})) is None:
        return None
    return kept


def _saying(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are set: null and an empty cleanPodPolicy are the same as absent."""
    return {
        key: value
        for key, value in fields.items()
        if value is not None and not (key == _CLEAN and value == "")
    }


def _mapping(value: object) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None
