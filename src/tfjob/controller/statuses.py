"""Writes to the job itself: its status, only over the object that was decided on, and its end.

On conflict the job is read afresh and decided again; nothing of another writer is overwritten.
Fields at the top of the status that we do not know stay as they are.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from tfjob.client.errors import Conflict, NotFound
from tfjob.client.http import Api, Stored
from tfjob.client.resource import Resource
from tfjob.controller.objects import JobObject
from tfjob.core.invalid import InvalidJob
from tfjob.core.job import Job
from tfjob.core.observe import Children
from tfjob.core.plan import Plan
from tfjob.dialects.base import Dialect, Observed

TRIES: Final = 5

Decide = Callable[[JobObject], tuple[Job | InvalidJob, Plan]]


class NotLeadingError(Exception):
    """Another operator may be at work by now: nothing more is written."""


class Written(msgspec.Struct):
    """The decision that was stored, and the version of the job that must be seen before another.

    That is the version it was stored as, or the one it was decided on afresh; None where the
    cache knew all along.
    """

    job: Job | InvalidJob
    plan: Plan
    version: str | None


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
        children: Children,
        decide: Decide,
    ) -> Written | None:
        """Store the plan's status; None when the job is gone or has become another one."""
        known: str | None = None
        for attempt in range(TRIES):
            if plan.status is None:
                return Written(job, plan, known)
            try:
                made = await self._put(stored, self._body(stored, job, plan, children))
            except NotFound:
                return None
            except Conflict:
                if attempt + 1 == TRIES:
                    raise
            else:
                return Written(job, plan, made.metadata.resource_version)
            fresh = await self.fresh(stored)
            if fresh is None:
                return None
            stored, known = fresh, fresh.metadata.resource_version
            job, plan = decide(stored)
        raise AssertionError("the last attempt returns or raises")

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
        self, stored: JobObject, job: Job | InvalidJob, plan: Plan, children: Children
    ) -> dict[str, Any]:
        assert plan.status is not None  # noqa: S101 - for the type checker; the caller asked
        old = self._dialect.encode_status(job, job.status, Observed(children=children))
        foreign = {key: value for key, value in stored.stored_status().items() if key not in old}
        shown = self._dialect.encode_status(job, plan.status, Observed(children=children))
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
            "status": {**foreign, **shown},
        }
