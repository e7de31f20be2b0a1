"""Makes and removes the children of one job, many at a time.

One child that fails stops no other. A create that meets an object of the same name is a success
if that object is ours, and waits if it is on its way out.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from tfjob.client.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    NamespaceTerminating,
    NotFound,
    ServerTimeout,
)
from tfjob.client.fair import FairPool
from tfjob.client.http import Api, Stored
from tfjob.controller import claims
from tfjob.controller.kinds import Kind, Kinds
from tfjob.controller.observer import Observer
from tfjob.controller.reporter import Reporter
from tfjob.controller.snapshot import Stray
from tfjob.core.build import Builder
from tfjob.core.claim import Claim, claim_of
from tfjob.core.invalid import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Create, Delete, Plan, Update
from tfjob.k8s.meta import ObjectMeta

_SILENT: Final = frozenset({ChildKind.POD_GROUP})
"""Kinds whose creation is not told."""
_STRICT: Final = frozenset({ChildKind.POD, ChildKind.JOB})
"""Kinds that a user's template goes into: a misspelt field of it is an error, and told."""

MOST_CREATES: Final = 1000
"""Children made in one pass: a wide job is looked at again before it gets the rest."""


class Report(msgspec.Struct):
    """What became of a job's children: versions to wait for, and what went wrong."""

    versions: dict[str, str] = msgspec.field(default_factory=dict)
    errors: list[ApiError] = msgspec.field(default_factory=list)
    is_waiting: bool = False
    has_more: bool = False
    trouble: str = ""
    """Why the first of the children that could not be made could not."""

    @property
    def is_hopeless(self) -> bool:
        """The namespace is going away: nothing can be made in it any more."""
        return any(isinstance(error, NamespaceTerminating) for error in self.errors)


class Hands:
    """Carries out the part of a plan that concerns children."""

    def __init__(
        self,
        api: Api,
        pool: FairPool,
        observer: Observer,
        *,
        kinds: Kinds | None = None,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._api = api
        self._pool = pool
        self._observer = observer
        self._kinds = kinds or Kinds()
        self._may_write = may_write

    async def carry_out(self, job: Job | InvalidJob, plan: Plan, reporter: Reporter) -> Report:
        work = _Work(self._api, job, kinds=self._kinds, reporter=reporter, observer=self._observer)
        await self._all(work.lane, [partial(work.update, each) for each in plan.updates])
        deletes = [partial(work.delete, each) for each in plan.deletes]
        creates = [partial(work.create, each) for each in plan.creates[:MOST_CREATES]]
        await self._all(work.lane, [*deletes, *creates])
        work.report.has_more = len(plan.creates) > MOST_CREATES
        work.report.trouble = work.first_trouble(plan.creates)
        return work.report

    async def claim(
        self, job: Job, strays: Sequence[Stray], *, job_path: str
    ) -> tuple[int, list[ApiError]]:
        """Adopt or release each stray; what failed for one is told and stops no other."""
        adopts = any(claim is Claim.ADOPT for _, _, claim in strays)
        may_adopt = adopts and await claims.may_adopt(self._api, job.owner, job_path)
        claimed, errors = 0, list[ApiError]()
        for kind, meta, claim in strays:
            resource = self._kinds.of(kind, job).resource
            try:
                if claim is Claim.RELEASE:
                    await claims.release(self._api, job, resource, meta)
                elif may_adopt:
                    await claims.adopt(self._api, job, resource, meta)
                else:
                    continue
            except ApiError as error:
                errors.append(error)
            else:
                claimed += 1
        return claimed, errors

    async def _all(self, lane: str, work: Sequence[Callable[[], Awaitable[None]]]) -> None:
        async with asyncio.TaskGroup() as group:
            for each in work:
                group.create_task(self._pool.run(lane, partial(self._as_leader, each)))

    async def _as_leader(self, work: Callable[[], Awaitable[None]]) -> None:
        """Asked before each write: a pass may have begun long before it ends."""
        if self._may_write():
            await work()


class _Work:
    """The children of one job in one pass."""

    def __init__(
        self,
        api: Api,
        job: Job | InvalidJob,
        *,
        kinds: Kinds,
        reporter: Reporter,
        observer: Observer,
    ) -> None:
        self._api = api
        self._job = job
        self._kinds = kinds
        self._builder = Builder(job) if isinstance(job, Job) else None
        self._reporter = reporter
        self._observer = observer
        self._namespace = job.owner.namespace
        # Jobs of different APIs may share a name, and wait apart all the same.
        self.lane = job.owner.uid
        self.report = Report()
        self._troubles: dict[tuple[str, str], str] = {}

    def first_trouble(self, creates: Sequence[Create]) -> str:
        """In the order of the plan, so that the same troubles are told the same way."""
        if not self._troubles:
            return ""
        found = (self._troubles.get((each.kind, each.name)) for each in creates)
        return next(text for text in found if text is not None)

    async def create(self, create: Create) -> None:
        if self._builder is None:
            raise TypeError(f"{create.name}: a job that cannot be read has no children to make")
        kind = self._kinds.of(create.kind, self._job)
        try:
            made = await self._api.create(
                kind.resource.collection(self._namespace),
                self._builder.manifest(create),
                decode=Stored,
                field_validation="Strict" if create.kind in _STRICT else None,
            )
        except AlreadyExists as error:
            await self._meet(create, kind, error)
            return
        except ServerTimeout as error:
            # It may exist by now: the next pass will see.
            self.report.errors.append(error)
            return
        except ApiError as error:
            self._create_failed(create, error)
            return
        self._observer.child_created(create.kind)
        self._made(create, kind, made.metadata)

    async def delete(self, delete: Delete) -> None:
        kind = self._kinds.of(delete.kind, self._job)
        try:
            await self._api.delete(
                kind.resource.item(delete.name, self._namespace),
                uid=delete.uid,
                grace_seconds=0 if delete.is_forced else None,
                propagation="Background" if delete.kind == ChildKind.JOB else None,
            )
        except (NotFound, Conflict):
            # Gone already, or replaced by another object: the one that was meant is no more.
            return
        except ApiError as error:
            self.report.errors.append(error)
            phrase = self._job.wording.child_delete_failed
            self._reporter.failed(phrase, kind=delete.kind, child=delete.name, error=error.message)
            return
        self._observer.child_deleted(delete.kind)
        self._reporter.done(
            self._job.wording.child_deleted,
            kind=delete.kind,
            noun=kind.noun,
            child=delete.name,
            uid=delete.uid,
        )

    async def update(self, update: Update) -> None:
        kind = self._kinds.of(update.kind, self._job)
        body = {"metadata": {"uid": update.uid}, **update.body}
        path = kind.resource.item(update.name, self._namespace)
        try:
            changed = await self._api.patch(path, body, decode=Stored)
        except (NotFound, Conflict):
            self.report.is_waiting = True
        except ApiError as error:
            if isinstance(error, Invalid) and claims.is_for_another(error):
                self.report.is_waiting = True
            else:
                self.report.errors.append(error)
        else:
            self._note_version(update.kind, changed.metadata)

    async def _meet(self, create: Create, kind: Kind, error: ApiError) -> None:
        """Something stands under the name; whose it is decides what that means."""
        path = kind.resource.item(create.name, self._namespace)
        try:
            found = (await self._api.get(path, decode=Stored)).metadata
        except NotFound:
            self.report.is_waiting = True
            return
        except ApiError as trouble:
            self.report.errors.append(trouble)
            return
        if found.is_terminating:
            self.report.is_waiting = True
        elif found.controller_uid != self._job.owner.uid:
            self._create_failed(create, error)
        elif isinstance(self._job, Job) and _is_to_be_released(self._job, create, found):
            await self._let_go(self._job, kind, found)
            self._create_failed(create, error)
        else:
            self._made(create, kind, found)

    def _made(self, create: Create, kind: Kind, made: ObjectMeta) -> None:
        self._note_version(create.kind, made)
        if create.kind not in _SILENT:
            self._reporter.done(
                self._job.wording.child_created,
                kind=create.kind,
                noun=kind.noun,
                child=create.name,
                uid=made.uid,
            )

    async def _let_go(self, job: Job, kind: Kind, found: ObjectMeta) -> None:
        try:
            await claims.release(self._api, job, kind.resource, found)
        except ApiError as error:
            self.report.errors.append(error)

    def _create_failed(self, create: Create, error: ApiError) -> None:
        self.report.errors.append(error)
        self._troubles[create.kind, create.name] = error.message
        self._observer.child_failed(create.kind)
        if not isinstance(error, NamespaceTerminating):
            wording = self._job.wording
            phrase = wording.child_create_failed
            if create.kind == ChildKind.POD_GROUP:
                phrase = wording.group_create_failed or phrase
            self._reporter.failed(phrase, kind=create.kind, child=create.name, error=error.message)

    def _note_version(self, kind: str, made: ObjectMeta) -> None:
        """The newest version per kind is waited for before the job is looked at again."""
        newest, version = self.report.versions.get(kind, ""), made.resource_version
        if (len(version), version) > (len(newest), newest):
            self.report.versions[kind] = version


def _is_to_be_released(job: Job, create: Create, found: ObjectMeta) -> bool:
    """Only what runs or serves a replica is known by its labels."""
    return create.body is None and claim_of(job, found) is Claim.RELEASE
