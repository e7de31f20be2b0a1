import asyncio
import gc
import threading
from collections.abc import AsyncGenerator

import pytest

from tests.support.patience import PATIENCE
from tfjob.client.errors import Forbidden, Unreachable
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.loop_thread import loop_thread


async def where() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def refused() -> None:
    raise Forbidden("jobs are not for you")


async def silent() -> None:
    raise ExceptionGroup("tasks", [Unreachable("nobody listens")])


async def numbers(count: int) -> AsyncGenerator[int, None]:
    for each in range(count):
        yield each


async def broken() -> AsyncGenerator[int, None]:
    yield 1
    raise Forbidden("no more for you")


def test_work_runs_in_a_thread_of_its_own() -> None:
    assert loop_thread().call(where()) == "tfjob"
    assert loop_thread() is loop_thread()


async def test_work_can_be_awaited_on_another_loop() -> None:
    assert await loop_thread().awaited(where()) == "tfjob"
    assert [each async for each in loop_thread().aiterate(lambda: numbers(3))] == [0, 1, 2]


def test_it_can_block_a_thread_whose_own_loop_runs() -> None:
    async def cell_of_a_notebook() -> str:
        return loop_thread().call(where())

    assert asyncio.run(cell_of_a_notebook()) == "tfjob"


def test_errors_of_the_cluster_have_a_cause_and_a_remedy() -> None:
    with pytest.raises(TFJobError) as forbidden:
        loop_thread().call(refused())
    assert forbidden.value.cause == "jobs are not for you"
    with pytest.raises(TFJobError) as silence:
        loop_thread().call(silent())
    assert silence.value.cause == "the cluster does not answer: nobody listens"
    assert "kubeconfig" in silence.value.remedy


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 1001, 5000])
def test_all_items_arrive_in_order(count: int) -> None:
    assert list(loop_thread().iterate(lambda: numbers(count))) == list(range(count))


def test_an_error_comes_after_the_items_before_it() -> None:
    items = loop_thread().iterate(broken)
    assert next(items) == 1
    with pytest.raises(TFJobError, match="no more for you"):
        next(items)


def test_a_reader_that_has_had_enough_ends_the_source() -> None:
    closed = threading.Event()

    async def endless() -> AsyncGenerator[int, None]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    items = loop_thread().iterate(endless)
    assert next(items) == 1
    del items
    gc.collect()
    assert closed.wait(PATIENCE)
