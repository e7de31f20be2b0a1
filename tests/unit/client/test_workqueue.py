"""The workqueue: deduplication, delays and retries."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_time import FakeTime, settle
from tests.support.patience import PATIENCE
from tfjob.client.workqueue import QueueClosed, WorkQueue


async def taken(queue: WorkQueue[str]) -> list[str]:
    """All keys that are ready now, in order."""
    keys = []
    while len(queue):
        keys.append(await queue.get())
    return keys


async def test_keys_come_in_the_order_they_were_added_and_each_once() -> None:
    queue = WorkQueue[str]()
    for key in "abacb":
        queue.add(key)
    assert len(queue) == 3
    assert await taken(queue) == ["a", "b", "c"]


async def test_a_key_in_work_is_given_to_nobody_else_and_runs_once_more() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    assert await queue.get() == "a"
    for _ in range(3):
        queue.add("a")
    assert len(queue) == 0
    queue.done("a")
    assert await taken(queue) == ["a"]
    queue.done("a")
    assert len(queue) == 0


async def test_a_key_that_runs_again_waits_behind_the_others() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.add("b")
    assert await queue.get() == "a"
    queue.add("a")
    queue.done("a")
    assert await taken(queue) == ["b", "a"]


async def test_a_worker_waits_for_work() -> None:
    queue = WorkQueue[str]()
    worker = asyncio.create_task(queue.get())
    await settle()
    assert not worker.done()
    queue.add("a")
    assert await worker == "a"


async def test_a_waiting_worker_takes_the_key_that_runs_once_more() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    await queue.get()
    queue.add("a")
    worker = asyncio.create_task(queue.get())
    await settle()
    queue.done("a")
    assert await asyncio.wait_for(worker, PATIENCE) == "a"


async def test_key_is_worked_on_from_get_to_done() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    assert not queue.is_working("a")
    await queue.get()
    assert queue.is_working("a")
    queue.done("a")
    assert not queue.is_working("a")


async def test_of_several_delays_the_earliest_holds_and_there_is_one_timer() -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 20)
    assert queue.delayed == 1
    assert time.pending == 1
    await time.advance(4.9)
    assert len(queue) == 0
    await time.advance(0.1)
    assert await taken(queue) == ["a"]
    assert queue.delayed == 0
    await time.advance(100)
    assert len(queue) == 0


async def test_no_delay_means_now_and_a_short_one_does_not() -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    queue.add_after("a", 0)
    queue.add_after("b", -1)
    assert time.pending == 0
    queue.add_after("c", 0.5)
    assert await taken(queue) == ["a", "b"]
    await time.advance(0.5)
    assert await taken(queue) == ["c"]


async def test_a_delayed_key_that_comes_due_in_work_runs_once_more() -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    queue.add("a")
    await queue.get()
    queue.add_after("a", 1)
    await time.advance(1)
    assert len(queue) == 0
    queue.done("a")
    assert await taken(queue) == ["a"]


async def test_failures_wait_longer_each_time_up_to_five_minutes() -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    delays = []
    for _ in range(20):
        delays.append(queue.retry("a"))
        await time.advance(300)
        assert await taken(queue) == ["a"]
        queue.done("a")
    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[-1] == 300.0
    assert queue.failures("a") == 20
    queue.forget("a")
    assert queue.failures("a") == 0
    assert queue.retry("a") == 0.005
    assert queue.retry("other") == 0.005


async def test_chance_spreads_retries_within_the_limit() -> None:
    queue = WorkQueue[str](timers=FakeTime(), chance=lambda: 0.5)
    delays = [queue.retry("a") for _ in range(20)]
    assert delays[0] == 0.005 * 1.25
    assert max(delays) == 300.0


async def test_closing_ends_the_workers_and_leaves_no_timer() -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    workers = [asyncio.create_task(queue.get()) for _ in range(3)]
    queue.add_after("a", 5)
    await settle()
    for key in "wxyz":
        queue.add(key)
    queue.close()
    results = await asyncio.gather(*workers, return_exceptions=True)
    assert [type(result) for result in results] == [QueueClosed] * 3
    assert time.pending == 0
    queue.add("b")
    queue.add_after("c", 1)
    queue.retry("d")
    assert (len(queue), queue.delayed) == (0, 0)
    with pytest.raises(QueueClosed):
        await queue.get()


async def test_key_of_a_worker_cancelled_on_wake_up_goes_to_another() -> None:
    queue = WorkQueue[str]()
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await settle()
    queue.add("a")
    first.cancel()
    assert await second == "a"
    await asyncio.wait([first])
    assert first.cancelled()


actions = st.lists(
    st.tuples(
        st.sampled_from(["add", "later", "run", "finish", "fail", "pass"]),
        st.sampled_from("abc"),
    ),
    max_size=60,
)


class Model:
    """Workers that the test steps, and the invariants of the queue."""

    def __init__(self) -> None:
        self.time = FakeTime()
        self.queue = WorkQueue[str](timers=self.time)
        self.working: set[str] = set()
        self.owed: set[str] = set()
        self.timed: set[str] = set()
        self.runs: Counter[str] = Counter()

    def add(self, key: str) -> None:
        self.queue.add(key)
        self.owed.add(key)

    def later(self, key: str) -> None:
        self.queue.add_after(key, 5)
        self.timed.add(key)
        self.owed.add(key)

    async def run(self, _: str) -> None:
        if not len(self.queue):
            return
        key = await self.queue.get()
        assert key not in self.working, "two workers on one key"
        assert key in self.owed, "a run that nobody asked for"
        self.working.add(key)
        self.runs[key] += 1
        self.owed.discard(key)
        if key in self.timed:
            self.owed.add(key)

    def finish(self, key: str) -> None:
        if key in self.working:
            self.working.discard(key)
            self.queue.forget(key)
            self.queue.done(key)

    def fail(self, key: str) -> None:
        if key in self.working:
            self.working.discard(key)
            self.queue.retry(key)
            self.timed.add(key)
            self.owed.add(key)
            self.queue.done(key)


async def play(model: Model, moves: list[tuple[str, str]]) -> None:
    for move, key in moves:
        match move:
            case "add":
                model.add(key)
            case "later":
                model.later(key)
            case "run":
                await model.run(key)
            case "finish":
                model.finish(key)
            case "fail":
                model.fail(key)
            case "pass":
                await model.time.advance(3)


@given(moves=actions)
async def test_no_key_has_two_workers_or_runs_without_an_add(
    moves: list[tuple[str, str]],
) -> None:
    await play(Model(), moves)


@given(moves=actions, last=st.sampled_from("abc"))
async def test_no_add_is_ever_lost(moves: list[tuple[str, str]], last: str) -> None:
    model = Model()
    await play(model, moves)
    before = model.runs[last]
    model.add(last)
    for key in "abc":
        model.finish(key)
    while len(model.queue):
        await model.run("")
    assert model.runs[last] == before + 1


async def test_discarded_key_is_neither_queued_nor_delayed_and_its_backoff_starts_again() -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    for key in "abc":
        queue.add(key)
    assert await queue.get() == "a"
    queue.retry("a")
    queue.done("a")
    queue.discard("a")
    queue.discard("b")
    queue.discard("unknown")
    assert (len(queue), queue.delayed, queue.failures("a")) == (1, 0, 0)
    await time.advance(600)
    assert await taken(queue) == ["c"]


async def test_key_that_is_discarded_while_it_is_processed_does_not_run_again() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    await queue.get()
    queue.add("a")
    queue.discard("a")
    queue.done("a")
    assert len(queue) == 0


@given(adds=st.integers(1, 9))
async def test_any_number_of_adds_in_work_makes_one_more_run(adds: int) -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    await queue.get()
    for _ in range(adds):
        queue.add("a")
    queue.done("a")
    assert await taken(queue) == ["a"]
