"""Fair sharing of slots between tenants and keys."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.fake_time import settle
from tfjob.client.fair_semaphore import FairSemaphore


class Work:
    """Calls that the test ends, and the order in which they started."""

    def __init__(self, limit: int, *, share: int | None = None) -> None:
        self.pool = FairSemaphore(limit, share=share)
        self.started: list[str] = []
        self.most = 0
        self._running: list[asyncio.Future[None]] = []

    async def _piece(self, key: str) -> str:
        ends = asyncio.get_running_loop().create_future()
        self.started.append(key)
        self._running.append(ends)
        self.most = max(self.most, len(self._running))
        try:
            await ends
        finally:
            self._running.remove(ends)
        return key

    def ask(self, key: str, tenant: str = "") -> asyncio.Task[str]:
        return asyncio.create_task(
            self.pool.run(key, lambda: self._piece(key), tenant=tenant or None)
        )

    def has_calm(self) -> bool:
        return self.pool.is_idle

    async def end_one(self) -> None:
        self._running[0].set_result(None)
        await settle()

    async def end_all(self) -> None:
        await settle()
        while self._running:
            await self.end_one()


async def test_no_more_than_the_limit_run_at_once() -> None:
    work = Work(3)
    tasks = [work.ask("big") for _ in range(10)]
    await settle()
    assert (len(work.started), work.pool.waiting) == (3, 7)
    await work.end_all()
    assert await asyncio.gather(*tasks) == ["big"] * 10
    assert work.most == 3


async def test_one_piece_behind_two_thousand_waits_for_one_place() -> None:
    work = Work(4)
    big = [work.ask("big") for _ in range(2000)]
    await settle()
    small = work.ask("small")
    await settle()
    for _ in range(2):
        await work.end_one()
    assert "small" in work.started
    for task in [*big, small]:
        task.cancel()
    await asyncio.wait([*big, small])


async def test_keys_take_turns() -> None:
    work = Work(1)
    tasks = [work.ask(key) for key in ("a", "a", "a", "b", "b", "c")]
    await work.end_all()
    await asyncio.gather(*tasks)
    assert work.started == ["a", "a", "b", "c", "a", "b"]


async def test_tenants_take_turns_and_the_keys_of_a_tenant_theirs() -> None:
    work = Work(1)
    tasks = [work.ask(key, tenant=key[0]) for key in ("a1", "a1", "a1", "a2", "a3", "b1", "b1")]
    await work.end_all()
    await asyncio.gather(*tasks)
    assert work.started == ["a1", "a1", "b1", "a2", "b1", "a3", "a1"]


@pytest.mark.parametrize(
    "keys",
    [["wide"] * 2000, [f"job-{number}" for number in range(1000)]],
    ids=["two-thousand-pods", "a-thousand-jobs"],
)
async def test_one_pod_of_a_tenant_waits_for_two_places_of_another_tenant(keys: list[str]) -> None:
    work = Work(48, share=12)
    others = [work.ask(key, tenant="a") for key in keys]
    await settle()
    running = len(work.started)
    small = work.ask("small", tenant="b")
    await settle()
    for _ in range(2):
        await work.end_one()
    assert "small" in work.started[: running + 2]
    for task in [*others, small]:
        task.cancel()
    await asyncio.wait([*others, small])
    assert work.pool.waiting == 0
    assert work.has_calm()


async def test_same_key_of_two_tenants_is_two_keys() -> None:
    work = Work(4, share=1)
    tasks = [work.ask("j", tenant=tenant) for tenant in ("a", "a", "b")]
    await settle()
    assert len(work.started) == 2
    await work.end_all()
    await asyncio.gather(*tasks)


async def test_a_piece_that_fails_gives_its_place_back() -> None:
    pool = FairSemaphore(1)

    async def fails() -> None:
        raise LookupError("no luck")

    for _ in range(3):
        with pytest.raises(LookupError, match="no luck"):
            await pool.run("a", fails)


async def test_cancelled_waiters_leave_no_trace() -> None:
    work = Work(1)
    running, *waiting = (work.ask("a") for _ in range(4))
    await settle()
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    assert all(task.cancelled() for task in waiting)
    assert work.pool.waiting == 0
    late = work.ask("b")
    await work.end_all()
    assert await late == "b"
    assert await running == "a"


async def test_one_waiter_of_a_key_can_leave_without_the_others() -> None:
    work = Work(1)
    _, leaves, stays = (work.ask("a") for _ in range(3))
    await settle()
    leaves.cancel()
    await settle()
    assert work.pool.waiting == 1
    await work.end_all()
    assert await stays == "a"


async def test_waiter_cancelled_when_its_slot_is_granted_passes_the_slot_on() -> None:
    work = Work(1)
    running, unlucky, lucky = (work.ask(key) for key in "abc")
    await settle()
    work._running[0].set_result(None)
    # Cancel after the slot was granted and before the waiter runs.
    asyncio.get_running_loop().call_soon(unlucky.cancel)
    await work.end_all()
    assert await running == "a"
    assert await lucky == "c"
    assert unlucky.cancelled()
    assert "b" not in work.started


def test_a_pool_without_places_is_rejected() -> None:
    with pytest.raises(ValueError, match="at least 1 slot, got 0"):
        FairSemaphore(0)


steps = st.lists(st.tuples(st.sampled_from(["ask", "end", "cancel"]), st.integers(0, 3)))


@given(limit=st.integers(1, 3), share=st.integers(1, 3), steps=steps)
async def test_no_place_is_lost_or_made_whatever_happens(
    limit: int, share: int, steps: list[tuple[str, int]]
) -> None:
    work = Work(limit, share=share)
    tasks: list[asyncio.Task[str]] = []
    for step, number in steps:
        if step == "ask":
            tasks.append(work.ask(str(number), tenant=str(number % 2)))
        elif step == "end" and work._running:
            work._running[0].set_result(None)
        elif step == "cancel" and number < len(tasks):
            tasks[-1 - number].cancel()
        for _ in range(number):
            await asyncio.sleep(0)
        work._running[:] = [each for each in work._running if not each.done()]
    await work.end_all()
    assert all(task.done() for task in tasks)
    assert work.most <= limit
    fresh = [work.ask(f"x-{number}") for number in range(limit)]
    await settle()
    assert len(work._running) == limit
    await work.end_all()
    await asyncio.gather(*fresh)


async def test_pool_is_idle_while_nobody_waits() -> None:
    work = Work(1)
    await work.pool.wait_until_idle(within=0.0)
    assert work.has_calm()
    tasks = [work.ask("a"), work.ask("b")]
    await settle()
    assert not work.has_calm()
    wait_until_idle = asyncio.create_task(work.pool.wait_until_idle(within=60.0))
    await settle()
    assert not wait_until_idle.done()
    await work.end_one()
    assert work.has_calm()
    await wait_until_idle
    await work.end_one()
    assert [await task for task in tasks] == ["a", "b"]


async def test_a_waiter_continues_after_its_time_limit_under_constant_load() -> None:
    work = Work(1)
    tasks = [work.ask("a"), work.ask("b")]
    await settle()
    await work.pool.wait_until_idle(within=0.001)
    assert not work.has_calm()
    await work.end_one()
    await work.end_one()
    assert [await task for task in tasks] == ["a", "b"]


async def test_cancelled_waiter_does_not_keep_the_pool_busy() -> None:
    work = Work(1)
    first, second = work.ask("a"), work.ask("b")
    await settle()
    second.cancel()
    await settle()
    assert work.has_calm()
    await work.end_one()
    assert await first == "a"


async def test_no_key_has_more_than_its_share() -> None:
    work = Work(4, share=2)
    tasks = [work.ask("wide") for _ in range(6)]
    await settle()
    assert work.started == ["wide", "wide"]
    tasks.append(work.ask("one"))
    await settle()
    assert work.started == ["wide", "wide", "one"]
    for _ in tasks:
        await work.end_one()
    assert sorted([await task for task in tasks]) == ["one", *["wide"] * 6]
    assert work.has_calm()
