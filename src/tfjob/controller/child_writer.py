"""Makes and removes the children of one job, many at a time.

Creates begin slowly, and one that is refused stops those of its sort for a while; any other child
that fails stops no other. A create that meets an object of the same name is a success if that
object is ours, and waits if it is on its way out.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
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
    NotLeadingError,
    ServerTimeout,
    TooManyRequests,
    Unauthorized,
)
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.http import Api, Stored
from tfjob.client.timing import REAL
from tfjob.controller import controller_refs
from tfjob.controller.child_kinds import Kind, Kinds
from tfjob.controller.job_events import JobEventRecorder
from tfjob.controller.observer import Observer
from tfjob.controller.slow_start import ChildGroup, CreateBackoff, CreateRefusal, batches, group_of
from tfjob.controller.snapshot import PendingClaim
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.claim import Claim, claim_of
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import RESTART_RULES, ChildKind, Create, Delete, Plan, Rule, Update
from tfjob.k8s.meta import ObjectMeta

_log: Final = logging.getLogger(__name__)
_SILENT: Final = frozenset({ChildKind.POD_GROUP})
"""Kinds whose creation is not told."""
_STRICT: Final = frozenset({ChildKind.POD, ChildKind.JOB})
"""Kinds that a user's template goes into: a misspelt field of it is an error, and told."""

_CREATED: Final = "child created"
_DELETED: Final = "child deleted"

MOST_CREATES: Final = 1000
"""Children made in one pass: a wide job is looked at again before it gets the rest."""


class Report(msgspec.Struct):
    """What became of a job's children: versions to wait for, and what went wrong."""

    versions: dict[str, str] = msgspec.field(default_factory=dict)
    errors: list[ApiError] = msgspec.field(default_factory=list)
    refused: int = 0
    """How many of the errors are refused creates, which `retry_after` takes care of."""
    retry_after: float | None = None
    """Seconds until creates that were refused, now or earlier, may be tried again."""
    is_waiting: bool = False
    has_more: bool = False
    trouble: str = ""
    """Why the first of the children that could not be made could not."""

    @property
    def namespace_terminating(self) -> bool:
        """The namespace is going away: nothing can be made in it any more."""
        return any(isinstance(error, NamespaceTerminating) for error in self.errors)


class ChildWriter:
    """Carries out the part of a plan that concerns children."""

    def __init__(
        self,
        api: Api,
        pool: FairSemaphore,
        observer: Observer,
        *,
        kinds: Kinds | None = None,
        may_write: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = REAL.clock,
    ) -> None:
        self._api = api
        self._backoff = CreateBackoff(clock)
        self._pool = pool
        self._observer = observer
        self._kinds = kinds or Kinds()
        self._may_write = may_write

    async def carry_out(
        self, job: Job | InvalidJob, plan: Plan, reporter: JobEventRecorder
    ) -> Report:
        work = _Work(self._api, job, kinds=self._kinds, reporter=reporter, observer=self._observer)
        await self._all(work, [partial(work.update, each) for each in plan.updates])
        deletes = [partial(work.delete, each) for each in plan.deletes]
        creates = self._due(work, job, plan.creates) if isinstance(job, Job) else {}
        async with asyncio.TaskGroup() as group:
            group.create_task(self._all(work, deletes))
            for sort, each in creates.items():
                group.create_task(self._slow_start(work, sort, each))
        work.report.has_more = bool(work.surplus)
        work.report.trouble = work.first_trouble(plan.creates)
        return work.report

    async def claim(
        self, job: Job, to_claim: Sequence[PendingClaim], *, job_path: str
    ) -> tuple[int, list[ApiError]]:
        """Adopt or release each stray; what failed for one is told and stops no other."""
        adopts = any(claim is Claim.ADOPT for _, _, claim in to_claim)
        may_adopt = adopts and await controller_refs.may_adopt(self._api, job.owner, job_path)
        claimed, errors = 0, list[ApiError]()
        for kind, meta, claim in to_claim:
            resource = self._kinds.of(kind, job).resource
            try:
                if claim is Claim.RELEASE:
                    await controller_refs.release(self._api, job, resource, meta)
                elif may_adopt:
                    await controller_refs.adopt(self._api, job, resource, meta)
                else:
                    continue
            except ApiError as error:
                errors.append(error)
            else:
                claimed += 1
        return claimed, errors

    def _due(
        self, work: "_Work", job: Job, creates: Sequence[Create]
    ) -> dict[ChildGroup, list[Create]]:
        """What this pass makes, by sort; creates that wait for their back-off are left out."""
        self._backoff.begin(job, {group_of(each) for each in creates})
        due: dict[ChildGroup, list[Create]] = {}
        waiting: set[ChildGroup] = set()
        room = MOST_CREATES
        for each in creates:
            sort = group_of(each)
            if sort in waiting:
                continue
            refusal = self._backoff.pending(job, sort)
            if refusal is not None:
                waiting.add(sort)
                work.wait(each, refusal, seconds=self._backoff.left(refusal))
            elif room:
                room -= 1
                due.setdefault(sort, []).append(each)
            else:
                work.surplus.add(sort)
        return due

    async def _slow_start(self, work: "_Work", sort: ChildGroup, creates: Sequence[Create]) -> None:
        """Make children in batches; what comes after a refusal is not tried."""
        failed: dict[str, ApiError] = {}
        made = 0

        async def create(each: Create) -> None:
            nonlocal made
            if failed:
                return
            error = await work.create(each)
            if error is None:
                made += 1
            else:
                failed[each.name] = error

        for batch in batches(creates):
            await self._all(work, [partial(create, each) for each in batch])
            if failed:
                break
        job = work.job
        if made or not failed:
            self._backoff.forget(job, sort)
        refused = {name: each for name, each in failed.items() if _is_refusal(each)}
        if refused:
            first = next(each for each in creates if each.name in refused)
            refusal = self._backoff.refused(job, sort, refused[first.name].message)
            work.report.refused += len(refused)
            work.wait(first, refusal, seconds=self._backoff.left(refusal))

    async def _all(self, work: "_Work", pieces: Iterable[Callable[[], Awaitable[None]]]) -> None:
        async with asyncio.TaskGroup() as group:
            for each in pieces:
                lead = partial(self._as_leader, each)
                group.create_task(self._pool.run(work.lane, lead, tenant=work.namespace))

    async def _as_leader(self, work: Callable[[], Awaitable[None]]) -> None:
        """Asked before each write: a pass may have begun long before it ends."""
        if self._may_write():
            with suppress(NotLeadingError):  # What is not written is left to whoever leads.
                await work()


class _Work:
    """The children of one job in one pass."""

    def __init__(
        self,
        api: Api,
        job: Job | InvalidJob,
        *,
        kinds: Kinds,
        reporter: JobEventRecorder,
        observer: Observer,
    ) -> None:
        self._api = api
        self._job = job
        self._kinds = kinds
        self._builder = ManifestBuilder(job) if isinstance(job, Job) else None
        self._reporter = reporter
        self._observer = observer
        self.namespace = job.owner.namespace
        # Jobs of different APIs may share a name, and wait apart all the same.
        self.lane = job.owner.uid
        self.report = Report()
        self.surplus: set[ChildGroup] = set()
        """Sorts of which the next pass may make more."""
        self._troubles: dict[tuple[str, str], str] = {}

    def first_trouble(self, creates: Sequence[Create]) -> str:
        """In the order of the plan, so that the same troubles are told the same way."""
        if not self._troubles:
            return ""
        found = (self._troubles.get((each.kind, each.name)) for each in creates)
        return next(text for text in found if text is not None)

    @property
    def job(self) -> Job:
        if not isinstance(self._job, Job):
            raise TypeError(f"{self._job.owner.name}: a job that cannot be read makes no children")
        return self._job

    def wait(self, create: Create, refusal: CreateRefusal, *, seconds: float) -> None:
        """Creates of one sort wait; why is told in place of the first of them."""
        self._troubles.setdefault((create.kind, create.name), refusal.message)
        self.surplus.discard(group_of(create))
        known = self.report.retry_after
        self.report.retry_after = seconds if known is None else min(known, seconds)

    async def create(self, create: Create) -> ApiError | None:
        """The failure that others of its sort would meet as well, if there was one."""
        if self._builder is None:
            raise TypeError(f"{create.name}: a job that cannot be read has no children to make")
        kind = self._kinds.of(create.kind, self._job)
        try:
            made = await self._api.create(
                kind.resource.collection(self.namespace),
                self._builder.manifest(create),
                decode=Stored,
                field_validation="Strict" if create.kind in _STRICT else None,
            )
        except AlreadyExists as error:
            await self._meet(create, kind, error)
            return None
        except ServerTimeout as error:
            # It may exist by now: the next pass will see.
            self.report.errors.append(error)
            return None
        except ApiError as error:
            self._create_failed(create, error)
            return error
        self._observer.child_created(create.kind)
        self._log(_CREATED, create.kind, create.name, uid=made.metadata.uid, rule=create.rule)
        self._made(create, kind, made.metadata)
        return None

    async def delete(self, delete: Delete) -> None:
        kind = self._kinds.of(delete.kind, self._job)
        try:
            await self._api.delete(
                kind.resource.item(delete.name, self.namespace),
                uid=delete.uid,
                grace_seconds=0 if delete.is_forced else None,
                propagation="Background" if delete.kind == ChildKind.JOB else None,
            )
        except (NotFound, Conflict):
            # Gone already, or replaced by another object: the one that was meant is no more.
            return
        except ApiError as error:
            self.report.errors.append(error)
            phrase = self._job.messages.child_delete_failed
            self._reporter.failed(phrase, kind=delete.kind, child=delete.name, error=error.message)
            return
        self._observer.child_deleted(delete.kind)
        self._log(_DELETED, delete.kind, delete.name, uid=delete.uid, rule=delete.rule)
        self._reporter.done(
            self._job.messages.child_deleted,
            kind=delete.kind,
            noun=kind.noun,
            child=delete.name,
            uid=delete.uid,
            rule=delete.rule,
        )

    async def update(self, update: Update) -> None:
        kind = self._kinds.of(update.kind, self._job)
        body = {"metadata": {"uid": update.uid}, **update.body}
        path = kind.resource.item(update.name, self.namespace)
        try:
            changed = await self._api.patch(path, body, decode=Stored)
        except (NotFound, Conflict):
            self.report.is_waiting = True
        except ApiError as error:
            if isinstance(error, Invalid) and controller_refs.is_for_another(error):
                self.report.is_waiting = True
            else:
                self.report.errors.append(error)
        else:
            self._note_version(update.kind, changed.metadata)

    async def _meet(self, create: Create, kind: Kind, error: ApiError) -> None:
        """Something stands under the name; whose it is decides what that means."""
        path = kind.resource.item(create.name, self.namespace)
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
                self._job.messages.child_created,
                kind=create.kind,
                noun=kind.noun,
                child=create.name,
                uid=made.uid,
            )

    async def _let_go(self, job: Job, kind: Kind, found: ObjectMeta) -> None:
        try:
            await controller_refs.release(self._api, job, kind.resource, found)
        except ApiError as error:
            self.report.errors.append(error)

    def _create_failed(self, create: Create, error: ApiError) -> None:
        self.report.errors.append(error)
        self._troubles[create.kind, create.name] = error.message
        self._observer.child_failed(create.kind)
        if not isinstance(error, NamespaceTerminating):
            messages = self._job.messages
            phrase = messages.child_create_failed
            if create.kind == ChildKind.POD_GROUP:
                phrase = messages.group_create_failed or phrase
            self._reporter.failed(phrase, kind=create.kind, child=create.name, error=error.message)

    def _log(self, message: str, kind: str, name: str, *, uid: str, rule: Rule) -> None:
        """One line per decision that was carried out. First creates are many and tell little."""
        is_notable = message is _DELETED or rule in RESTART_RULES
        level = logging.INFO if is_notable else logging.DEBUG
        if _log.isEnabledFor(level):
            owner = self._job.owner
            facts = {"namespace": owner.namespace, "job": owner.name, "kind": str(kind)}
            facts |= {"child": name, "uid": uid, "rule": str(rule)}
            _log.log(level, message, extra=facts)

    def _note_version(self, kind: str, made: ObjectMeta) -> None:
        """The newest version per kind is waited for before the job is looked at again."""
        newest, version = self.report.versions.get(kind, ""), made.resource_version
        if (len(version), version) > (len(newest), newest):
            self.report.versions[kind] = version


def _is_refusal(error: ApiError) -> bool:
    """The server will say the same for a while. An outage is left to the retries of the job."""
    if isinstance(error, NamespaceTerminating | Unauthorized):
        return False
    return isinstance(error, TooManyRequests) or not error.is_retryable


def _is_to_be_released(job: Job, create: Create, found: ObjectMeta) -> bool:
    """Only what runs or serves a replica is known by its labels."""
    return create.body is None and claim_of(job, found) is Claim.RELEASE
