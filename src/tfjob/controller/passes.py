"""One pass over one job: gather, decide, carry out. Children first, then status, then events.

A spec that is to be completed is stored before anything else, and decided on when it comes back.

Knows nothing of queues and timers: the outcome says when to come back.
"""

from datetime import datetime
from typing import Final

import msgspec

from tfjob.client.errors import ApiError, Conflict, Invalid, NotFound
from tfjob.client.events import EventRecorder
from tfjob.client.wire import Key
from tfjob.controller.children import Hands, Report
from tfjob.controller.gather import Gathered, Gatherer
from tfjob.controller.memory import Memory, Rest
from tfjob.controller.objects import JobObject
from tfjob.controller.observer import Observer
from tfjob.controller.reporter import Reporter
from tfjob.controller.statuses import StatusWriter, Written
from tfjob.core.invalid import InvalidJob, reject
from tfjob.core.job import Job
from tfjob.core.plan import ChildKind, Plan
from tfjob.core.reconcile import reconcile
from tfjob.core.status import ConditionType
from tfjob.dialects.base import Observed

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
    is_hopeless: bool = False
    held: float | None = None
    """Seconds after which news that was kept back is looked at again."""
    settled: str | None = None
    """The version of the job for which there is nothing to do, as long as its children stay."""


class Reconciler:
    def __init__(
        self,
        *,
        gatherer: Gatherer,
        hands: Hands,
        statuses: StatusWriter,
        recorder: EventRecorder,
        observer: Observer,
        memory: Memory | None = None,
    ) -> None:
        self._gatherer = gatherer
        self._hands = hands
        self._statuses = statuses
        self._recorder = recorder
        self._observer = observer
        self._now = gatherer.now
        self._memory = memory

    async def reconcile(self, key: Key) -> Outcome:
        rest = self._rest(key)
        return await self._look_at(key) if rest is None else Outcome(wake_at=rest.until)

    async def _look_at(self, key: Key) -> Outcome:
        gathered = await self._gatherer.gather(key)
        if gathered is None:
            return Outcome()
        if self._memory is not None:
            gathered.held = self._memory.held(gathered.stored)
        job = gathered.job
        reporter = Reporter(
            self._recorder,
            job.owner,
            component=job.wording.component,
            version=gathered.stored.metadata.resource_version,
        )
        if self._is_incomplete(gathered):
            return await self._complete(gathered.stored)
        claimed, refused = await self._claim(gathered)
        if claimed or any(error.is_retryable for error in refused):
            return Outcome(is_waiting=True, errors=refused)
        plan = self._decide_on(gathered)
        if plan.deletes_job:
            return await self._delete_job(job, gathered.stored, reporter)
        sight = self._sight(gathered, plan)
        if any(create.kind in _WORKLOADS for create in plan.creates):
            sure = await self._made_sure(gathered, plan)
            if sure is None:
                return Outcome()
            gathered, plan = sure
        outcome = await self._carry_out(gathered, plan, reporter)
        outcome.errors += refused
        if sight is not None:
            self._lay_to_rest(gathered, outcome, sight)
        return outcome

    def _rest(self, key: Key) -> Rest | None:
        """That nothing has changed since there was nothing to do."""
        stored = self._gatherer.stores.jobs.get(key)
        if self._memory is None or stored is None:
            return None
        rest = self._memory.rest_of(stored)
        if rest is None or self._gatherer.sight(stored) != rest.sight:
            return None
        return rest if rest.covers(self._now()) else None

    def _sight(self, gathered: Gathered, plan: Plan) -> int | None:
        """How the children look, where a status is all there is to write; None otherwise."""
        if self._memory is None or plan.has_effects or plan.events or plan.restarts:
            return None
        if not self._gatherer.is_plain(gathered):
            return None
        return self._gatherer.sight(gathered.stored)

    def _is_there(self, job: JobObject) -> bool:
        """A job may have gone during its pass; nothing of it may then be remembered."""
        meta = job.metadata
        known = self._gatherer.stores.jobs.get((meta.namespace, meta.name))
        return known is not None and known.metadata.uid == meta.uid

    def _lay_to_rest(self, gathered: Gathered, outcome: Outcome, sight: int) -> None:
        if self._memory is None or not self._is_there(gathered.stored):
            return
        if outcome.settled and not outcome.errors:
            rest = Rest(outcome.settled, sight, since=self._now(), until=outcome.wake_at)
            self._memory.lay_to_rest(gathered.stored, rest)

    def _is_incomplete(self, gathered: Gathered) -> bool:
        job = gathered.job
        if isinstance(job, InvalidJob) or job.is_external or job.is_deleting:
            return False
        if job.status.is_finished:
            return False
        return self._gatherer.completed(gathered.manifest) is not None

    async def _complete(self, stored: JobObject) -> Outcome:
        """Store the spec; the job is decided on when the cache has it."""
        try:
            version = await self._statuses.complete(stored, self._gatherer.completed)
        except Conflict:
            return Outcome(is_waiting=True)
        except ApiError as error:
            return Outcome(errors=[error])
        return Outcome(versions={} if version is None else {JOBS: version})

    async def _made_sure(self, gathered: Gathered, plan: Plan) -> tuple[Gathered, Plan] | None:
        """Decide anew on the job as it is now, before any pod is made.

        A cache of pods may be ahead of the cache of jobs: what seems to be missing may have run
        and been cleaned up, after an end that the cache of jobs has not seen.
        """
        if self._memory is not None and self._memory.was_newborn(gathered.stored.metadata.uid):
            return gathered, plan
        fresh = await self._statuses.fresh(gathered.stored)
        if fresh is None:
            return None
        if fresh.metadata.resource_version == gathered.stored.metadata.resource_version:
            return gathered, plan
        again = self._again(gathered, fresh)
        return again, msgspec.structs.replace(self._decide_on(again), deletes_job=False)

    def _again(self, gathered: Gathered, fresh: JobObject) -> Gathered:
        """The same with the job as it is now; what was kept back follows on its old status only."""
        held = gathered.held if fresh.status == gathered.stored.status else None
        return msgspec.structs.replace(
            gathered, stored=fresh, job=self._gatherer.decode(fresh), held=held
        )

    async def _carry_out(self, gathered: Gathered, plan: Plan, reporter: Reporter) -> Outcome:
        """Children first, unless the status must be stored before they may go."""
        if not plan.is_status_first:
            report = await self._children(gathered.job, plan, reporter)
            outcome = self._held_back(gathered, plan, report)
            if outcome is None:
                _, outcome = await self._store(gathered, plan, reporter, trouble=report.trouble)
            _merge(outcome, report)
            return outcome
        written, outcome = await self._store(gathered, plan, reporter)
        if self._memory is not None:
            self._memory.told(gathered.stored)
        if written is not None:
            # What was stored may have been decided anew, and only that is true.
            _merge(outcome, await self._children(written.job, written.plan, reporter))
        return outcome

    def _held_back(self, gathered: Gathered, plan: Plan, report: Report) -> Outcome | None:
        """Routine waits a while for more of its kind; None where the status is stored now."""
        if self._memory is None:
            return None
        if plan.is_patient and plan.status is not None and not report.errors:
            if not self._is_there(gathered.stored):
                return None
            running = ConditionType.RUNNING
            begins = plan.status.is_true(running) and not gathered.job.status.is_true(running)
            left = self._memory.hold(gathered.stored, plan.status, begins=begins)
            if left > 0:
                return Outcome(wake_at=plan.wake_at, held=left)
        self._memory.told(gathered.stored)
        return None

    def _decide(self, gathered: Gathered, job: Job | InvalidJob) -> Plan:
        if isinstance(job, InvalidJob):
            return reject(job, children=gathered.children, now=self._now())
        return reconcile(job=job, children=gathered.children, now=self._now())

    def _decide_on(self, gathered: Gathered) -> Plan:
        """Decide on the job as it is known here: a status that was kept back goes on from there."""
        job, held = gathered.job, gathered.held
        if held is None or isinstance(job, InvalidJob) or job.is_external or job.is_deleting:
            return self._decide(gathered, job)
        plan = self._decide(gathered, msgspec.structs.replace(job, status=held))
        is_patient = plan.is_patient or plan.status is None
        return msgspec.structs.replace(plan, status=plan.status or held, is_patient=is_patient)

    async def _claim(self, gathered: Gathered) -> tuple[int, list[ApiError]]:
        """How many strays were claimed, which the next pass sees, and what was refused."""
        job = gathered.job
        if isinstance(job, InvalidJob) or job.is_external or not gathered.strays:
            return 0, []
        path = self._statuses.path(gathered.stored)
        return await self._hands.claim(job, gathered.strays, job_path=path)

    async def _children(self, job: Job | InvalidJob, plan: Plan, reporter: Reporter) -> Report:
        if not (plan.creates or plan.deletes or plan.updates):
            return Report()
        return await self._hands.carry_out(job, plan, reporter)

    async def _store(
        self, gathered: Gathered, plan: Plan, reporter: Reporter, *, trouble: str = ""
    ) -> tuple[Written | None, Outcome]:
        def decide(fresh: JobObject) -> tuple[Job | InvalidJob, Plan]:
            again = self._again(gathered, fresh)
            return again.job, self._decide_on(again)

        try:
            written = await self._statuses.write(
                gathered.stored,
                job=gathered.job,
                plan=plan,
                observed=Observed(children=gathered.children, now=self._now(), trouble=trouble),
                decide=decide,
            )
        except ApiError as error:
            if isinstance(error, Invalid) and isinstance(gathered.job, InvalidJob):
                _tell_without_proof(plan, reporter)
            return None, Outcome(errors=[error])
        if written is None:
            return None, Outcome()
        outcome = self._tell(written, plan, reporter)
        outcome.settled = _settled(gathered.stored, written, plan)
        return written, outcome

    def _tell(self, written: Written, plan: Plan, reporter: Reporter) -> Outcome:
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

    async def _delete_job(
        self, job: Job | InvalidJob, stored: JobObject, reporter: Reporter
    ) -> Outcome:
        wording, name = job.wording, job.owner.name
        try:
            await self._statuses.delete(stored)
        except NotFound:
            return Outcome()
        except Conflict:
            # Changed since it was decided about; its time may have been, too.
            return Outcome(is_waiting=True)
        except ApiError as error:
            reporter.failed(
                wording.child_delete_failed, kind=_JOB_KIND, child=name, error=error.message
            )
            return Outcome(errors=[error])
        reporter.done(
            wording.child_deleted, kind=_JOB_KIND, noun="job", child=name, uid=job.owner.uid
        )
        self._observer.job_deleted(job.owner.namespace)
        return Outcome()


def _tell_without_proof(plan: Plan, reporter: Reporter) -> None:
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
    outcome.is_hopeless |= report.is_hopeless
