"""News give way to what is more urgent."""

import asyncio

from tests.support.fake_time import FakeTime, settle
from tests.unit.client.test_events import Server, news
from tfjob.client.errors import Forbidden
from tfjob.client.events import EventRecorder, Thrift


async def test_news_give_way_until_it_is_calm_unless_too_many_wait() -> None:
    server, calm = Server(), asyncio.Event()

    async def until_calm(took: float) -> None:
        assert took == 0.0
        await calm.wait()

    recorder = EventRecorder(server, component="c", thrift=Thrift(waiting=4), timers=FakeTime())
    recorder.calm = until_calm
    running = asyncio.create_task(recorder.run())
    for number in range(2):
        recorder.record(news(f"job-{number}"), key="Created")
    await settle()
    assert server.stored == {}
    calm.set()
    await settle()
    assert len(server.stored) == 2
    calm.clear()
    for number in range(2, 5):
        recorder.record(news(f"job-{number}"), key="Created")
    await settle()
    assert len(server.stored) == 3
    await recorder.close()
    calm.set()
    await running
    assert len(server.stored) == 5


async def test_only_what_the_server_took_tells_how_busy_it_is() -> None:
    server, told = Server(), list[float]()
    time = FakeTime()

    async def note(took: float) -> None:
        told.append(took)

    recorder = EventRecorder(server, component="c", timers=time)
    recorder.calm = note
    server.hold = asyncio.Event()
    running = asyncio.create_task(recorder.run())
    recorder.record(news("slow"), key="Created")
    await settle()
    await time.advance(2.0)
    server.hold.set()
    await settle()
    server.faults = [Forbidden("no")]
    recorder.record(news("refused"), key="Created")
    await settle()
    recorder.record(news("next"), key="Created")
    await settle()
    await recorder.close()
    await running
    assert told == [0.0, 2.0, 0.0]


async def test_news_that_waited_for_calm_when_all_ends_is_sent_once() -> None:
    server, calm = Server(), asyncio.Event()

    async def until_calm(took: float) -> None:
        assert took == 0.0
        await calm.wait()

    recorder = EventRecorder(server, component="c", timers=FakeTime())
    recorder.calm = until_calm
    running = asyncio.create_task(recorder.run())
    recorder.record(news(), key="Created", is_once=False)
    await settle()
    server.hold = asyncio.Event()
    closing = asyncio.create_task(recorder.close())
    await settle()
    calm.set()
    await settle()
    server.hold.set()
    await closing
    await running
    assert (server.attempts, server.counts()) == (1, [1])


async def test_news_gives_way_for_a_while_and_not_for_ever() -> None:
    server, time = Server(), FakeTime()

    async def rest(took: float) -> None:
        assert took == 0.0
        await time.sleep(60.0)

    recorder = EventRecorder(server, component="c", thrift=Thrift(patience=90.0), timers=time)
    recorder.calm = rest
    running = asyncio.create_task(recorder.run())
    for number in range(10):
        recorder.record(news(f"job-{number}"), key="Created")
    await settle()
    await time.advance(60.0)
    assert len(server.stored) == 1
    await time.advance(60.0)
    assert len(server.stored) == 10
    await recorder.close()
    await running
