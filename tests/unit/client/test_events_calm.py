"""News give way to what is more urgent."""

import asyncio

from tests.support.fake_time import FakeTime, settle
from tests.unit.client.test_events import Server, news
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
