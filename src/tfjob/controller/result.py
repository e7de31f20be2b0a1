"""The result of a reconcile, and the report of its child writes, which becomes part of it."""

from datetime import datetime

import msgspec

from tfjob.client.errors import ApiError, NamespaceTerminating
from tfjob.core.diagnosis.diagnose import with_old_child, with_refusal
from tfjob.core.invalid_job import InvalidJob
from tfjob.core.job import Job
from tfjob.core.plan import Plan


class Report(msgspec.Struct):
    """The result of writing a job's children: versions to wait for, and errors."""

    versions: dict[str, str] = msgspec.field(default_factory=dict)
    errors: list[ApiError] = msgspec.field(default_factory=list)
    refused: int = 0
    """How many of the errors are refused creates, which are retried after `retry_after`."""
    retry_after: float | None = None
    """Seconds until creates that were refused, now or earlier, may be retried."""
    retries_soon: bool = False
    """An object with a child's name is terminating, or has just changed: retry shortly."""
    old_child: str = ""
    """The first child, in plan order, whose name a terminating object still has."""
    has_more: bool = False
    first_create_error: str = ""
    refused_child: str = ""
    """The first child, in plan order, that could not be created, and its error."""

    @property
    def namespace_terminating(self) -> bool:
        """Nothing can be created in the namespace any more."""
        return any(isinstance(error, NamespaceTerminating) for error in self.errors)


class Result(msgspec.Struct):
    """When to reconcile the job again, which writes to wait for first, and what failed."""

    requeue_at: datetime | None = None
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    """The newest version written of each kind."""
    errors: list[ApiError] = msgspec.field(default_factory=list)
    refused: int = 0
    """How many of the errors are refused creates, which are retried after `retry_after`."""
    retry_after: float | None = None
    """Seconds until refused creates may be retried; changes of the job do not shorten it."""
    retries_soon: bool = False
    """Another object or another writer is in the way for a moment: retry shortly."""
    requeue: bool = False
    """There is more to do: reconcile again at once."""
    exceeds_max_creates: bool = False
    """Nothing was done: the job is left to a worker that may create many children."""
    namespace_terminating: bool = False
    deferred_for: float | None = None
    """Seconds until the deferred status is reconsidered."""
    settled_version: str | None = None
    """The version of the job that needs no reconcile until its children change."""
    is_gone: bool = False
    """The job does not exist, so its pending deadline can be dropped."""

    def add(self, report: Report) -> None:
        """Add the result of writing children."""
        self.versions |= report.versions
        self.errors += report.errors
        self.refused += report.refused
        self.retry_after = report.retry_after
        self.retries_soon |= report.retries_soon
        self.requeue |= report.has_more
        self.namespace_terminating |= report.namespace_terminating


def with_blocked_child(job: Job | InvalidJob, plan: Plan, report: Report, *, now: datetime) -> Plan:
    """The plan with the reason why a child could not be created, unless it is an outage."""
    if isinstance(job, InvalidJob):
        return plan
    if not report.first_create_error:
        old = report.old_child
        return with_old_child(job, plan, child=old, now=now) if old else plan
    return with_refusal(
        job,
        plan,
        child=report.refused_child,
        error=report.first_create_error,
        is_final=report.retry_after is not None,
        now=now,
    )
