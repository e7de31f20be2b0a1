"""How a worker requeues a key by the result of its reconcile."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise

import pytest

from tests.support.builders import NOW, at
from tests.support.fake_time import FakeTime, settle
from tfjob.client.errors import ApiError, Forbidden, Transient, Unauthorized
from tfjob.client.watch_codec import Key
from tfjob.client.workqueue import Priority, WorkQueue
from tfjob.controller.expectations import MAX_WAIT, Expectations
from tfjob.controller.result import Result
from tfjob.controller.worker import (
    BLOCKED_RETRY,
    MAX_HIGH_PRIORITY_CREATES,
    MAX_OUTAGE_RETRY,
    PAST_DEADLINE,
    POLL_INTERVAL,
    TERMINATING_NAMESPACE_RETRY,
    Clocks,
    Worker,
)
from tfjob.manager.metrics import Metrics

JOB: Key = ("n", "j")
Answer = Callable[[], Result]


class World:
    """A worker whose reconciles return what the test sets, in virtual time."""

    def __init__(self) -> None:
        self.time = FakeTime()
        self.queue = WorkQueue[Key](timers=self.time)
        self.answer: Answer = Result
        self.passes: list[float] = []
        self.max_creates: int | None = None
        self.priorities: list[Priority] = []
        self.reached = 0
        self.leads = True
        self.metrics = Metrics()
        self.expectations = Expectations({"Pod": self}, clock=self.time.time)
        self.loop = Worker(
            self,
            self.queue,
            expectations=self.expectations,
            metrics=self.metrics.reconcile_recorder("tfjob-controller"),
            clocks=Clocks(
                now=lambda: NOW + timedelta(seconds=self.time.time() - 1000),
                elapsed=self.time.time,
            ),
            may_write=lambda: self.leads,
        )

    async def reconcile(self, key: Key, *, max_creates: int | None = None) -> Result:
        assert key == JOB
        self.max_creates = max_creates
        self.priorities.append(self.queue.priority_of(key))
        self.passes.append(self.time.time() - 1000)
        return self.answer()

    def is_caught_up(self, key: Key, version: str) -> bool:
        assert key == JOB
        return self.reached >= int(version)

    async def advance(self, seconds: float) -> list[float]:
        """Advance time and return the times of the reconciles."""
        known = len(self.passes)
        await self.time.advance(seconds)
        return self.passes[known:]

    def counted(self, result: str) -> float:
        labels = {"controller": "tfjob-controller", "result": result}
        name = "controller_runtime_reconcile_total"
        return self.metrics.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def worked() -> AsyncIterator[World]:
    harness = World()
    worker = asyncio.create_task(harness.loop.run())
    harness.queue.add(JOB)
    try:
        yield harness
    finally:
        harness.queue.close()
        await worker


def failing(*errors: ApiError) -> Answer:
    return lambda: Result(errors=list(errors))


async def test_successful_reconcile_is_not_requeued() -> None:
    async with worked() as harness:
        assert await harness.advance(3600) == [0]
        assert (len(harness.queue), harness.queue.delayed, len(harness.expectations)) == (0, 0, 0)
        assert harness.counted("success") == 1


async def test_job_is_reconciled_at_its_requeue_time() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(requeue_at=at(40) if len(harness.passes) == 1 else None)
        assert await harness.advance(3600) == [0, 40]
        assert harness.counted("requeue_after") == 1


async def test_deadline_of_a_deleted_job_is_dropped() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(requeue_at=at(7 * 86_400))
        assert await harness.advance(1) == [0]
        assert harness.queue.delayed == 1
        harness.answer = lambda: Result(is_gone=True)
        harness.queue.add(JOB)
        assert await harness.advance(1) == [1]
        assert harness.queue.delayed == 0


async def test_past_requeue_time_does_not_cause_a_hot_loop() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(requeue_at=at(-40) if len(harness.passes) == 1 else None)
        assert await harness.advance(5) == [0, PAST_DEADLINE]


async def test_failed_reconcile_is_retried_with_backoff() -> None:
    async with worked() as harness:
        harness.answer = failing(Forbidden("quota"))
        moments = await harness.advance(3600)
        gaps = [round(later - earlier, 6) for earlier, later in pairwise(moments)]
        assert gaps[:4] == [0.005, 0.01, 0.02, 0.04]
        assert gaps == sorted(gaps)
        assert gaps[-1] == 300
        assert harness.counted("error") == len(moments)


async def test_refused_creates_are_retried_after_their_own_backoff() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(errors=[Forbidden("quota")], refused=1, retry_after=20.0)
        assert await harness.advance(50) == [0, 20, 40]
        assert harness.queue.failures(JOB) == 0


async def test_refused_creates_do_not_delay_remaining_children() -> None:
    async with worked() as harness:
        refused = Result(errors=[Forbidden("quota")], refused=1, retry_after=20.0, requeue=True)
        harness.answer = lambda: refused if len(harness.passes) == 1 else Result()
        assert await harness.advance(10) == [0, 0]


async def test_other_errors_beside_refused_creates_are_retried_as_usual() -> None:
    async with worked() as harness:
        errors: list[ApiError] = [Forbidden("quota"), Transient("500")]
        harness.answer = lambda: Result(errors=errors, refused=1, retry_after=20.0)
        assert (await harness.advance(1))[:2] == [0, pytest.approx(0.005)]


@pytest.mark.parametrize("error", [Transient("500"), Unauthorized("401")])
async def test_backoff_during_an_outage_is_limited(error: ApiError) -> None:
    async with worked() as harness:
        harness.answer = failing(error)
        moments = await harness.advance(600)
        gaps = [round(later - earlier, 6) for earlier, later in pairwise(moments)]
        assert max(gaps) == MAX_OUTAGE_RETRY


async def test_success_resets_the_backoff() -> None:
    async with worked() as harness:
        harness.answer = failing(Forbidden("quota"))
        await harness.advance(100)
        assert harness.queue.failures(JOB) > 5
        harness.answer = Result
        await harness.advance(400)
        assert harness.queue.failures(JOB) == 0


async def test_deferred_status_is_reconsidered_in_time_although_reconciles_fail() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(errors=[Forbidden("quota")], deferred_for=100)
        moments = await harness.advance(3600)
        assert max(later - earlier for earlier, later in pairwise(moments)) == 100


async def test_deadline_is_kept_although_reconciles_fail() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(errors=[Forbidden("quota")], requeue_at=at(500))
        assert 500 in await harness.advance(3600)


async def test_past_deadline_does_not_shorten_the_backoff() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(errors=[Forbidden("quota")], requeue_at=at(-1))
        assert len(await harness.advance(3600)) < 30


async def test_bug_in_a_reconcile_is_retried_and_stops_no_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with worked() as harness:

        def broken() -> Result:
            raise ZeroDivisionError

        harness.answer = broken
        assert len(await harness.advance(1)) > 3
        harness.answer = Result
        await harness.advance(10)
        assert harness.queue.delayed == 0
    assert caplog.records[0].message == "reconcile failed"
    assert vars(caplog.records[0])["job"] == "j"


async def test_api_error_that_a_reconcile_raises_is_retried() -> None:
    async with worked() as harness:

        def refused() -> Result:
            raise Forbidden("no nodes for you")

        harness.answer = refused
        assert len(await harness.advance(1)) > 3


async def test_job_in_a_terminating_namespace_is_retried_rarely() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(
            namespace_terminating=True, errors=[Forbidden("terminating")]
        )
        assert await harness.advance(150) == [
            0,
            TERMINATING_NAMESPACE_RETRY,
            2 * TERMINATING_NAMESPACE_RETRY,
        ]


async def test_blocked_create_is_retried_shortly() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(retries_soon=len(harness.passes) == 1)
        assert await harness.advance(60) == [0, BLOCKED_RETRY]


async def test_job_is_not_reconciled_before_its_expectations_are_met() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(versions={"Pod": "7"} if len(harness.passes) == 1 else {})
        await harness.advance(0)
        for _ in range(100):
            harness.queue.add(JOB)
            assert await harness.advance(0.01) == []
        assert len(harness.expectations) == 1
        harness.reached = 7
        assert await harness.advance(POLL_INTERVAL) == [pytest.approx(POLL_INTERVAL)]
        assert len(harness.expectations) == 0


async def test_unmet_expectations_delay_a_job_for_seconds_only() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(versions={"Pod": "7"} if len(harness.passes) == 1 else {})
        await harness.advance(0)
        harness.queue.add(JOB)
        assert await harness.advance(60) == [pytest.approx(MAX_WAIT)]


async def test_version_of_a_kind_without_an_informer_is_not_expected() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(versions={"ConfigMap": "7"})
        await harness.advance(0)
        harness.queue.add(JOB)
        assert await harness.advance(0) == [0]


async def test_operator_that_does_not_lead_leaves_jobs_alone() -> None:
    async with worked() as harness:
        harness.leads = False
        assert await harness.advance(60) == []
        assert len(harness.queue) == 0


async def test_operator_that_lost_leadership_drops_its_expectations() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(versions={"Pod": "7"})
        await harness.advance(0)
        harness.leads = False
        harness.queue.add(JOB)
        await harness.advance(1)
        assert len(harness.expectations) == 0


async def test_job_with_remaining_creates_is_requeued_at_once() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(versions={"Pod": "5"}, requeue=len(harness.passes) == 1)
        await harness.time.advance(0.25)
        harness.reached = 5
        assert await harness.advance(0.1) == [pytest.approx(0.3)]


class Endless:
    """A reconcile that ends only when the test lets it."""

    def __init__(self) -> None:
        self.begun = 0
        self.is_endless = True

    async def reconcile(self, key: Key, *, max_creates: int | None = None) -> Result:
        self.begun += 1
        assert (key, max_creates) == (JOB, None)
        if self.is_endless:
            await asyncio.get_running_loop().create_future()
        return Result(requeue_at=at(5))


async def test_cancelled_reconcile_has_no_result_and_its_worker_continues() -> None:
    async with worked() as harness:
        passer = Endless()
        harness.loop._reconciler = passer
        await harness.advance(1)
        harness.loop.cancel_reconciles()
        await harness.advance(1)
        assert (passer.begun, harness.queue.delayed, len(harness.expectations)) == (1, 0, 0)
        passer.is_endless = False
        harness.queue.add(JOB)
        await harness.advance(1)
        assert (passer.begun, harness.queue.delayed) == (2, 1)


async def test_cancelled_worker_cancels_its_reconcile() -> None:
    queue = WorkQueue[Key]()
    harness = World()
    passer = Endless()
    harness.loop._reconciler, harness.loop._queue = passer, queue
    worker = asyncio.create_task(harness.loop.run())
    queue.add(JOB)
    await settle()
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker
    assert (passer.begun, len(harness.loop._in_progress)) == (1, 0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_deferred_status_has_high_priority_when_it_is_due() -> None:
    async with worked() as harness:
        harness.answer = lambda: Result(deferred_for=2.0 if len(harness.passes) == 1 else None)
        assert await harness.advance(60) == [0, 2]
        assert harness.priorities == [Priority.NORMAL, Priority.HIGH]


@pytest.mark.parametrize(
    ("least", "most"), [(Priority.NORMAL, None), (Priority.HIGH, MAX_HIGH_PRIORITY_CREATES)]
)
async def test_worker_for_high_priority_creates_few_children(
    least: Priority, most: int | None
) -> None:
    harness = World()
    worker = asyncio.create_task(harness.loop.run(least))
    harness.queue.add(JOB, Priority.HIGH)
    assert await harness.advance(1) == [0]
    assert harness.max_creates == most
    harness.queue.close()
    await worker


async def test_job_that_is_left_to_another_worker_keeps_its_failures_and_loses_its_priority() -> (
    None
):
    harness = World()
    worker = asyncio.create_task(harness.loop.run(Priority.HIGH))
    harness.queue.add(JOB, Priority.HIGH)
    harness.answer = failing(Forbidden("quota"))
    await harness.advance(1)
    failures = harness.queue.failures(JOB)
    harness.answer = lambda: Result(exceeds_max_creates=True)
    known = len(harness.passes)
    await harness.advance(60)
    assert len(harness.passes) == known + 1
    assert (harness.queue.failures(JOB), len(harness.queue)) == (failures, 1)
    harness.queue.close()
    await worker
