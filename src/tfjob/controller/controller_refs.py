"""Adoption and release: writing or removing our owner reference on a child.

A job adopts only after a fresh look that it is still there and stays; every patch names the UID
of the object it is meant for.
"""

from typing import Any

from tfjob.client.errors import Conflict, Invalid, NotFound
from tfjob.client.http import STRATEGIC_PATCH, Api, Stored
from tfjob.client.resource import Resource
from tfjob.core.job import Job, Owner
from tfjob.k8s.meta import ObjectMeta


async def adopt(api: Api, job: Job, resource: Resource, meta: ObjectMeta) -> None:
    """Make an orphan a child. A child that is gone is no error."""
    body = _patch(meta, {"ownerReferences": [job.owner.reference()]})
    await _send(api, resource, meta, body)


async def release(api: Api, job: Job, resource: Resource, meta: ObjectMeta) -> None:
    """Let go of a child whose labels say that it is none any more."""
    removal = {"$patch": "delete", "uid": job.owner.uid}
    body = _patch(meta, {"ownerReferences": [removal]})
    await _send(api, resource, meta, body)


async def may_adopt(api: Api, owner: Owner, job_path: str) -> bool:
    """A fresh look shows the job, and that it stays."""
    try:
        fresh = await api.get(job_path, decode=Stored)
    except NotFound:
        return False
    return fresh.metadata.uid == owner.uid and not fresh.metadata.is_terminating


def _patch(meta: ObjectMeta, changes: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"uid": meta.uid, **changes}}


async def _send(api: Api, resource: Resource, meta: ObjectMeta, body: dict[str, Any]) -> None:
    path = resource.item(meta.name, meta.namespace)
    try:
        await api.patch(path, body, decode=Stored, content_type=STRATEGIC_PATCH)
    except (NotFound, Conflict):
        # Gone, or another object under the same name: not ours to claim.
        return
    except Invalid as error:
        if not is_for_another(error):
            raise


def is_for_another(error: Invalid) -> bool:
    """A patch met an object with another UID: a server then calls the UID it names immutable."""
    return any(cause.field == "metadata.uid" for cause in error.details.causes or ())
