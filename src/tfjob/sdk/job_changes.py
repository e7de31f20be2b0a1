"""Changes jobs: suspends, resumes, scales and deletes them."""

from collections.abc import Mapping
from typing import Any

from tfjob.client.http import PartialObjectMetadata
from tfjob.dialects.registry import descriptor_of
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.jobs import ClusterJob, resource_of


async def set_suspended(cluster: Cluster, found: ClusterJob, *, is_suspended: bool) -> bool:
    """Set the suspend field of the job's API; False if it already has that value."""
    path = descriptor_of(found.dialect).suspend_path
    if not path:
        api = f"{found.dialect.group}/{found.dialect.version}"
        raise TFJobError(
            f"{found.title}: {api} jobs cannot be suspended",
            remedy="delete the job, and create it again to go on",
        )
    if found.status.is_finished:
        raise TFJobError(f"{found.title} has finished: {found.state}")
    if _value_at(found.manifest, path) is is_suspended:
        return False
    patch = _nested(path, value=is_suspended)
    patch["metadata"] = {"uid": found.job.owner.uid}  # never a later job of the same name
    await cluster.api.patch(found.path, patch, decode=PartialObjectMetadata)
    return True


def _value_at(manifest: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    value: Any = manifest
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return bool(value)


def _nested(path: tuple[str, ...], *, value: bool) -> dict[str, Any]:
    body: Any = value
    for name in reversed(path):
        body = {name: body}
    return dict(body)


async def scale(cluster: Cluster, found: ClusterJob, workers: int) -> None:
    """Change the number of workers through the scale subresource, as `kubectl scale` does."""
    if found.status.is_finished:
        raise TFJobError(f"{found.title} has finished: {found.state}")
    if not _has_scale(found):
        raise TFJobError(
            f"{found.title}: {found.dialect.group}/{found.dialect.version} jobs cannot be scaled",
            remedy="delete the job, and create it again with another number of replicas",
        )
    path = resource_of(found.dialect).item(found.name, found.namespace, subresource="scale")
    await cluster.api.patch(path, {"spec": {"replicas": workers}}, decode=PartialObjectMetadata)


def _has_scale(found: ClusterJob) -> bool:
    versions = found.dialect.crd()["spec"]["versions"]
    return any("scale" in each.get("subresources", {}) for each in versions)


async def delete(cluster: Cluster, found: ClusterJob) -> None:
    """Delete a job with its pods and Services, but never a later job of the same name."""
    await cluster.api.delete(found.path, uid=found.job.owner.uid, propagation="Background")
