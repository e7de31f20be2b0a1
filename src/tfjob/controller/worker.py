"""Workers that take keys from the queue and see each reconcile through: done, retry, or later.

Some workers take keys of high priority only, and never create many children: while all the others
wait for children to be created, statuses are written all the same.
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
from tfjob.controller.observer import PassObserver
from tfjob.controller.reconciler import Outcome

_log: Final = logging.getLogger(__name__)
LOOK_AGAIN: Final = 1.0
"""Seconds until it is seen whether a job's own writes have come back."""
MORE_TO_DO: Final = 0.1
"""The same for a job that gets more children than one pass makes."""
FEW_CREATES: Final = 12
"""Children that a worker for high priority creates at most: a lost pod is replaced by whoever is
free, while many children are left to those who may wait for them."""
WAIT_FOR_NAME: Final = 1.0
HOPELESS: Final = 60.0
OUTAGE: Final = 15.0
"""The longest wait for a server in trouble: when it is back, jobs shall not wait for minutes."""


class Times(msgspec.Struct, frozen=True):
    """The wall clock, for what is written down, and a clock that never jumps."""

    now: Callable[[], datetime]
    elapsed: Callable[[], float]


class Reconciles(Protocol):
    async def reconcile(self, key: Key, *, most_creates: int | None = None) -> Outcome: ...


class Worker:
    def __init__(
        self,
        reconciler: Reconciles,
        queue: WorkQueue[Key],
        *,
        expectations: Expectations,
        observer: PassObserver,
        times: Times,
        may_write: Callable[[], bool],
    ) -> None:
        self._reconciler = reconciler
        self._queue = queue
        self._expectations = expectations
        self._observer = observer
        self._times = times
        self._may_write = may_write
        self._under_way: set[asyncio.Task[Outcome]] = set()

    def cancel_reconciles(self) -> None:
        """Cancel the reconciles in progress: their decisions no longer hold. Workers continue."""
        for each in self._under_way:
            each.cancel()

    async def run(self, least: Priority = Priority.NORMAL) -> None:
        """Work on keys of at least this priority until the queue is closed."""
        most_creates = FEW_CREATES if least > Priority.NORMAL else None
        while True:
            try:
                key = await self._queue.get(least)
            except QueueClosed:
                return
            try:
                await self._work(key, most_creates)
            finally:
                self._queue.done(key)
            # A pass that writes nothing waits for nothing: probes, watches and the lease go first.
            await asyncio.sleep(0)

    async def _work(self, key: Key, most_creates: int | None) -> None:
        if not self._may_write():
            # Whoever leads next decides from what is stored; so do we, should it be us.
            self._expectations.forget(key)
            return
        look_again = self._expectations.unmet(key)
        if look_again is not None:
            self._queue.add_after(key, look_again, self._queue.priority_of(key))
            return
        started = self._times.elapsed()
        try:
            outcome = await self._outcome_of(key, most_creates=most_creates)
        except ApiError as error:
            outcome = Outcome(errors=[error])
        except NotLeadingError:
            return
        except Exception:  # noqa: BLE001 - see below
            # A bug of ours must cost one job some time, never the other jobs their operator.
            _log.exception("pass failed", extra={"namespace": key[0], "job": key[1]})
            self._retry(key, started)
            return
        if outcome is not None:
            self._conclude(key, outcome, started)

    async def _outcome_of(self, key: Key, *, most_creates: int | None) -> Outcome | None:
        """The outcome of a reconcile; None if it was cancelled and its worker was not."""
        work = self._reconciler.reconcile(key, most_creates=most_creates)
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            raise
        finally:
            self._under_way.discard(task)
        return None if task.cancelled() else task.result()

    def _conclude(self, key: Key, outcome: Outcome, started: float) -> None:
        if outcome.is_left:
            self._queue.demote(key)
            self._passed("requeue", started)
            return
        look_again = MORE_TO_DO if outcome.has_more else LOOK_AGAIN
        self._expectations.expect(key, outcome.versions, look_again=look_again)
        if outcome.deferred is not None:
            self._queue.add_after(key, outcome.deferred, Priority.HIGH)
        if outcome.namespace_terminating:
            self._queue.add_after(key, HOPELESS)
            self._passed("requeue_after", started)
            return
        if outcome.retry_after is not None:
            self._queue.add_after(key, outcome.retry_after)
        if outcome.errors:
            self._conclude_failure(key, outcome, started)
            return
        self._queue.forget(key)
        if outcome.has_more:
            self._queue.add(key)
        if outcome.is_waiting:
            self._queue.add_after(key, WAIT_FOR_NAME)
        self._wake_in_time(key, outcome)
        later = outcome.is_waiting or outcome.requeue_at is not None
        self._passed("requeue_after" if later else "success", started)

    def _conclude_failure(self, key: Key, outcome: Outcome, started: float) -> None:
        """Retry, unless refused creates are all that failed: those have a back-off of their own."""
        self._tell(key, outcome.errors)
        if len(outcome.errors) > outcome.refused:
            self._retry(key, started)
            if all(_is_outage(error) for error in outcome.errors):
                self._queue.add_after(key, OUTAGE)
        else:
            if outcome.has_more:
                self._queue.add(key)
            self._passed("error", started)
        self._wake_in_time(key, outcome)

    def _wake_in_time(self, key: Key, outcome: Outcome) -> None:
        """A deadline is kept whatever else goes wrong; one that has passed is no reason to hurry
        a job that already fails."""
        if outcome.requeue_at is None:
            return
        seconds = (outcome.requeue_at - self._times.now()).total_seconds()
        if seconds > 0 or not outcome.errors:
            self._queue.add_after(key, max(seconds, 0.001))

    def _retry(self, key: Key, started: float) -> None:
        self._queue.retry(key)
        self._passed("error", started)

    def _passed(self, result: str, started: float) -> None:
        self._observer.passed(result=result, seconds=self._times.elapsed() - started)

    def _tell(self, key: Key, errors: list[ApiError]) -> None:
        _log.warning(
            "pass incomplete, will be tried again",
            extra={
                "namespace": key[0],
                "job": key[1],
                "failures": self._queue.failures(key) + 1,
                "errors": len(errors),
                "first": str(errors[0]),
            },
        )


def _is_outage(error: ApiError) -> bool:
    """Whether the server or our credentials are in trouble, and not the job."""
    return error.is_retryable or isinstance(error, Unauthorized)
