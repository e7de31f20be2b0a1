"""Adoption and release: adds or removes the job's controller reference on a child.

Before adopting, the job is read from the server to make sure that it exists and is not being
deleted. Every patch carries the UID of the child as a precondition.
"""

from typing import Any

from tfjob.client.errors import Conflict, Invalid, NotFound
from tfjob.client.http import STRATEGIC_PATCH, Api, PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.core.job import FINALIZER, Job, Owner
from tfjob.k8s.meta import ObjectMeta


async def adopt(api: Api, job: Job, resource: Resource, meta: ObjectMeta) -> None:
    """Adopt an orphan. One that no longer exists is not an error."""
    body = _patch(meta, {"ownerReferences": [job.owner.reference()]})
    await _send(api, resource, meta, body)


async def release(api: Api, job: Job, resource: Resource, meta: ObjectMeta) -> None:
    """Release a child whose labels no longer match the job."""
    removal = {"$patch": "delete", "uid": job.owner.uid}
    body = _patch(meta, {"ownerReferences": [removal]})
    if FINALIZER in meta.finalizers:
        # No job waits for its result any more.
        body["metadata"]["$deleteFromPrimitiveList/finalizers"] = [FINALIZER]
    await _send(api, resource, meta, body)


async def may_adopt(api: Api, owner: Owner, job_path: str) -> bool:
    """Whether the job still exists on the server and is not being deleted."""
    return await live_uid(api, job_path) == owner.uid


async def live_uid(api: Api, path: str) -> str | None:
    """The UID of an object as the server has it; None if it is gone or being deleted."""
    try:
        fresh = await api.get(path, decode=PartialObjectMetadata)
    except NotFound:
        return None
    return None if fresh.metadata.is_terminating else fresh.metadata.uid


def _patch(meta: ObjectMeta, changes: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"uid": meta.uid, **changes}}


async def _send(api: Api, resource: Resource, meta: ObjectMeta, body: dict[str, Any]) -> None:
    path = resource.item(meta.name, meta.namespace)
    try:
        await api.patch(path, body, decode=PartialObjectMetadata, content_type=STRATEGIC_PATCH)
    except (NotFound, Conflict):
        # Deleted, or replaced by another object of that name.
        return
    except Invalid as error:
        if not is_uid_mismatch(error):
            raise


def is_uid_mismatch(error: Invalid) -> bool:
    """Whether a patch failed because the object has another UID: the server then reports that
    metadata.uid is immutable."""
    return any(cause.field == "metadata.uid" for cause in error.details.causes or ())
