"""What becomes of a key after its pass: done, retried, or looked at again in time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise

import pytest

from tests.support.builders import NOW, at
from tests.support.fake_time import FakeTime
from tfjob.client.errors import ApiError, Forbidden, Transient, Unauthorized
from tfjob.client.queue import WorkQueue
from tfjob.client.wire import Key
from tfjob.controller.loop import (
    HOPELESS,
    LOOK_AGAIN,
    MOST_PATIENCE,
    OUTAGE,
    WAIT_FOR_NAME,
    Loop,
    Times,
)
from tfjob.controller.passes import Outcome
from tfjob.manager.metrics import Metrics

JOB: Key = ("n", "j")
Answer = Callable[[], Outcome]


class World:
    """A loop over passes that end as a test says, under time that stands still."""

    def __init__(self) -> None:
        self.time = FakeTime()
        self.queue = WorkQueue[Key](timers=self.time)
        self.answer: Answer = Outcome
        self.passes: list[float] = []
        self.reached = 0
        self.leads = True
        self.metrics = Metrics()
        self.loop = Loop(
            self,
            self.queue,
            caches={"Pod": self},
            observer=self.metrics.passes_of("tfjob-controller"),
            times=Times(
                now=lambda: NOW + timedelta(seconds=self.time.time() - 1000),
                elapsed=self.time.time,
            ),
            may_write=lambda: self.leads,
        )

    async def reconcile(self, key: Key) -> Outcome:
        assert key == JOB
        self.passes.append(self.time.time() - 1000)
        return self.answer()

    def is_caught_up(self, key: Key, version: str) -> bool:
        assert key == JOB
        return self.reached >= int(version)

    async def advance(self, seconds: float) -> list[float]:
        """Let time pass; the moments of the passes that it brought."""
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
    return lambda: Outcome(errors=list(errors))


async def test_pass_that_ends_well_leaves_nothing_behind() -> None:
    async with worked() as harness:
        assert await harness.advance(3600) == [0]
        assert (len(harness.queue), harness.queue.delayed, harness.loop.awaited) == (0, 0, 0)
        assert harness.counted("success") == 1


async def test_job_is_looked_at_again_when_it_asked_to_be() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(wake_at=at(40) if len(harness.passes) == 1 else None)
        assert await harness.advance(3600) == [0, 40]
        assert harness.counted("requeue_after") == 1


async def test_moment_that_has_passed_is_looked_at_at_once() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(wake_at=at(-40) if len(harness.passes) == 1 else None)
        assert await harness.advance(1) == [0, pytest.approx(0.001)]


async def test_failed_pass_is_tried_again_ever_less_often() -> None:
    async with worked() as harness:
        harness.answer = failing(Forbidden("quota"))
        moments = await harness.advance(3600)
        gaps = [round(later - earlier, 6) for earlier, later in pairwise(moments)]
        assert gaps[:4] == [0.005, 0.01, 0.02, 0.04]
        assert gaps == sorted(gaps)
        assert gaps[-1] == 300
        assert harness.counted("error") == len(moments)


@pytest.mark.parametrize("error", [Transient("500"), Unauthorized("401")])
async def test_outage_is_never_waited_out_for_long(error: ApiError) -> None:
    async with worked() as harness:
        harness.answer = failing(error)
        moments = await harness.advance(600)
        gaps = [round(later - earlier, 6) for earlier, later in pairwise(moments)]
        assert max(gaps) == OUTAGE


async def test_success_makes_the_next_failure_the_first() -> None:
    async with worked() as harness:
        harness.answer = failing(Forbidden("quota"))
        await harness.advance(100)
        assert harness.queue.failures(JOB) > 5
        harness.answer = Outcome
        await harness.advance(400)
        assert harness.queue.failures(JOB) == 0


async def test_news_that_is_kept_back_is_told_in_time_although_passes_fail() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(errors=[Forbidden("quota")], held=100)
        moments = await harness.advance(3600)
        assert max(later - earlier for earlier, later in pairwise(moments)) == 100


async def test_deadline_is_kept_although_passes_fail() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(errors=[Forbidden("quota")], wake_at=at(500))
        assert 500 in await harness.advance(3600)


async def test_deadline_that_has_passed_hurries_no_failing_job() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(errors=[Forbidden("quota")], wake_at=at(-1))
        assert len(await harness.advance(3600)) < 30


async def test_fault_of_our_own_is_retried_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with worked() as harness:

        def broken() -> Outcome:
            raise ZeroDivisionError

        harness.answer = broken
        assert len(await harness.advance(1)) > 3
        harness.answer = Outcome
        await harness.advance(10)
        assert harness.queue.delayed == 0
    assert caplog.records[0].message == "pass failed"
    assert vars(caplog.records[0])["job"] == "j"


async def test_api_error_that_a_pass_raises_is_retried() -> None:
    async with worked() as harness:

        def refused() -> Outcome:
            raise Forbidden("no nodes for you")

        harness.answer = refused
        assert len(await harness.advance(1)) > 3


async def test_namespace_that_goes_away_is_visited_rarely() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(is_hopeless=True, errors=[Forbidden("terminating")])
        assert await harness.advance(150) == [0, HOPELESS, 2 * HOPELESS]


async def test_name_that_is_still_taken_is_asked_for_again() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(is_waiting=len(harness.passes) == 1)
        assert await harness.advance(60) == [0, WAIT_FOR_NAME]


async def test_job_is_not_decided_on_before_our_writes_have_come_back() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(versions={"Pod": "7"} if len(harness.passes) == 1 else {})
        await harness.advance(0)
        for _ in range(100):
            harness.queue.add(JOB)
            assert await harness.advance(0.01) == []
        assert harness.loop.awaited == 1
        harness.reached = 7
        assert await harness.advance(LOOK_AGAIN) == [pytest.approx(LOOK_AGAIN)]
        assert harness.loop.awaited == 0


async def test_writes_that_never_come_back_hold_a_job_up_for_seconds_only() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(versions={"Pod": "7"} if len(harness.passes) == 1 else {})
        await harness.advance(0)
        harness.queue.add(JOB)
        assert await harness.advance(60) == [pytest.approx(MOST_PATIENCE)]


async def test_version_of_a_kind_that_nobody_follows_is_not_waited_for() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(versions={"ConfigMap": "7"})
        await harness.advance(0)
        harness.queue.add(JOB)
        assert await harness.advance(0) == [0]


async def test_operator_that_does_not_lead_leaves_jobs_alone() -> None:
    async with worked() as harness:
        harness.leads = False
        assert await harness.advance(60) == []
        assert len(harness.queue) == 0


async def test_operator_that_lost_the_lead_forgets_what_it_waited_for() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(versions={"Pod": "7"})
        await harness.advance(0)
        harness.leads = False
        harness.queue.add(JOB)
        await harness.advance(1)
        assert harness.loop.awaited == 0


async def test_job_with_more_children_to_make_is_not_kept_waiting() -> None:
    async with worked() as harness:
        harness.answer = lambda: Outcome(versions={"Pod": "5"}, has_more=len(harness.passes) == 1)
        await harness.time.advance(0.25)
        harness.reached = 5
        assert await harness.advance(0.1) == [pytest.approx(0.3)]
