"""The result of one reconcile."""

from datetime import datetime

import msgspec

from tfjob.client.errors import ApiError
from tfjob.controller.write_report import Report


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
    """There is no such job, so that no deadline of it is left."""

    def add(self, report: Report) -> None:
        """Add the result of writing children."""
        self.versions |= report.versions
        self.errors += report.errors
        self.refused += report.refused
        self.retry_after = report.retry_after
        self.retries_soon |= report.retries_soon
        self.requeue |= report.has_more
        self.namespace_terminating |= report.namespace_terminating
