"""Writes to the job itself: its status, only over the object that was decided on, its completed
spec, and its end.

On conflict the job is read afresh and decided again; nothing of another writer is overwritten.
Fields at the top of the status that we do not know stay as they are.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from tfjob.client.errors import Conflict, NotFound, NotLeadingError
from tfjob.client.http import Api, Stored
from tfjob.client.resource import Resource
from tfjob.controller.job_object import JobObject
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.core.status import JobStatus
from tfjob.dialects.base import Dialect, Manifest, StatusContext

TRIES: Final = 5

Decide = Callable[[JobObject], tuple[Job | InvalidJob, Plan]]
Complete = Callable[[Manifest], dict[str, Any] | None]


class Written(msgspec.Struct):
    """The decision that was stored, and the version of the job that must be seen before another.

    That is the version it was stored as, or the one it was decided on afresh; None where the
    cache knew all along. Without a difference to what stood there nothing was stored.
    """

    job: Job | InvalidJob
    plan: Plan
    version: str | None
    is_stored: bool = False


class StatusWriter:
    def __init__(
        self, api: Api, dialect: Dialect, *, may_write: Callable[[], bool] = lambda: True
    ) -> None:
        self._api = api
        self._may_write = may_write
        self._dialect = dialect
        self._resource = Resource(dialect.group, dialect.version, dialect.plural)

    def path(self, stored: JobObject) -> str:
        return self._resource.item(stored.metadata.name, stored.metadata.namespace)

    async def write(
        self,
        stored: JobObject,
        *,
        job: Job | InvalidJob,
        plan: Plan,
        observed: StatusContext,
        decide: Decide,
    ) -> Written | None:
        """Store the plan's status; None when the job is gone or has become another one."""
        known: str | None = None
        for attempt in range(TRIES):
            body = self._body(stored, job, plan, observed)
            if body is None:
                return Written(job, plan, known)
            try:
                made = await self._put(stored, body)
            except NotFound:
                return None
            except Conflict:
                if attempt + 1 == TRIES:
                    raise
            else:
                return Written(job, plan, made.metadata.resource_version, is_stored=True)
            fresh = await self.fresh(stored)
            if fresh is None:
                return None
            stored, known = fresh, fresh.metadata.resource_version
            job, plan = decide(stored)
        raise AssertionError("the last attempt returns or raises")

    async def complete(self, stored: JobObject, complete: Complete) -> str | None:
        """Store the spec that the whole job, read afresh, shall have; the version to wait for.

        None when the job is gone. Where another writer is faster, Conflict is raised.
        """
        try:
            fresh: dict[str, Any] = await self._api.get(self.path(stored), decode=dict)
        except NotFound:
            return None
        metadata = fresh["metadata"]
        if metadata["uid"] != stored.metadata.uid:
            return None
        spec = complete(fresh)
        if spec is None or metadata.get("deletionTimestamp"):
            return str(metadata["resourceVersion"])
        if not self._may_write():
            raise NotLeadingError
        body = {**fresh, "spec": spec}
        made = await self._api.replace(self.path(stored), body, decode=Stored)
        return made.metadata.resource_version

    async def delete(self, stored: JobObject) -> None:
        """Delete the job itself, if it is as it was decided about; its children follow it."""
        meta = stored.metadata
        await self._api.delete(
            self.path(stored), uid=meta.uid, resource_version=meta.resource_version
        )

    async def fresh(self, stored: JobObject) -> JobObject | None:
        """The same job as the server has it now; None when it is gone."""
        try:
            fresh = await self._api.get(self.path(stored), decode=JobObject)
        except NotFound:
            return None
        return fresh if fresh.metadata.uid == stored.metadata.uid else None

    async def _put(self, stored: JobObject, body: dict[str, Any]) -> Stored:
        path = self._resource.item(
            stored.metadata.name, stored.metadata.namespace, subresource="status"
        )
        if not self._may_write():
            raise NotLeadingError
        return await self._api.replace(path, body, decode=Stored)

    def _body(
        self, stored: JobObject, job: Job | InvalidJob, plan: Plan, observed: StatusContext
    ) -> dict[str, Any] | None:
        """What to send; None where nothing has changed."""
        is_ignored = job.is_ignored
        if plan.status is None and (is_ignored or not self._dialect.shows_children):
            return None
        before = stored.stored_status()
        status = job.status if plan.status is None else plan.status
        shown = self._shown(job, status, msgspec.structs.replace(observed, stored=before))
        if self._dialect.shows_children and _said(shown) == _said(before):
            return None
        meta = stored.metadata
        return {
            "apiVersion": f"{self._dialect.group}/{self._dialect.version}",
            "kind": self._dialect.kind,
            "metadata": {
                "name": meta.name,
                "namespace": meta.namespace,
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
            },
            "status": shown,
        }

    def _shown(
        self, job: Job | InvalidJob, status: JobStatus, observed: StatusContext
    ) -> dict[str, Any]:
        """The whole status; fields that its dialect does not know stay."""
        own = self._dialect.status_fields
        foreign = {key: value for key, value in observed.stored.items() if key not in own}
        return {**foreign, **self._dialect.encode_status(job, status, observed)}


def _said(value: Any) -> Any:
    """Without nulls, which an API server may or may not keep: both mean that nothing is said."""
    if isinstance(value, Mapping):
        return {key: _said(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_said(each) for each in value]
    return value
