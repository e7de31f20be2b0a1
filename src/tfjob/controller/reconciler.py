"""Reconciles one job: reads a snapshot, computes a plan, writes children, status and events.

A job's first status is written before its children, which the next reconcile creates. A spec that
needs generated fields is stored before anything else; the informer then delivers the new version.

The reconciler has no queue and no timer: its result says when to reconcile again.
"""

import logging
from functools import partial
from typing import Final

import msgspec

from tfjob.client.errors import ApiError, Conflict, Invalid, NotFound
from tfjob.client.events import EventRecorder
from tfjob.client.watch_codec import Key
from tfjob.controller.child_writer import ChildWriter
from tfjob.controller.expectations import CreatedHere
from tfjob.controller.job_events import JobEventRecorder
from tfjob.controller.job_object import JobObject
from tfjob.controller.metrics_recorder import MetricsRecorder
from tfjob.controller.pacing import Pacer, SettledState
from tfjob.controller.result import Report, Result, with_blocked_child
from tfjob.controller.snapshot import Snapshot, SnapshotReader
from tfjob.controller.status_writer import StatusWriter, WriteResult
from tfjob.core.invalid_job import InvalidJob, reject
from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Plan, Rule
from tfjob.core.reconcile import reconcile, with_finalizer_removals
from tfjob.core.status import ConditionType
from tfjob.dialects.base import StatusContext
from tfjob.k8s import time

_log: Final = logging.getLogger(__name__)
JOBS: Final = "jobs"
_JOB_KIND: Final = "Job"
_WORKLOADS: Final = frozenset({ChildKind.POD, ChildKind.JOB})


class Reconciler:
    def __init__(
        self,
        *,
        reader: SnapshotReader,
        child_writer: ChildWriter,
        status_writer: StatusWriter,
        recorder: EventRecorder,
        metrics: MetricsRecorder,
        pacer: Pacer,
    ) -> None:
        self._reader = reader
        self._child_writer = child_writer
        self._status_writer = status_writer
        self._recorder = recorder
        self._metrics = metrics
        self._now = reader.now
        self._pacer = pacer
        self.pod_confirmer = status_writer.pod_confirmer
        self.created_here = CreatedHere()

    async def reconcile(self, key: Key, *, max_creates: int | None = None) -> Result:
        """Reconcile a job. If it needs more than `max_creates` new children, do nothing: a worker
        without that limit takes it."""
        stray = self._reader.stray_pods(key)
        path = self._status_writer.path_of(key)
        errors = await self._child_writer.free_stray(stray, job_path=path) if stray else []
        result = await self._reconcile(key, max_creates)
        result.errors += errors
        return result

    async def _reconcile(self, key: Key, max_creates: int | None) -> Result:
        settled = self._settled_state(key)
        if settled is not None:
            return Result(requeue_at=settled.until)
        snapshot = await self._reader.read(key)
        if snapshot is None:
            return Result(is_gone=True)
        since = self.pod_confirmer.decided_list(snapshot.stored.metadata.uid)
        self._reader.show_ended_pods(snapshot, since=since)
        if self._needs_defaulting(snapshot):
            return await self._store_defaulted_spec(snapshot.stored)
        if snapshot.children.pods:
            # What is missing from now on may have run and been deleted.
            self.created_here.discard(snapshot.stored.metadata.uid)
        claimed, refused = await self._claim(snapshot)
        if claimed or any(error.is_retryable for error in refused):
            return Result(retries_soon=True, errors=refused)
        result = await self._decide_and_act(snapshot, max_creates)
        result.errors += refused
        return result

    def forget_job(self, uid: str) -> None:
        """Drop what is kept for a job that was deleted."""
        self.created_here.discard(uid)
        self._child_writer.forget_job(uid)
        self._reader.forget_job(uid)
        self.pod_confirmer.forget_job(uid)

    def forget(self) -> None:
        """Drop what another leader may have made wrong."""
        self.created_here.clear()
        self.pod_confirmer.clear()

    async def _decide_and_act(self, snapshot: Snapshot, max_creates: int | None) -> Result:
        recorder = self._job_recorder(snapshot)
        snapshot, plan = await self._decide_on_confirmed(snapshot)
        if plan.deletes_job:
            return await self._delete_job(snapshot.job, snapshot.stored, recorder)
        fingerprint = self._fingerprint(snapshot, plan)
        if self._pacer.is_first_status(snapshot.stored, plan):
            written, result = await self._write_status(snapshot, plan, recorder)
            result.requeue = written is not None and written.is_stored
            if result.requeue:
                self._reader.keep_decoded(snapshot)
            if result.requeue or not (written or result.errors):
                return result
            # A status that cannot be written does not keep children from being created.
        if max_creates is not None and len(plan.creates) > max_creates:
            return Result(exceeds_max_creates=True)
        if _needs_recheck(plan):
            confirmed = await self._recheck(snapshot, plan)
            if confirmed is None:
                return Result()
            snapshot, plan = confirmed
        result = await self._apply(snapshot, plan, recorder)
        if fingerprint is not None:
            self._mark_settled(snapshot, result, fingerprint)
        return result

    def _job_recorder(self, snapshot: Snapshot) -> JobEventRecorder:
        job = snapshot.job
        return JobEventRecorder(
            self._recorder,
            job.owner,
            component=job.messages.component,
            version=snapshot.stored.metadata.resource_version,
        )

    def _settled_state(self, key: Key) -> SettledState | None:
        """The job's settled state, if nothing has changed since it was recorded."""
        stored = self._reader.stores.jobs.get(key)
        if stored is None:
            return None
        fingerprint = partial(self._reader.fingerprint, stored)
        return self._pacer.settled_state(stored, fingerprint=fingerprint, now=self._now())

    def _fingerprint(self, snapshot: Snapshot, plan: Plan) -> int | None:
        """The children's fingerprint if the plan writes nothing but a status; None otherwise."""
        if plan.has_effects or plan.events or plan.replaced:
            return None
        if not self._reader.is_covered_by_fingerprint(snapshot):
            return None
        return self._reader.fingerprint(snapshot.stored)

    def _still_exists(self, job: JobObject) -> bool:
        """False if the job was deleted during the reconcile: no state is kept for it then."""
        meta = job.metadata
        known = self._reader.stores.jobs.get((meta.namespace, meta.name))
        return known is not None and known.metadata.uid == meta.uid

    def _mark_settled(self, snapshot: Snapshot, result: Result, fingerprint: int) -> None:
        if result.settled_version and not result.errors and self._still_exists(snapshot.stored):
            state = SettledState(
                result.settled_version, fingerprint, since=self._now(), until=result.requeue_at
            )
            self._pacer.mark_settled(snapshot.stored, state)

    def _needs_defaulting(self, snapshot: Snapshot) -> bool:
        job = snapshot.job
        if isinstance(job, InvalidJob) or job.is_external or job.is_deleting:
            return False
        if job.status.is_finished:
            return False
        return self._reader.defaulted_spec(snapshot.manifest) is not None

    async def _store_defaulted_spec(self, stored: JobObject) -> Result:
        """Store the completed spec. The job is reconciled when the informer delivers it."""
        try:
            version = await self._status_writer.store_defaulted_spec(
                stored, self._reader.defaulted_spec
            )
        except Conflict:
            return Result(retries_soon=True)
        except ApiError as error:
            return Result(errors=[error])
        return Result(versions={} if version is None else {JOBS: version})

    async def _recheck(self, snapshot: Snapshot, plan: Plan) -> tuple[Snapshot, Plan] | None:
        """Read the job from the server and plan again, before any pod is created.

        The pod informer may be ahead of the job informer: pods that seem to be missing may have
        run and been cleaned up after the job finished, and pods of a suspended job may belong to a
        run that another leader has resumed. The job informer has not seen either yet.
        """
        if not _deletes_suspended(plan) and self._is_untouched(snapshot):
            return snapshot, plan
        fresh = await self._status_writer.read_fresh(snapshot.stored)
        if fresh is None:
            return None
        if fresh.metadata.resource_version == snapshot.stored.metadata.resource_version:
            return snapshot, plan
        rechecked, plan = await self._decide_on_confirmed(self._with_fresh_job(snapshot, fresh))
        return rechecked, msgspec.structs.replace(plan, deletes_job=False)

    def _is_untouched(self, snapshot: Snapshot) -> bool:
        """Whether this process alone has followed the job, and it has had no pods yet."""
        is_new = self.created_here.take(snapshot.stored.metadata.uid)
        return is_new and self.pod_confirmer.is_known(snapshot)

    def _with_fresh_job(self, snapshot: Snapshot, fresh: JobObject) -> Snapshot:
        """The snapshot with the job as read from the server."""
        return msgspec.structs.replace(snapshot, stored=fresh, job=self._reader.decode(fresh))

    async def _apply(self, snapshot: Snapshot, plan: Plan, recorder: JobEventRecorder) -> Result:
        """Write children, then status, unless the plan asks for the status first."""
        plan = self._with_due_retries(snapshot.stored, plan)
        if plan.writes_status_first:
            written, result = await self._write_status(snapshot, plan, recorder)
            if written is not None:
                # After a conflict the plan was computed again; only the stored one is valid.
                result.add(await self._apply_children(written.job, written.plan, recorder))
            return result
        report = await self._apply_children(snapshot.job, plan, recorder)
        plan = with_blocked_child(snapshot.job, plan, report, now=self._now())
        delay = self._status_delay(snapshot, plan, report)
        if delay is not None:
            result = Result(requeue_at=plan.requeue_at, deferred_for=delay)
        else:
            _, result = await self._write_status(
                snapshot, plan, recorder, create_error=report.first_create_error
            )
        result.add(report)
        return result

    def _with_due_retries(self, stored: JobObject, plan: Plan) -> Plan:
        """The plan without a touch whose turn has not come. A deleted job takes no turn."""
        if not self._still_exists(stored):
            return plan
        return self._pacer.with_due_retries(stored, plan, now=self._now())

    def _status_delay(self, snapshot: Snapshot, plan: Plan, report: Report) -> float | None:
        """Seconds until the status is reconsidered; None if it is written now."""
        if report.errors or not self._still_exists(snapshot.stored):
            return None
        return self._pacer.defer_status(snapshot.stored, snapshot.job, plan)

    async def _decide_on_confirmed(self, snapshot: Snapshot) -> tuple[Snapshot, Plan]:
        """Decide, on pods that are not older than the job if the decision depends on that."""
        plan = self._decide(snapshot)
        if not plan.needs_fresh_pods or not self.pod_confirmer.is_due(snapshot):
            return snapshot, plan
        confirmed = await self.pod_confirmer.confirm(snapshot)
        return confirmed, self._decide(confirmed)

    def _decide(self, snapshot: Snapshot) -> Plan:
        job, children, now = snapshot.job, snapshot.children, self._now()
        if isinstance(job, InvalidJob):
            plan = reject(job, children=children, now=now)
            return with_finalizer_removals(plan, job=job, children=children)
        return reconcile(job=job, children=children, now=now)

    async def _claim(self, snapshot: Snapshot) -> tuple[int, list[ApiError]]:
        """Adopt orphans and release children; returns how many, and the errors."""
        job = snapshot.job
        if isinstance(job, InvalidJob) or job.is_external or not snapshot.to_claim:
            return 0, []
        path = self._status_writer.path(snapshot.stored)
        return await self._child_writer.claim(job, snapshot.to_claim, job_path=path)

    async def _apply_children(
        self, job: Job | InvalidJob, plan: Plan, recorder: JobEventRecorder
    ) -> Report:
        if not plan.changes_children:
            return Report()
        return await self._child_writer.apply(job, plan, recorder)

    async def _write_status(
        self, snapshot: Snapshot, plan: Plan, recorder: JobEventRecorder, *, create_error: str = ""
    ) -> tuple[WriteResult | None, Result]:
        decided_on = snapshot

        async def decide(fresh: JobObject) -> tuple[Job | InvalidJob, Plan]:
            nonlocal decided_on
            # Another writer has changed the job.
            self.created_here.discard(fresh.metadata.uid)
            found = self._with_fresh_job(snapshot, fresh)
            decided_on, changed = await self._decide_on_confirmed(found)
            return decided_on.job, self._with_due_retries(fresh, changed)

        if plan.status is not None and plan.status.is_finished:
            # The job informer may not show the end yet, so the next reconcile reads the job from
            # the server before it creates pods.
            self.created_here.discard(snapshot.stored.metadata.uid)
        try:
            written = await self._status_writer.write(
                snapshot.stored,
                job=snapshot.job,
                plan=plan,
                observed=StatusContext(
                    children=snapshot.children, now=self._now(), create_error=create_error
                ),
                decide=decide,
            )
        except ApiError as error:
            if isinstance(error, Invalid) and isinstance(snapshot.job, InvalidJob):
                _record_unstored_events(plan, recorder)
            return None, Result(errors=[error])
        if written is None:
            return None, Result()
        self._pacer.status_written(snapshot.stored)
        result = self._record_stored(written, recorder)
        self._observe_first_status(snapshot, written)
        result.settled_version = _settled_version(snapshot.stored, written, plan)
        self.pod_confirmer.decision_stored(decided_on)
        result.requeue = self._reader.drop_ended_pods(snapshot)
        return written, result

    def _record_stored(self, written: WriteResult, recorder: JobEventRecorder) -> Result:
        """Record the events and metrics that the stored status confirms."""
        for event in written.plan.events:
            recorder.event(event)
        namespace = written.job.owner.namespace
        result = Result(requeue_at=written.plan.requeue_at)
        if written.version is not None:
            result.versions[JOBS] = written.version
        if written.is_stored and written.plan.status is not None:
            self._metrics.status_stored(
                namespace, before=written.job.status, after=written.plan.status
            )
        if written.plan.replaced:
            self._metrics.restarted(namespace, replicas=written.plan.replaced)
        return result

    def _observe_first_status(self, snapshot: Snapshot, written: WriteResult) -> None:
        if not written.is_stored or snapshot.stored.has_status:
            return
        created = time.parse(snapshot.stored.metadata.creation_timestamp)
        if created is not None:
            self._metrics.first_status_stored(seconds=(self._now() - created).total_seconds())

    async def _delete_job(
        self, job: Job | InvalidJob, stored: JobObject, recorder: JobEventRecorder
    ) -> Result:
        messages, name = job.messages, job.owner.name
        try:
            await self._status_writer.delete(stored)
        except NotFound:
            return Result()
        except Conflict:
            # The job has changed, and with it perhaps the time of its deletion.
            return Result(retries_soon=True)
        except ApiError as error:
            recorder.failed(
                messages.child_delete_failed, kind=_JOB_KIND, child=name, error=error.message
            )
            return Result(errors=[error])
        rule, uid = Rule.TTL_AFTER_FINISHED, job.owner.uid
        recorder.succeeded(
            messages.child_deleted, kind=_JOB_KIND, noun="job", child=name, uid=uid, rule=rule
        )
        fields = {"namespace": job.owner.namespace, "job": name, "uid": uid, "rule": str(rule)}
        _log.info("job deleted", extra=fields)
        self._metrics.job_deleted(job.owner.namespace)
        return Result()


def _needs_recheck(plan: Plan) -> bool:
    """Whether the plan creates pods, or deletes some without a record of each in the status."""
    return any(each.kind in _WORKLOADS for each in plan.creates) or _deletes_suspended(plan)


def _deletes_suspended(plan: Plan) -> bool:
    return any(each.rule is Rule.SUSPENDED and each.kind in _WORKLOADS for each in plan.deletes)


def _record_unstored_events(plan: Plan, recorder: JobEventRecorder) -> None:
    """Report an invalid job by event only.

    The server validates the whole object, so it refuses the status of a job whose spec was stored
    before the CRD had its rules.
    """
    for event in plan.events:
        recorder.event(event)


def _settled_version(stored: JobObject, written: WriteResult, plan: Plan) -> str | None:
    """The version of the job that needs no reconcile until its children change.

    That is a job for which there was nothing to write, or an active job whose status was just
    written. A finished or suspended job is reconciled again: its children may have to be deleted.
    """
    if not written.is_stored:
        return stored.metadata.resource_version if written.version is None else None
    status = written.plan.status
    if status is None or status.is_finished or status.is_true(ConditionType.SUSPENDED):
        return None
    return written.version if written.plan is plan else None
