"""Changes jobs: suspends, resumes, scales and deletes them.

A job may be deleted and created again between reading and writing. Every change carries the UID of
the job that was read, and never reaches a later one of the same name.
"""

from collections.abc import Mapping
from typing import Any

from tfjob.client.errors import Invalid
from tfjob.client.http import PartialObjectMetadata
from tfjob.dialects.registry import descriptor_of
from tfjob.k8s import jsonpath
from tfjob.sdk import job_lookup
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.jobs import ClusterJob


async def set_suspended(cluster: Cluster, found: ClusterJob, *, is_suspended: bool) -> bool:
    """Write the field that the job's API has for it; False if it has that value already."""
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
    await _set(cluster, found, path, is_suspended)
    return True


def _value_at(manifest: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    value: Any = manifest
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return bool(value)


async def scale(cluster: Cluster, found: ClusterJob, workers: int) -> None:
    """Change the number of workers, in the field behind the scale subresource.

    The subresource itself ignores a UID in a patch.
    """
    if found.status.is_finished:
        raise TFJobError(f"{found.title} has finished: {found.state}")
    path = _scale_path(found)
    if not path:
        raise TFJobError(
            f"{found.title}: {found.dialect.group}/{found.dialect.version} jobs cannot be scaled",
            remedy="delete the job, and create it again with another number of replicas",
        )
    await _set(cluster, found, path, workers)


def _scale_path(found: ClusterJob) -> tuple[str, ...]:
    """The field that the scale subresource changes; empty if the job's API has none."""
    for version in found.dialect.crd()["spec"]["versions"]:
        given = version.get("subresources", {}).get("scale")
        if given:
            return tuple(str(step) for step in jsonpath.parse(given["specReplicasPath"]))
    return ()


async def _set(cluster: Cluster, found: ClusterJob, path: tuple[str, ...], value: Any) -> None:
    """Write one field of the job that was read."""
    body: Any = value
    for name in reversed(path):
        body = {name: body}
    patch = {**body, "metadata": {"uid": found.job.owner.uid}}
    try:
        await cluster.api.patch(found.path, patch, decode=PartialObjectMetadata)
    except Invalid as error:
        if any(each.field == "metadata.uid" for each in error.details.causes or ()):
            raise job_lookup.replaced(found) from error
        raise


async def delete(cluster: Cluster, found: ClusterJob) -> None:
    """Delete a job with its pods and Services."""
    await cluster.api.delete(found.path, uid=found.job.owner.uid, propagation="Background")
