"""Writes to the job itself: its status, its defaulted spec, and its deletion.

The status is written with the resource version that the plan was computed from. On conflict, the
job is read again and the plan computed again, so that no other writer's change is overwritten.
Unknown top-level fields of the status are preserved. If the server refuses the diagnosis, the rest
of the status is stored without it. Whether a write is deferred is decided elsewhere, by pacing.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from tfjob.client.errors import Conflict, Invalid, NotFound
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.client.watch_codec import Key
from tfjob.controller.job_object import JobObject
from tfjob.controller.pod_confirmation import PodConfirmer
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.core.status import JobStatus
from tfjob.dialects.base import Dialect, Manifest, StatusContext

MAX_ATTEMPTS: Final = 5
_log: Final = logging.getLogger(__name__)

Decide = Callable[[JobObject], Awaitable[tuple[Job | InvalidJob, Plan]]]
DefaultSpec = Callable[[Manifest], dict[str, Any] | None]


class WriteResult(msgspec.Struct):
    """The plan whose status is stored, and the version of the job to wait for.

    The version is the one written, or the one read after a conflict; None if the informer has it
    already. `is_stored` is false if the status did not differ and nothing was written.
    """

    job: Job | InvalidJob
    plan: Plan
    version: str | None
    is_stored: bool = False


class StatusWriter:
    def __init__(self, api: Api, dialect: Dialect) -> None:
        self._api = api
        self._dialect = dialect
        self.pod_confirmer = PodConfirmer(api, dialect)
        self._resource = Resource(dialect.group, dialect.version, dialect.plural)

    def path(self, stored: JobObject) -> str:
        return self._resource.item(stored.metadata.name, stored.metadata.namespace)

    def path_of(self, key: Key) -> str:
        namespace, name = key
        return self._resource.item(name, namespace)

    async def write(
        self,
        stored: JobObject,
        *,
        job: Job | InvalidJob,
        plan: Plan,
        observed: StatusContext,
        decide: Decide,
    ) -> WriteResult | None:
        """Write the plan's status; None if the job was deleted or replaced."""
        known: str | None = None
        for attempt in range(MAX_ATTEMPTS):
            body = self._body(stored, job, plan, observed)
            if body is None:
                return WriteResult(job, plan, known)
            try:
                response = await self._put(stored, body)
            except NotFound:
                return None
            except Invalid:
                refused, plan = plan, _without_new_diagnosis(job, plan)
                if plan.status is None or attempt + 1 == MAX_ATTEMPTS:
                    raise
                _log_refused_diagnosis(stored, refused)
                continue
            except Conflict:
                if attempt + 1 == MAX_ATTEMPTS:
                    raise
            else:
                version = response.metadata.resource_version
                self.pod_confirmer.status_stored(stored, version)
                return WriteResult(job, plan, version, is_stored=True)
            fresh = await self.read_fresh(stored)
            if fresh is None:
                return None
            stored, known = fresh, fresh.metadata.resource_version
            job, plan = await decide(stored)
        raise AssertionError("the last attempt returns or raises")

    async def store_defaulted_spec(self, stored: JobObject, defaulted: DefaultSpec) -> str | None:
        """Read the job, store its completed spec, and return the version to wait for.

        None if the job was deleted. Raises Conflict if another writer was faster.
        """
        try:
            fresh: dict[str, Any] = await self._api.get(self.path(stored), decode=dict)
        except NotFound:
            return None
        metadata = fresh["metadata"]
        if metadata["uid"] != stored.metadata.uid:
            return None
        spec = defaulted(fresh)
        if spec is None or metadata.get("deletionTimestamp"):
            return str(metadata["resourceVersion"])
        body = {**fresh, "spec": spec}
        response = await self._api.replace(self.path(stored), body, decode=PartialObjectMetadata)
        return response.metadata.resource_version

    async def delete(self, stored: JobObject) -> None:
        """Delete the job, unless it has changed; the garbage collector deletes its children."""
        meta = stored.metadata
        await self._api.delete(
            self.path(stored), uid=meta.uid, resource_version=meta.resource_version
        )

    async def read_fresh(self, stored: JobObject) -> JobObject | None:
        """The job as the server has it now; None if it was deleted or replaced."""
        try:
            fresh = await self._api.get(self.path(stored), decode=JobObject)
        except NotFound:
            return None
        return fresh if fresh.metadata.uid == stored.metadata.uid else None

    async def _put(self, stored: JobObject, body: dict[str, Any]) -> PartialObjectMetadata:
        path = self._resource.item(
            stored.metadata.name, stored.metadata.namespace, subresource="status"
        )
        return await self._api.replace(path, body, decode=PartialObjectMetadata)

    def _body(
        self, stored: JobObject, job: Job | InvalidJob, plan: Plan, observed: StatusContext
    ) -> dict[str, Any] | None:
        """The request body; None if nothing has changed."""
        is_ignored = job.is_ignored
        if plan.status is None and (is_ignored or not self._dialect.shows_children):
            return None
        before = stored.stored_status()
        status = job.status if plan.status is None else plan.status
        context = msgspec.structs.replace(observed, stored=before, read_spec=stored.stored_spec)
        status_body = self._merged_status(job, status, context)
        if self._dialect.shows_children and _without_nulls(status_body) == _without_nulls(before):
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
            "status": status_body,
        }

    def _merged_status(
        self, job: Job | InvalidJob, status: JobStatus, observed: StatusContext
    ) -> dict[str, Any]:
        """The whole status, including fields that the dialect does not know."""
        own = self._dialect.status_fields
        foreign = {key: value for key, value in observed.stored.items() if key not in own}
        return {**foreign, **self._dialect.encode_status(job, status, observed)}


def _log_refused_diagnosis(stored: JobObject, plan: Plan) -> None:
    """Log the loss: without the stored incidents, later consequences count as failures."""
    meta = stored.metadata
    diagnosis = None if plan.status is None else plan.status.diagnosis
    cause = "" if diagnosis is None else str(diagnosis.cause)
    fields = {"namespace": meta.namespace, "job": meta.name, "uid": meta.uid, "cause": cause}
    _log.warning("diagnosis refused by the API server, status stored without it", extra=fields)


def _without_new_diagnosis(job: Job | InvalidJob, plan: Plan) -> Plan:
    """The plan with the stored diagnosis instead of the new one; without a status if both are
    equal."""
    status, before = plan.status, job.status
    if status is None or status.diagnosis == before.diagnosis:
        return msgspec.structs.replace(plan, status=None)
    kept = msgspec.structs.replace(status, diagnosis=before.diagnosis)
    return msgspec.structs.replace(plan, status=kept)


def _without_nulls(value: Any) -> Any:
    """Drop nulls, which an API server may or may not store."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(each) for each in value]
    return value
