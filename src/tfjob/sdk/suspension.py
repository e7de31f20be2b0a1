"""Suspends and resumes jobs by the field that their API has for it."""

from collections.abc import Mapping
from typing import Any

from tfjob.client.http import PartialObjectMetadata
from tfjob.dialects.registry import descriptor_of
from tfjob.sdk.connection import Cluster
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.jobs import ClusterJob


async def set_suspended(cluster: Cluster, found: ClusterJob, *, is_suspended: bool) -> bool:
    """Write the field; False if it has that value already."""
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
