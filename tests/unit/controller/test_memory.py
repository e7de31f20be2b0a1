"""What one process remembers of its jobs, and what a pass makes of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager as Opened
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
import pytest

from tests.support.builders import meta
from tests.support.controller_harness import KEY, ControllerHarness
from tests.support.local_apiserver.in_memory import CORE, JOBS
from tfjob.controller.memory import AT_LEISURE, BEGINNING, IN_A_RUSH, Memory
from tfjob.controller.objects import JobObject
from tfjob.controller.passes import Reconciler
from tfjob.core.status import JobStatus
from tfjob.k8s import time


class Remembering:
    """A memory whose clock and whose load the test sets."""

    def __init__(self) -> None:
        self.time, self.is_busy = 0.0, False
        self.memory = Memory(is_busy=lambda: self.is_busy, clock=lambda: self.time)

    def at(self, controller: ControllerHarness) -> Reconciler:
        return controller.reconciler_with(self.memory)


@asynccontextmanager
async def kept_back(
    controller: Opened[ControllerHarness],
) -> AsyncIterator[tuple[ControllerHarness, Remembering, Reconciler]]:
    """A job after its first pass, of which no status is stored yet."""
    async with controller as harness:
        one = Remembering()
        reconciler = one.at(harness)
        await harness.submit("W1")
        await harness.look()
        await reconciler.reconcile(KEY)
        yield harness, one, reconciler


def stored(version: str = "1", *, status: bytes = b"null") -> JobObject:
    changed = msgspec.structs.replace(meta("j"), resource_version=version)
    return JobObject(metadata=changed, status=msgspec.Raw(status))


def test_news_is_kept_back_for_a_moment_and_for_longer_in_a_rush() -> None:
    one = Remembering()
    assert one.memory.hold(stored(), JobStatus()) == AT_LEISURE
    one.is_busy, one.time = True, AT_LEISURE
    assert one.memory.hold(stored(), JobStatus()) == IN_A_RUSH - AT_LEISURE
    assert one.memory.relieve() == []
    one.time = IN_A_RUSH
    assert one.memory.hold(stored(), JobStatus()) <= 0


def test_news_of_a_rush_is_due_when_it_is_over_although_it_makes_another() -> None:
    one = Remembering()
    one.is_busy = True
    one.memory.hold(stored(), JobStatus())
    one.is_busy, one.time = False, 5.0
    assert one.memory.relieve() == [("n", "j")]
    one.is_busy = True
    assert one.memory.hold(stored(), JobStatus()) <= 0


def test_job_that_begins_to_run_is_not_kept_back_for_long_even_in_a_rush() -> None:
    one = Remembering()
    one.is_busy = True
    one.memory.hold(stored(), JobStatus())
    one.time = 10.0
    assert one.memory.hold(stored(), JobStatus(), begins=True) == BEGINNING
    one.time = 10.0 + BEGINNING
    assert one.memory.hold(stored(), JobStatus(), begins=True) <= 0


def test_what_is_kept_back_follows_on_one_status_whatever_else_changes() -> None:
    one = Remembering()
    one.memory.hold(stored("1"), JobStatus())
    assert one.memory.held(stored("2")) == JobStatus()
    assert one.memory.is_holding(("n", "j"))
    other = stored("2", status=b"{}")
    assert one.memory.held(other) is None
    one.time = AT_LEISURE
    assert one.memory.hold(other, JobStatus()) <= 0


@pytest.mark.parametrize("how", ["told", "note_end", "forget"])
def test_what_is_kept_back_can_be_forgotten(how: str) -> None:
    one = Remembering()
    one.memory.hold(stored(), JobStatus())
    getattr(one.memory, how)(*([] if how == "forget" else [stored()]))
    assert one.memory.held(stored()) is None
    assert not one.memory.is_holding(("n", "j"))


def test_job_is_newborn_once_and_not_after_another_may_have_worked_on_it() -> None:
    one = Remembering()
    one.memory.note_birth(stored())
    assert [one.memory.was_newborn(stored().metadata.uid) for _ in range(2)] == [True, False]
    for end in (one.memory.forget, lambda: one.memory.note_end(stored())):
        one.memory.note_birth(stored())
        end()
        assert not one.memory.was_newborn(stored().metadata.uid)


async def test_first_status_waits_for_the_next_news_and_one_write_tells_both(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        one = Remembering()
        reconciler = one.at(harness)
        await harness.submit("W1")
        await harness.look()
        first = await reconciler.reconcile(KEY)
        assert first.held == AT_LEISURE
        assert "status" not in await harness.job()
        await harness.end_pod("j-worker-0", 0)
        await harness.look()
        await reconciler.reconcile(KEY)
        assert await harness.conditions() == ["Created", "Succeeded"]
        started = (await harness.job())["status"]["startTime"]
        assert started == "2026-01-02T03:04:05Z"


async def test_status_that_was_kept_back_long_enough_is_stored(
    controller: Opened[ControllerHarness],
) -> None:
    async with kept_back(controller) as (harness, one, reconciler):
        one.time = AT_LEISURE
        await harness.look()
        last = await reconciler.reconcile(KEY)
        assert last.held is None
        assert await harness.conditions() == ["Created"]
        created = "training_operator_jobs_created_total"
        assert harness.counted(created, job_namespace="default", framework="tensorflow") == 1


async def change(harness: ControllerHarness, **metadata: object) -> None:
    """Somebody else changes the job."""
    job = await harness.job()
    job["metadata"] |= metadata
    assert (await harness.server.ask("PUT", f"{JOBS}/j", job))["code"] == 200


@pytest.mark.parametrize("is_seen", [True, False], ids=["seen before", "found by the write"])
async def test_start_of_a_job_stays_when_somebody_changes_it_before_it_is_stored(
    controller: Opened[ControllerHarness], *, is_seen: bool
) -> None:
    async with kept_back(controller) as (harness, one, reconciler):
        started = time.render(harness.time)
        await harness.look()
        await change(harness, labels={"team": "blue"})
        one.time, harness.time = AT_LEISURE, harness.time + timedelta(seconds=60)
        if is_seen:
            await harness.look()
        await reconciler.reconcile(KEY)
        assert (await harness.job())["status"]["startTime"] == started


async def test_start_of_a_job_stays_when_its_pod_is_lost_and_the_job_is_read_afresh(
    controller: Opened[ControllerHarness],
) -> None:
    async with kept_back(controller) as (harness, one, reconciler):
        started = time.render(harness.time)
        await harness.look()
        await change(harness, labels={"team": "blue"})
        await harness.server.ask("DELETE", f"{CORE}/pods/j-worker-0")
        assert harness.stores.pods.remove(("default", "j-worker-0")) is not None
        one.time, harness.time = AT_LEISURE, harness.time + timedelta(seconds=60)
        await reconciler.reconcile(KEY)
        assert (await harness.job())["status"]["startTime"] == started


async def test_what_was_kept_back_is_not_stored_of_a_job_that_is_being_deleted(
    controller: Opened[ControllerHarness],
) -> None:
    async with kept_back(controller) as (harness, one, reconciler):
        await change(harness, finalizers=["toy.example/hold"])
        await harness.server.ask("DELETE", f"{JOBS}/j")
        await harness.look()
        one.time = AT_LEISURE
        await reconciler.reconcile(KEY)
        assert "deletionTimestamp" in (await harness.job())["metadata"]
        assert "status" not in await harness.job()
        assert not one.memory.is_holding(KEY)


async def test_start_of_a_job_whose_time_is_limited_is_stored_at_once(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        await harness.submit("W1", run_policy={"activeDeadlineSeconds": 60})
        await harness.look()
        outcome = await Remembering().at(harness).reconcile(KEY)
        assert outcome.held is None
        assert await harness.conditions() == ["Created"]


async def test_nothing_is_kept_back_of_a_job_that_goes_during_its_pass(
    controller: Opened[ControllerHarness],
) -> None:
    async with controller as harness:
        one = Remembering()
        reconciler = one.at(harness)
        await harness.submit("W1")
        await harness.look()
        under_way = asyncio.create_task(reconciler.reconcile(KEY))
        await asyncio.sleep(0)
        gone = harness.stores.jobs.remove(KEY)
        assert gone is not None
        one.memory.note_end(gone)
        await under_way
        assert not one.memory.is_holding(KEY)
