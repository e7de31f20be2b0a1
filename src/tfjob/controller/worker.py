"""Workers: take a key from the workqueue, reconcile the job, and requeue it by its result.

Some workers take keys of high priority only and never create many children. They keep statuses
moving while all other workers wait for creates.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol

import msgspec

from tfjob.client.errors import ApiError, NotLeadingError, Unauthorized
from tfjob.client.watch_codec import Key
from tfjob.client.workqueue import Priority, QueueClosed, WorkQueue
from tfjob.controller.expectations import Expectations
from tfjob.controller.metrics_recorder import ReconcileRecorder
from tfjob.controller.result import Result

_log: Final = logging.getLogger(__name__)
POLL_INTERVAL: Final = 1.0
"""Seconds between two checks of a job's expectations."""
SHORT_POLL_INTERVAL: Final = 0.1
"""The same for a job that is to be reconciled again at once."""
MAX_HIGH_PRIORITY_CREATES: Final = 12
"""The most children that a high-priority worker creates: enough to replace lost pods. Jobs with
more creates are left to the other workers."""
PAST_DEADLINE: Final = 1.0
"""Seconds until a job whose deadline has already passed is reconciled again."""
BLOCKED_RETRY: Final = 1.0
"""Seconds until a blocked job is retried."""
TERMINATING_NAMESPACE_RETRY: Final = 60.0
MAX_OUTAGE_RETRY: Final = 15.0
"""The longest backoff while the API server is down, so that jobs resume soon after it is back."""


class Clocks(msgspec.Struct, frozen=True):
    """The wall clock for timestamps, and a monotonic clock for durations."""

    now: Callable[[], datetime]
    elapsed: Callable[[], float]


class JobReconciler(Protocol):
    async def reconcile(self, key: Key, *, max_creates: int | None = None) -> Result: ...


class Worker:
    def __init__(
        self,
        reconciler: JobReconciler,
        queue: WorkQueue[Key],
        *,
        expectations: Expectations,
        metrics: ReconcileRecorder,
        clocks: Clocks,
        may_write: Callable[[], bool],
    ) -> None:
        self._reconciler = reconciler
        self._queue = queue
        self._expectations = expectations
        self._metrics = metrics
        self._clocks = clocks
        self._may_write = may_write
        self._in_progress: set[asyncio.Task[Result]] = set()

    def cancel_reconciles(self) -> None:
        """Cancel the reconciles in progress: their decisions no longer hold. Workers continue."""
        for each in self._in_progress:
            each.cancel()

    async def run(self, min_priority: Priority = Priority.NORMAL) -> None:
        """Work on keys of at least this priority until the queue is closed."""
        max_creates = MAX_HIGH_PRIORITY_CREATES if min_priority > Priority.NORMAL else None
        while True:
            try:
                key = await self._queue.get(min_priority)
            except QueueClosed:
                return
            try:
                await self._process(key, max_creates)
            finally:
                self._queue.done(key)
            # A reconcile without writes never yields to probes, watches and lease renewals.
            await asyncio.sleep(0)

    async def _process(self, key: Key, max_creates: int | None) -> None:
        if not self._may_write():
            # The next leader decides from stored state only, even if it is this process.
            self._expectations.forget(key)
            return
        poll_interval = self._expectations.unmet(key)
        if poll_interval is not None:
            self._queue.add_after(key, poll_interval, self._queue.priority_of(key))
            return
        started = self._clocks.elapsed()
        try:
            result = await self._run_reconcile(key, max_creates=max_creates)
        except ApiError as error:
            result = Result(errors=[error])
        except NotLeadingError:
            return
        except Exception:  # noqa: BLE001 - see below
            # A bug must delay one job only and not stop the operator for all others.
            _log.exception("reconcile failed", extra={"namespace": key[0], "job": key[1]})
            self._retry(key, started)
            return
        if result is not None:
            self._handle_result(key, result, started)

    async def _run_reconcile(self, key: Key, *, max_creates: int | None) -> Result | None:
        """The result of a reconcile; None if only the reconcile was cancelled, not its worker."""
        work = self._reconciler.reconcile(key, max_creates=max_creates)
        task = asyncio.ensure_future(work)
        self._in_progress.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            self._in_progress.discard(task)
        return None if task.cancelled() else task.result()

    def _handle_result(self, key: Key, result: Result, started: float) -> None:
        if result.exceeds_max_creates:
            self._queue.demote(key)
            self._observe("requeue", started)
            return
        if result.is_gone:
            # Its TTL or deadline may be days away.
            self._queue.cancel_delay(key)
        poll_interval = SHORT_POLL_INTERVAL if result.requeue else POLL_INTERVAL
        self._expectations.expect(key, result.versions, poll_interval=poll_interval)
        if result.deferred_for is not None:
            self._queue.add_after(key, result.deferred_for, Priority.HIGH)
        if result.namespace_terminating:
            self._queue.add_after(key, TERMINATING_NAMESPACE_RETRY)
            self._observe("requeue_after", started)
            return
        if result.retry_after is not None:
            self._queue.add_after(key, result.retry_after)
        if result.errors:
            self._handle_errors(key, result, started)
            return
        self._queue.forget(key)
        if result.requeue:
            self._queue.add(key)
        if result.retries_soon:
            self._queue.add_after(key, BLOCKED_RETRY)
        self._requeue_at(key, result)
        later = result.retries_soon or result.requeue_at is not None
        self._observe("requeue_after" if later else "success", started)

    def _handle_errors(self, key: Key, result: Result, started: float) -> None:
        """Retry with backoff, unless only refused creates failed: those have their own backoff."""
        self._log_errors(key, result.errors)
        if len(result.errors) > result.refused:
            self._retry(key, started)
            if all(_is_outage(error) for error in result.errors):
                self._queue.add_after(key, MAX_OUTAGE_RETRY)
        else:
            if result.requeue:
                self._queue.add(key)
            self._observe("error", started)
        self._requeue_at(key, result)

    def _requeue_at(self, key: Key, result: Result) -> None:
        """Requeue for the next deadline even after errors. A deadline in the past does not
        shorten the backoff of a failing job."""
        if result.requeue_at is None:
            return
        seconds = (result.requeue_at - self._clocks.now()).total_seconds()
        if seconds > 0:
            self._queue.add_after(key, seconds)
        elif not result.errors:
            self._queue.add_after(key, PAST_DEADLINE)

    def _retry(self, key: Key, started: float) -> None:
        self._queue.retry(key)
        self._observe("error", started)

    def _observe(self, result: str, started: float) -> None:
        self._metrics.reconciled(result=result, seconds=self._clocks.elapsed() - started)

    def _log_errors(self, key: Key, errors: list[ApiError]) -> None:
        _log.warning(
            "reconcile incomplete, will be retried",
            extra={
                "namespace": key[0],
                "job": key[1],
                "failures": self._queue.failures(key) + 1,
                "errors": len(errors),
                "error": str(errors[0]),
            },
        )


def _is_outage(error: ApiError) -> bool:
    """Whether the server or the credentials fail, rather than this job."""
    return error.is_retryable or isinstance(error, Unauthorized)
