"""Reconciles one job: reads a snapshot, decides, carries out. Children, then status, then events.

The first status of a job comes before its children, which are left to the next reconcile. A spec
that is to be completed is stored before anything else, and decided on when it comes back.

Knows nothing of queues and timers: the outcome says when to come back.
"""

import logging
from datetime import datetime
from functools import partial
from typing import Final

import msgspec

from tfjob.client.errors import ApiError, Conflict, Invalid, NotFound
from tfjob.client.events import EventRecorder
from tfjob.client.watch_codec import Key
from tfjob.controller.child_writer import ChildWriter, Report
from tfjob.controller.expectations import CreatedHere
from tfjob.controller.job_events import JobEventRecorder
from tfjob.controller.job_object import JobObject
from tfjob.controller.observer import Observer
from tfjob.controller.pacing import Pacer, SettledState
from tfjob.controller.snapshot import Snapshot, SnapshotReader
from tfjob.controller.status_writer import StatusWriter, Written
from tfjob.core.invalid_job import InvalidJob, reject
from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Plan, Rule
from tfjob.core.reconcile import reconcile
from tfjob.core.status import ConditionType
from tfjob.dialects.base import Observed
from tfjob.k8s import time

_log: Final = logging.getLogger(__name__)
JOBS: Final = "jobs"
_JOB_KIND: Final = "Job"
_WORKLOADS: Final = frozenset({ChildKind.POD, ChildKind.JOB})


class Outcome(msgspec.Struct):
    """When to look at the job again, what must be seen first, and what went wrong."""

    wake_at: datetime | None = None
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    errors: list[ApiError] = msgspec.field(default_factory=list)
    refused: int = 0
    """How many of the errors are refused creates, which `retry_after` takes care of."""
    retry_after: float | None = None
    """Seconds until refused creates may be tried again; news of the job does not shorten it."""
    is_waiting: bool = False
    has_more: bool = False
    is_left: bool = False
    """Nothing was done: the job is left to a worker that may create many children."""
    namespace_terminating: bool = False
    deferred: float | None = None
    """Seconds after which a status that waits is looked at again."""
    settled: str | None = None
    """The version of the job for which there is nothing to do, as long as its children stay."""


class Reconciler:
    def __init__(
        self,
        *,
        reader: SnapshotReader,
        child_writer: ChildWriter,
        statuses: StatusWriter,
        recorder: EventRecorder,
        observer: Observer,
        pacer: Pacer,
    ) -> None:
        self._reader = reader
        self._child_writer = child_writer
        self._statuses = statuses
        self._recorder = recorder
        self._observer = observer
        self._now = reader.now
        self._pacer = pacer
        self.created_here = CreatedHere()

    async def reconcile(self, key: Key, *, most_creates: int | None = None) -> Outcome:
        """Reconcile a job, unless more than `most_creates` children are to be created: then the
        job is left to a worker that may create them."""
        settled = self._settled(key)
        if settled is not None:
            return Outcome(wake_at=settled.until)
        snapshot = await self._reader.read(key)
        if snapshot is None:
            return Outcome()
        if self._is_incomplete(snapshot):
            return await self._complete(snapshot.stored)
        claimed, refused = await self._claim(snapshot)
        if claimed or any(error.is_retryable for error in refused):
            return Outcome(is_waiting=True, errors=refused)
        outcome = await self._decide_and_act(snapshot, most_creates)
        outcome.errors += refused
        return outcome

    async def _decide_and_act(self, snapshot: Snapshot, most_creates: int | None) -> Outcome:
        reporter = self._reporter(snapshot)
        plan = self._decide(snapshot)
        if plan.deletes_job:
            return await self._delete_job(snapshot.job, snapshot.stored, reporter)
        fingerprint = self._fingerprint(snapshot, plan)
        if self._pacer.goes_first(snapshot.stored, plan):
            written, outcome = await self._store(snapshot, plan, reporter)
            outcome.has_more = written is not None and written.is_stored
            if outcome.has_more or not (written or outcome.errors):
                return outcome
            # A status that cannot be stored keeps no child from being created.
        if most_creates is not None and len(plan.creates) > most_creates:
            return Outcome(is_left=True)
        if any(create.kind in _WORKLOADS for create in plan.creates):
            sure = await self._made_sure(snapshot, plan)
            if sure is None:
                return Outcome()
            snapshot, plan = sure
        outcome = await self._carry_out(snapshot, plan, reporter)
        if fingerprint is not None:
            self._settle(snapshot, outcome, fingerprint)
        return outcome

    def _reporter(self, snapshot: Snapshot) -> JobEventRecorder:
        job = snapshot.job
        return JobEventRecorder(
            self._recorder,
            job.owner,
            component=job.messages.component,
            version=snapshot.stored.metadata.resource_version,
        )

    def _settled(self, key: Key) -> SettledState | None:
        """That nothing has changed since there was nothing to do."""
        stored = self._reader.stores.jobs.get(key)
        if stored is None:
            return None
        fingerprint = partial(self._reader.fingerprint, stored)
        return self._pacer.settled(stored, fingerprint=fingerprint, now=self._now())

    def _fingerprint(self, snapshot: Snapshot, plan: Plan) -> int | None:
        """How the children look, where a status is all there is to write; None otherwise."""
        if plan.has_effects or plan.events or plan.restarts:
            return None
        if not self._reader.is_plain(snapshot):
            return None
        return self._reader.fingerprint(snapshot.stored)

    def _is_there(self, job: JobObject) -> bool:
        """A job may have gone while it was reconciled; nothing of it is remembered then."""
        meta = job.metadata
        known = self._reader.stores.jobs.get((meta.namespace, meta.name))
        return known is not None and known.metadata.uid == meta.uid

    def _settle(self, snapshot: Snapshot, outcome: Outcome, fingerprint: int) -> None:
        if outcome.settled and not outcome.errors and self._is_there(snapshot.stored):
            state = SettledState(
                outcome.settled, fingerprint, since=self._now(), until=outcome.wake_at
            )
            self._pacer.settle(snapshot.stored, state)

    def _is_incomplete(self, snapshot: Snapshot) -> bool:
        job = snapshot.job
        if isinstance(job, InvalidJob) or job.is_external or job.is_deleting:
            return False
        if job.status.is_finished:
            return False
        return self._reader.completed(snapshot.manifest) is not None

    async def _complete(self, stored: JobObject) -> Outcome:
        """Store the spec; the job is decided on when the cache has it."""
        try:
            version = await self._statuses.complete(stored, self._reader.completed)
        except Conflict:
            return Outcome(is_waiting=True)
        except ApiError as error:
            return Outcome(errors=[error])
        return Outcome(versions={} if version is None else {JOBS: version})

    async def _made_sure(self, snapshot: Snapshot, plan: Plan) -> tuple[Snapshot, Plan] | None:
        """Decide anew on the job as it is now, before any pod is made.

        A cache of pods may be ahead of the cache of jobs: what seems to be missing may have run
        and been cleaned up, after an end that the cache of jobs has not seen.
        """
        if self.created_here.take(snapshot.stored.metadata.uid):
            return snapshot, plan
        fresh = await self._statuses.fresh(snapshot.stored)
        if fresh is None:
            return None
        if fresh.metadata.resource_version == snapshot.stored.metadata.resource_version:
            return snapshot, plan
        again = self._again(snapshot, fresh)
        return again, msgspec.structs.replace(self._decide(again), deletes_job=False)

    def _again(self, snapshot: Snapshot, fresh: JobObject) -> Snapshot:
        """The same with the job as it is now."""
        return msgspec.structs.replace(snapshot, stored=fresh, job=self._reader.decode(fresh))

    async def _carry_out(
        self, snapshot: Snapshot, plan: Plan, reporter: JobEventRecorder
    ) -> Outcome:
        """Children first, unless the status must be stored before they may go."""
        if plan.is_status_first:
            written, outcome = await self._store(snapshot, plan, reporter)
            if written is not None:
                # What was stored may have been decided anew, and only that is true.
                _merge(outcome, await self._children(written.job, written.plan, reporter))
            return outcome
        report = await self._children(snapshot.job, plan, reporter)
        left = self._deferral(snapshot, plan, report)
        if left is not None:
            outcome = Outcome(wake_at=plan.wake_at, deferred=left)
        else:
            _, outcome = await self._store(snapshot, plan, reporter, trouble=report.trouble)
        _merge(outcome, report)
        return outcome

    def _deferral(self, snapshot: Snapshot, plan: Plan, report: Report) -> float | None:
        """Seconds that the status waits; None where it is stored now."""
        if report.errors or not self._is_there(snapshot.stored):
            return None
        return self._pacer.defer_status(snapshot.stored, snapshot.job, plan)

    def _decide(self, snapshot: Snapshot) -> Plan:
        job, children, now = snapshot.job, snapshot.children, self._now()
        if isinstance(job, InvalidJob):
            return reject(job, children=children, now=now)
        return reconcile(job=job, children=children, now=now)

    async def _claim(self, snapshot: Snapshot) -> tuple[int, list[ApiError]]:
        """How many strays were claimed, which the next pass sees, and what was refused."""
        job = snapshot.job
        if isinstance(job, InvalidJob) or job.is_external or not snapshot.to_claim:
            return 0, []
        path = self._statuses.path(snapshot.stored)
        return await self._child_writer.claim(job, snapshot.to_claim, job_path=path)

    async def _children(
        self, job: Job | InvalidJob, plan: Plan, reporter: JobEventRecorder
    ) -> Report:
        if not (plan.creates or plan.deletes or plan.updates):
            return Report()
        return await self._child_writer.carry_out(job, plan, reporter)

    async def _store(
        self, snapshot: Snapshot, plan: Plan, reporter: JobEventRecorder, *, trouble: str = ""
    ) -> tuple[Written | None, Outcome]:
        def decide(fresh: JobObject) -> tuple[Job | InvalidJob, Plan]:
            again = self._again(snapshot, fresh)
            return again.job, self._decide(again)

        try:
            written = await self._statuses.write(
                snapshot.stored,
                job=snapshot.job,
                plan=plan,
                observed=Observed(children=snapshot.children, now=self._now(), trouble=trouble),
                decide=decide,
            )
        except ApiError as error:
            if isinstance(error, Invalid) and isinstance(snapshot.job, InvalidJob):
                _tell_without_proof(plan, reporter)
            return None, Outcome(errors=[error])
        if written is None:
            return None, Outcome()
        self._pacer.status_written(snapshot.stored)
        outcome = self._tell(written, plan, reporter)
        self._observe_first(snapshot, written)
        outcome.settled = _settled(snapshot.stored, written, plan)
        return written, outcome

    def _tell(self, written: Written, plan: Plan, reporter: JobEventRecorder) -> Outcome:
        """What the stored status proves may now be told and counted."""
        for event in written.plan.events:
            reporter.tell(event)
        namespace = written.job.owner.namespace
        outcome = Outcome(wake_at=written.plan.wake_at)
        if written.version is not None:
            outcome.versions[JOBS] = written.version
        if written.is_stored and written.plan.status is not None:
            self._observer.status_stored(
                namespace, before=written.job.status, after=written.plan.status
            )
        if plan.restarts:
            self._observer.restarted(namespace, replicas=plan.restarts)
        return outcome

    def _observe_first(self, snapshot: Snapshot, written: Written) -> None:
        if not written.is_stored or snapshot.stored.has_status:
            return
        created = time.parse(snapshot.stored.metadata.creation_timestamp)
        if created is not None:
            self._observer.first_status_stored(seconds=(self._now() - created).total_seconds())

    async def _delete_job(
        self, job: Job | InvalidJob, stored: JobObject, reporter: JobEventRecorder
    ) -> Outcome:
        messages, name = job.messages, job.owner.name
        try:
            await self._statuses.delete(stored)
        except NotFound:
            return Outcome()
        except Conflict:
            # Changed since it was decided about; its time may have been, too.
            return Outcome(is_waiting=True)
        except ApiError as error:
            reporter.failed(
                messages.child_delete_failed, kind=_JOB_KIND, child=name, error=error.message
            )
            return Outcome(errors=[error])
        rule, uid = Rule.TTL_AFTER_FINISHED, job.owner.uid
        reporter.done(
            messages.child_deleted, kind=_JOB_KIND, noun="job", child=name, uid=uid, rule=rule
        )
        facts = {"namespace": job.owner.namespace, "job": name, "uid": uid, "rule": str(rule)}
        _log.info("job deleted", extra=facts)
        self._observer.job_deleted(job.owner.namespace)
        return Outcome()


def _tell_without_proof(plan: Plan, reporter: JobEventRecorder) -> None:
    """Some broken specs are stored from a time without rules, and the server, which judges the
    whole object, takes no status for them: an event is then the only way to say what is wrong."""
    for event in plan.events:
        reporter.tell(event)


def _settled(stored: JobObject, written: Written, plan: Plan) -> str | None:
    """The version of a job about which the same children will decide nothing new.

    That holds where nothing was to be written, and for a job that goes on: once its status tells
    what its children do, there is nothing to add. An end has consequences, and so has a rest.
    """
    if not written.is_stored:
        return stored.metadata.resource_version if written.version is None else None
    status = written.plan.status
    if status is None or status.is_finished or status.is_true(ConditionType.SUSPENDED):
        return None
    return written.version if written.plan is plan else None


def _merge(outcome: Outcome, report: Report) -> None:
    outcome.versions |= report.versions
    outcome.errors += report.errors
    outcome.refused += report.refused
    outcome.retry_after = report.retry_after
    outcome.is_waiting |= report.is_waiting
    outcome.has_more |= report.has_more
    outcome.namespace_terminating |= report.namespace_terminating
