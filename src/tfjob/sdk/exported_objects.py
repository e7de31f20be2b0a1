"""Removes what an API server or a controller set from objects that `kubectl get -o yaml` exported.

The result can be created again, on this cluster or on another one. Only an object with a UID is an
export: in any other object, all fields were written by the user and are kept.
"""

from collections.abc import Mapping
from typing import Any, Final

from tfjob.dialects.registry import dialect_for

_SET_BY_SERVERS: Final = frozenset(
    {
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
        "clusterName",
    }
)
_OF_ANOTHER_CLUSTER: Final = ("ownerReferences", "finalizers")
"""Owners that do not exist here, and finalizers that nobody here removes."""
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""kubectl's copy of the object as it was last applied."""
_BOUND: Final = ("pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/")
"""Prefixes of the annotations of a claim that is bound."""


def as_written(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The object without the fields that an API server sets."""
    kept = {key: value for key, value in manifest.items() if key != "status"}
    given = manifest.get("metadata")
    if not isinstance(given, Mapping):
        return kept
    metadata = {key: value for key, value in given.items() if key not in _SET_BY_SERVERS}
    annotations = metadata.pop("annotations", None) or {}
    if isinstance(annotations, Mapping):
        annotations = {key: each for key, each in annotations.items() if key != _LAST_APPLIED}
    if annotations:
        metadata["annotations"] = annotations
    return {**kept, "metadata": metadata}


def left_out(manifest: Mapping[str, Any]) -> str:
    """A sentence about ties that are not kept, which the user may have meant; empty if none."""
    given = manifest.get("metadata")
    metadata = given if isinstance(given, Mapping) else {}
    ties = [f"metadata.{key}" for key in _OF_ANOTHER_CLUSTER if metadata.get(key)]
    if not ties:
        return ""
    verb, they, belong = ("is", "it", "belongs") if len(ties) == 1 else ("are", "they", "belong")
    return (
        f"{manifest.get('kind')} {metadata.get('name')}: {' and '.join(ties)} {verb} left out,"
        f" because {they} {belong} to the cluster that the object comes from"
    )


def for_new_cluster(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The object without its ties to the cluster that it was exported from."""
    found = _without_generated(as_written(manifest), manifest.get("metadata"))
    metadata = found.get("metadata")
    if isinstance(metadata, Mapping):
        found["metadata"] = {
            key: value for key, value in metadata.items() if key not in _OF_ANOTHER_CLUSTER
        }
    if found.get("kind") == "PersistentVolumeClaim":
        return _unbound(found)
    return found


def _without_generated(found: dict[str, Any], metadata: object) -> dict[str, Any]:
    """The job without the names that the operator generated for the exported one."""
    dialect = dialect_for(found.get("apiVersion"), found.get("kind"))
    spec = found.get("spec")
    is_export = isinstance(metadata, Mapping) and "uid" in metadata
    if dialect is None or not is_export or not isinstance(spec, Mapping):
        return found
    kept = {key: value for key, value in spec.items() if key not in dialect.generated_fields}
    return {**found, "spec": kept}


def _unbound(claim: dict[str, Any]) -> dict[str, Any]:
    """The claim without the volume that it was bound to, which does not exist here."""
    spec, metadata = claim.get("spec"), claim.get("metadata")
    if isinstance(spec, Mapping):
        claim["spec"] = {key: value for key, value in spec.items() if key != "volumeName"}
    annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    if isinstance(metadata, Mapping) and isinstance(annotations, Mapping):
        kept = {key: each for key, each in annotations.items() if not str(key).startswith(_BOUND)}
        claim["metadata"] = {**metadata, "annotations": kept}
    return claim
