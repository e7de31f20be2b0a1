"""Creates, updates and deletes the children of one job, many at a time.

Creates use slow start: the first failed create stops the rest of its group in this reconcile. If
the server rejected it, the group also backs off. A name conflict or a timeout concerns one child. A
create that finds an object of the job under that name succeeds; a terminating one is waited for.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from tfjob.client.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    NamespaceTerminating,
    NotFound,
    NotLeadingError,
    ServerTimeout,
)
from tfjob.client.fair_semaphore import FairSemaphore
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.client.timing import REAL
from tfjob.controller import controller_refs, decision_log, held_pods
from tfjob.controller.child_kinds import Kind, Kinds
from tfjob.controller.job_events import JobEventRecorder
from tfjob.controller.metrics_recorder import MetricsRecorder
from tfjob.controller.result import Report
from tfjob.controller.slow_start import (
    ChildGroup,
    CreateBackoff,
    CreateRefusal,
    batches,
    group_of,
    is_refusal,
)
from tfjob.controller.snapshot import PendingClaim
from tfjob.core.child_manifests import ManifestBuilder
from tfjob.core.claim import Claim, claim_of
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Create, Delete, FinalizerRemoval, Plan, Update
from tfjob.k8s.meta import ObjectMeta

_WITHOUT_EVENT: Final = frozenset({ChildKind.POD_GROUP})
"""Kinds whose creation is not recorded as an event."""
_FROM_TEMPLATE: Final = frozenset({ChildKind.POD, ChildKind.JOB})
"""Kinds built from a user's template: the server rejects unknown fields in them."""

MAX_CREATES: Final = 1000
"""Children created in one reconcile. The next reconcile creates the rest."""
MAX_CLAIMS: Final = 50
"""Children adopted or released in one reconcile, so that they hold a worker for a short time."""
MAX_CONFLICTS: Final = 10
"""Names that others may have taken before the rest of the children backs off."""


class ChildWriter:
    def __init__(
        self,
        api: Api,
        pool: FairSemaphore,
        metrics: MetricsRecorder,
        *,
        kinds: Kinds | None = None,
        clock: Callable[[], float] = REAL.clock,
    ) -> None:
        self._api = api
        self._backoff = CreateBackoff(clock)
        self._pool = pool
        self._metrics = metrics
        self._kinds = kinds or Kinds()

    async def apply(self, job: Job | InvalidJob, plan: Plan, recorder: JobEventRecorder) -> Report:
        writes = _ChildWrites(
            self._api, job, kinds=self._kinds, recorder=recorder, metrics=self._metrics
        )
        await self._run_all(writes, [partial(writes.update, each) for each in plan.updates])
        deletes = [partial(writes.delete, each) for each in plan.deletes]
        removals = [partial(writes.remove_finalizer, each) for each in plan.finalizer_removals]
        creates = self._due_creates(writes, job, plan.creates) if isinstance(job, Job) else {}
        async with asyncio.TaskGroup() as group:
            if deletes or removals:
                group.create_task(self._run_all(writes, [*deletes, *removals]))
            for child_group, each in creates.items():
                group.create_task(self._slow_start(writes, child_group, each))
        writes.report.has_more = bool(writes.remaining)
        writes.report_first(plan.creates)
        return writes.report

    async def claim(
        self, job: Job, to_claim: Sequence[PendingClaim], *, job_path: str
    ) -> tuple[int, list[ApiError]]:
        """Adopt or release children, at most MAX_CLAIMS; the next reconcile claims the rest.

        Returns how many were patched, and the errors.
        """
        adopts = any(claim is Claim.ADOPT for _, _, claim in to_claim)
        may_adopt = adopts and await controller_refs.may_adopt(self._api, job.owner, job_path)
        claimed, errors = 0, list[ApiError]()
        for kind, meta, claim in to_claim[:MAX_CLAIMS]:
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

    async def free_stray(self, pods: Sequence[ObjectMeta], *, job_path: str) -> list[ApiError]:
        """Remove the finalizers of pods whose job the server does not have."""
        return await held_pods.free_stray(self._api, pods, pool=self._pool, job_path=job_path)

    def forget_job(self, uid: str) -> None:
        """Drop what is kept for a job that was deleted."""
        self._backoff.forget_job(uid)

    def _due_creates(
        self, writes: "_ChildWrites", job: Job, creates: Sequence[Create]
    ) -> dict[ChildGroup, list[Create]]:
        """The creates of this reconcile by group, without the groups that are backing off."""
        self._backoff.forget_outdated(job, {group_of(each) for each in creates})
        due: dict[ChildGroup, list[Create]] = {}
        waiting: set[ChildGroup] = set()
        remaining = MAX_CREATES
        for each in creates:
            child_group = group_of(each)
            if child_group in waiting:
                continue
            refusal = self._backoff.pending(job, child_group)
            if refusal is not None:
                waiting.add(child_group)
                writes.defer(each, refusal, seconds=self._backoff.seconds_left(refusal))
            elif remaining:
                remaining -= 1
                due.setdefault(child_group, []).append(each)
            else:
                writes.remaining.add(child_group)
        return due

    async def _slow_start(
        self, writes: "_ChildWrites", child_group: ChildGroup, creates: Sequence[Create]
    ) -> None:
        """Create children in growing batches; stop at the first failure."""
        failed: dict[str, ApiError] = {}

        async def create(each: Create) -> None:
            if failed:
                return
            error = await writes.create(each)
            if error is not None:
                failed[each.name] = error

        for batch in batches(creates):
            await self._run_all(writes, [partial(create, each) for each in batch])
            if failed:
                break
        job = writes.job
        if child_group in writes.successes or not failed:
            self._backoff.forget(job, child_group)
        refused = {name: each for name, each in failed.items() if is_refusal(each)}
        if refused:
            first = next(each for each in creates if each.name in refused)
            refusal = self._backoff.record_refusal(job, child_group, refused[first.name].message)
            writes.report.refused += len(refused)
            writes.defer(first, refusal, seconds=self._backoff.seconds_left(refusal))

    async def _run_all(
        self, writes: "_ChildWrites", pieces: Sequence[Callable[[], Awaitable[None]]]
    ) -> None:
        """Run the writes concurrently. A single one needs no task of its own."""
        works = (partial(_unless_demoted, each) for each in pieces)
        runs = [self._pool.run(writes.lane, each, tenant=writes.namespace) for each in works]
        if len(runs) == 1:
            await runs[0]
            return
        async with asyncio.TaskGroup() as group:
            for run in runs:
                group.create_task(run)


async def _unless_demoted(write: Callable[[], Awaitable[None]]) -> None:
    """Leadership may be lost during a long reconcile: the next leader writes what is missing."""
    with suppress(NotLeadingError):
        await write()


class _ChildWrites:
    """The writes for the children of one job in one reconcile."""

    def __init__(
        self,
        api: Api,
        job: Job | InvalidJob,
        *,
        kinds: Kinds,
        recorder: JobEventRecorder,
        metrics: MetricsRecorder,
    ) -> None:
        self._api = api
        self._job = job
        self._kinds = kinds
        self._builder = ManifestBuilder(job) if isinstance(job, Job) else None
        self._recorder = recorder
        self._metrics = metrics
        self.namespace = job.owner.namespace
        # The UID, because jobs of different APIs may share a name.
        self.lane = job.owner.uid
        self.report = Report()
        self.successes: set[ChildGroup] = set()
        """Groups of which a child was created."""
        self.conflicts = 0
        """Names that objects of others have taken."""
        self.remaining: set[ChildGroup] = set()
        """Groups of which the next reconcile creates more."""
        self._create_errors: dict[tuple[str, str], str] = {}
        self._old_children: set[tuple[str, str]] = set()
        """Terminating objects of others that have a child's name."""

    def report_first(self, creates: Sequence[Create]) -> None:
        """Report the first child in plan order that is in the way, so that it is always the same
        one, in whatever order the responses come."""
        blocked = (each.name for each in creates if (each.kind, each.name) in self._old_children)
        self.report.old_child = next(blocked, "")
        failed = (each for each in creates if (each.kind, each.name) in self._create_errors)
        if (first := next(failed, None)) is not None:
            self.report.refused_child = first.name
            self.report.first_create_error = self._create_errors[first.kind, first.name]

    @property
    def job(self) -> Job:
        if not isinstance(self._job, Job):
            raise TypeError(f"{self._job.owner.name}: an invalid job gets no children")
        return self._job

    def defer(self, create: Create, refusal: CreateRefusal, *, seconds: float) -> None:
        """Defer the creates of one group; the reason is reported for the first of them."""
        self._create_errors.setdefault((create.kind, create.name), refusal.message)
        self.remaining.discard(group_of(create))
        known = self.report.retry_after
        self.report.retry_after = seconds if known is None else min(known, seconds)

    async def create(self, create: Create) -> ApiError | None:
        """Create a child. Returns an error only if it would fail the rest of its group too."""
        if self._builder is None:
            raise TypeError(f"{create.name}: an invalid job gets no children")
        kind = self._kinds.of(create.kind, self._job)
        try:
            created = await self._api.create(
                kind.resource.collection(self.namespace),
                self._builder.manifest(create),
                decode=PartialObjectMetadata,
                field_validation="Strict" if create.kind in _FROM_TEMPLATE else None,
            )
        except AlreadyExists as error:
            await self._handle_existing(create, kind, error)
            return error if self.conflicts > MAX_CONFLICTS else None
        except ServerTimeout as error:
            # It may have been created: the next reconcile finds out.
            self.report.errors.append(error)
            return None
        except ApiError as error:
            self._create_failed(create, error)
            return error
        self.successes.add(group_of(create))
        self._metrics.child_created(create.kind)
        decision_log.log_create(self._job.owner, create, uid=created.metadata.uid)
        self._created(create, kind, created.metadata)
        return None

    async def delete(self, delete: Delete) -> None:
        kind = self._kinds.of(delete.kind, self._job)
        try:
            await self._api.delete(
                kind.resource.item(delete.name, self.namespace),
                uid=delete.uid,
                grace_seconds=0 if delete.is_forced else None,
                propagation="Foreground" if delete.kind == ChildKind.JOB else None,
            )
        except (NotFound, Conflict):
            return  # deleted already; another object may have its name
        except ApiError as error:
            self.report.errors.append(error)
            template = self._job.messages.child_delete_failed
            self._recorder.failed(
                template, kind=delete.kind, child=delete.name, error=error.message
            )
            return
        self._metrics.child_deleted(delete.kind)
        decision_log.log_delete(self._job.owner, delete)
        self._recorder.succeeded(
            self._job.messages.child_deleted,
            kind=delete.kind,
            noun=kind.noun,
            child=delete.name,
            uid=delete.uid,
            rule=delete.rule,
        )

    async def remove_finalizer(self, removal: FinalizerRemoval) -> None:
        """Remove a finalizer of a pod whose end is stored or no longer matters."""
        try:
            left = await held_pods.remove_finalizer(self._api, self.namespace, removal)
        except ApiError as error:
            self.report.errors.append(error)
            return
        if left is not None and not left.metadata.is_terminating:
            self._expect_version(ChildKind.POD, left.metadata)

    async def update(self, update: Update) -> None:
        kind = self._kinds.of(update.kind, self._job)
        body = {"metadata": {"uid": update.uid}, **update.body}
        path = kind.resource.item(update.name, self.namespace)
        try:
            changed = await self._api.patch(path, body, decode=PartialObjectMetadata)
        except (NotFound, Conflict):
            self.report.retries_soon = True
        except ApiError as error:
            if isinstance(error, Invalid) and controller_refs.is_uid_mismatch(error):
                self.report.retries_soon = True
            else:
                self.report.errors.append(error)
        else:
            self._expect_version(update.kind, changed.metadata)

    async def _handle_existing(self, create: Create, kind: Kind, error: ApiError) -> None:
        """An object with the child's name exists: its owner decides what to do."""
        path = kind.resource.item(create.name, self.namespace)
        try:
            found = (await self._api.get(path, decode=PartialObjectMetadata)).metadata
        except NotFound:
            self.report.retries_soon = True
            return
        except ApiError as get_error:
            self.report.errors.append(get_error)
            return
        is_own = found.controller_uid == self._job.owner.uid
        if found.is_terminating:
            self.report.retries_soon = True
            if not is_own:
                self._old_children.add((create.kind, create.name))
        elif not is_own:
            self.conflicts += 1
            self._create_failed(create, error)
        elif isinstance(self._job, Job) and _is_to_be_released(self._job, create, found):
            await self._release(self._job, kind, found)
            self._create_failed(create, error)
        else:
            self._created(create, kind, found)

    def _created(self, create: Create, kind: Kind, created: ObjectMeta) -> None:
        self._expect_version(create.kind, created)
        if create.kind not in _WITHOUT_EVENT:
            self._recorder.succeeded(
                self._job.messages.child_created,
                kind=create.kind,
                noun=kind.noun,
                child=create.name,
                uid=created.uid,
            )

    async def _release(self, job: Job, kind: Kind, found: ObjectMeta) -> None:
        try:
            await controller_refs.release(self._api, job, kind.resource, found)
        except ApiError as error:
            self.report.errors.append(error)

    def _create_failed(self, create: Create, error: ApiError) -> None:
        self.report.errors.append(error)
        self._create_errors[create.kind, create.name] = error.message
        self._metrics.child_failed(create.kind)
        if not isinstance(error, NamespaceTerminating):
            template = self._job.messages.child_create_failed
            if create.kind == ChildKind.POD_GROUP:
                template = self._job.messages.group_create_failed or template
            self._recorder.failed(
                template, kind=create.kind, child=create.name, error=error.message
            )

    def _expect_version(self, kind: str, created: ObjectMeta) -> None:
        """The next reconcile waits until the informer has seen the newest version per kind."""
        newest, version = self.report.versions.get(kind, ""), created.resource_version
        if (len(version), version) > (len(newest), newest):
            self.report.versions[kind] = version


def _is_to_be_released(job: Job, create: Create, found: ObjectMeta) -> bool:
    """Whether the labels no longer match. Children with a given body are not claimed by labels."""
    return create.body is None and claim_of(job, found) is Claim.RELEASE
