"""Workers that take keys from the queue and see each pass through: done, retry, or wake later.

A job is not looked at again before our own writes about it have come back, so that a slow watch
costs time and never a second child. That memory is only a courtesy: without it names and
preconditions keep things right.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, Protocol

import msgspec

from tfjob.client.errors import ApiError, NotLeadingError, Unauthorized
from tfjob.client.queue import QueueClosed, WorkQueue
from tfjob.client.wire import Key
from tfjob.controller.observer import PassObserver
from tfjob.controller.passes import Outcome

_log: Final = logging.getLogger(__name__)
LOOK_AGAIN: Final = 1.0
"""Seconds until it is seen whether a job's own writes have come back."""
MORE_TO_DO: Final = 0.1
"""The same for a job that gets more children than one pass makes."""
MOST_PATIENCE: Final = 10.0
"""Seconds after which a job is looked at in any case."""
WAIT_FOR_NAME: Final = 1.0
HOPELESS: Final = 60.0
OUTAGE: Final = 15.0
"""The longest wait for a server in trouble: when it is back, jobs shall not wait for minutes."""


class Times(msgspec.Struct, frozen=True):
    """The wall clock, for what is written down, and a clock that never jumps."""

    now: Callable[[], datetime]
    elapsed: Callable[[], float]


class Passer(Protocol):
    async def reconcile(self, key: Key) -> Outcome: ...


class Progressing(Protocol):
    """A cache that knows how far it has come."""

    def is_caught_up(self, key: Key, version: str) -> bool: ...


class _Awaited(msgspec.Struct, frozen=True):
    """Writes of ours that have to come back, and how long that is waited for."""

    versions: Mapping[str, str]
    until: float
    look_again: float = LOOK_AGAIN


class Loop:
    def __init__(
        self,
        passer: Passer,
        queue: WorkQueue[Key],
        *,
        caches: Mapping[str, Progressing],
        observer: PassObserver,
        times: Times,
        may_write: Callable[[], bool],
    ) -> None:
        self._passer = passer
        self._queue = queue
        self._caches = caches
        self._observer = observer
        self._times = times
        self._may_write = may_write
        self._awaited: dict[Key, _Awaited] = {}
        self._under_way: set[asyncio.Task[Outcome]] = set()

    @property
    def awaited(self) -> int:
        """Jobs whose last writes have not come back yet."""
        return len(self._awaited)

    def cancel_passes(self) -> None:
        """End the passes under way: what they have decided no longer holds. Workers go on."""
        for each in self._under_way:
            each.cancel()

    async def run(self) -> None:
        """Work until the queue is closed."""
        while True:
            try:
                key = await self._queue.get()
            except QueueClosed:
                return
            try:
                await self._work(key)
            finally:
                self._queue.done(key)
            # A pass that writes nothing waits for nothing: probes, watches and the lease go first.
            await asyncio.sleep(0)

    async def _work(self, key: Key) -> None:
        if not self._may_write():
            # Whoever leads next decides from what is stored; so do we, should it be us.
            self._awaited.pop(key, None)
            return
        if self._is_ahead_of_caches(key):
            self._queue.postpone(key, self._awaited[key].look_again)
            return
        started = self._times.elapsed()
        try:
            outcome = await self._outcome_of(key)
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

    async def _outcome_of(self, key: Key) -> Outcome | None:
        """The outcome of a pass, or None where it was cancelled and its worker was not."""
        task = asyncio.ensure_future(self._passer.reconcile(key))
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

    def _is_ahead_of_caches(self, key: Key) -> bool:
        awaited = self._awaited.get(key)
        if awaited is None:
            return False
        seen = all(
            self._caches[kind].is_caught_up(key, version)
            for kind, version in awaited.versions.items()
            if kind in self._caches
        )
        if seen or self._times.elapsed() >= awaited.until:
            del self._awaited[key]
            return False
        return True

    def _conclude(self, key: Key, outcome: Outcome, started: float) -> None:
        if outcome.versions:
            until = self._times.elapsed() + MOST_PATIENCE
            look_again = MORE_TO_DO if outcome.has_more else LOOK_AGAIN
            self._awaited[key] = _Awaited(outcome.versions, until, look_again)
        if outcome.held is not None:
            self._queue.add_after(key, outcome.held)
        if outcome.is_hopeless:
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
        later = outcome.is_waiting or outcome.wake_at is not None
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
        if outcome.wake_at is None:
            return
        seconds = (outcome.wake_at - self._times.now()).total_seconds()
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
