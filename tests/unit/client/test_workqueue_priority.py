"""Priorities and fairness of the workqueue."""

import asyncio

import pytest

from tests.support.fake_time import FakeTime, settle
from tests.unit.client.test_workqueue import taken
from tfjob.client.workqueue import (
    MAX_HIGH_IN_ROW,
    MAX_NORMAL_WORKING,
    Priority,
    QueueClosed,
    WorkQueue,
)


async def test_a_key_of_high_priority_overtakes_those_that_wait() -> None:
    queue = WorkQueue[str]()
    for key in "abc":
        queue.add(key)
    queue.add("c", Priority.HIGH)
    queue.add("d", Priority.HIGH)
    queue.add("d")
    assert len(queue) == 4
    assert await taken(queue) == ["c", "d", "a", "b"]


async def test_keys_of_high_priority_do_not_starve_the_others() -> None:
    queue = WorkQueue[str]()
    queue.add("normal")
    queue.add("normal too")
    high = [str(number) for number in range(3 * MAX_HIGH_IN_ROW)]
    for key in high:
        queue.add(key, Priority.HIGH)
    order = await taken(queue)
    assert [order.index(each) for each in ("normal", "normal too")] == [
        MAX_HIGH_IN_ROW,
        2 * MAX_HIGH_IN_ROW + 1,
    ]
    assert [each for each in order if each in high] == high


async def test_a_priority_that_is_raised_during_work_is_remembered_until_it_ends() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    assert await queue.get() == "a"
    queue.add("b")
    queue.add("a")
    queue.add("a", Priority.HIGH)
    assert len(queue) == 1
    queue.done("a")
    assert await taken(queue) == ["a", "b"]


@pytest.mark.parametrize(("priority", "order"), [(Priority.HIGH, "ab"), (Priority.NORMAL, "ba")])
async def test_a_key_that_waits_for_its_time_keeps_its_priority(
    priority: Priority, order: str
) -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    queue.add("a", priority)
    assert await queue.get() == "a"
    assert queue.priority_of("a") is priority
    queue.add_after("a", 60.0, queue.priority_of("a"))
    queue.add_after("a", 30.0)
    queue.done("a")
    queue.add("b")
    queue.add("a")
    assert "".join(await taken(queue)) == order
    for key in "ab":
        queue.done(key)
    queue.add("b")
    await time.advance(30.0)
    assert "".join(await taken(queue)) == order


async def test_a_failed_key_is_tried_again_with_its_priority() -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    queue.add("a", Priority.HIGH)
    await queue.get()
    queue.retry("a")
    queue.done("a")
    queue.add("b")
    await time.advance(1.0)
    assert await taken(queue) == ["a", "b"]


async def test_a_worker_for_high_priority_leaves_the_others_alone() -> None:
    queue = WorkQueue[str]()
    reserved = asyncio.create_task(queue.get(Priority.HIGH))
    await settle()
    queue.add("a")
    await settle()
    assert not reserved.done()
    queue.add("b", Priority.HIGH)
    assert await reserved == "b"
    assert await taken(queue) == ["a"]


async def test_no_key_waits_while_a_worker_for_it_is_idle() -> None:
    queue = WorkQueue[str]()
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    reserved = asyncio.create_task(queue.get(Priority.HIGH))
    await settle()
    queue.add("normal")
    queue.add("high", Priority.HIGH)
    await settle()
    done = [each.result() for each in (*workers, reserved) if each.done()]
    assert sorted(done) == ["high", "normal"]
    queue.close()
    await asyncio.wait([*workers, reserved])


async def test_groups_take_turns_so_that_a_large_one_delays_no_small_one() -> None:
    queue = WorkQueue[str](group=lambda key: key[0])
    for number in range(5):
        queue.add(f"a{number}")
    queue.add("b0")
    queue.add("b1")
    assert " ".join(await taken(queue)) == "a0 b0 a1 b1 a2 a3 a4"


async def test_nothing_is_added_to_a_closed_queue() -> None:
    queue = WorkQueue[str]()
    queue.add("a", Priority.HIGH)
    queue.close()
    queue.add("b", Priority.HIGH)
    assert len(queue) == 0
    with pytest.raises(QueueClosed):
        await queue.get()


async def test_few_normal_keys_are_worked_on_while_keys_of_high_priority_wait() -> None:
    queue = WorkQueue[int]()
    for number in range(100):
        queue.add(number)
    for _ in range(MAX_NORMAL_WORKING):
        await queue.get()
    for number in range(100, 200):
        queue.add(number, Priority.HIGH)
    assert {await queue.get() >= 100 for _ in range(5 * MAX_HIGH_IN_ROW)} == {True}
    queue.done(0)
    later = [await queue.get() for _ in range(MAX_HIGH_IN_ROW)]
    assert [each for each in later if each < 100] == [MAX_NORMAL_WORKING]


async def test_a_key_that_is_demoted_waits_for_a_worker_for_all_keys() -> None:
    time = FakeTime()
    queue = WorkQueue[str](timers=time)
    queue.add("a", Priority.HIGH)
    assert await queue.get(Priority.HIGH) == "a"
    queue.add_after("a", 5.0, Priority.HIGH)
    queue.demote("a")
    queue.done("a")
    reserved = asyncio.create_task(queue.get(Priority.HIGH))
    await time.advance(10.0)
    assert not reserved.done()
    assert await queue.get() == "a"
    queue.close()
    await asyncio.wait([reserved])
