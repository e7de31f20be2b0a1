"""Events wait for `before_send`, and namespaces take turns."""

import asyncio

import msgspec
import pytest

from tests.support.fake_time import FakeTime, settle
from tests.unit.client.test_events import Server, an_event
from tfjob.client.errors import ApiError, Forbidden, NamespaceTerminating, NotFound
from tfjob.client.events import Backlog, EventRecorder, EventRecorderConfig
from tfjob.k8s.event import Event


def elsewhere(name: str, namespace: str) -> Event:
    return msgspec.structs.replace(an_event(name), namespace=namespace)


def recorder_until(calm: asyncio.Event, server: Server) -> EventRecorder:
    """A recorder that sends nothing before it is calm."""

    async def until_calm(_: Backlog) -> None:
        await calm.wait()

    recorder = EventRecorder(server, component="c", timers=FakeTime())
    recorder.before_send = until_calm
    return recorder


async def test_event_waits_for_before_send() -> None:
    server, calm = Server(), asyncio.Event()
    recorder = recorder_until(calm, server)
    running = asyncio.create_task(recorder.run())
    recorder.record(an_event(), key="Created")
    await settle()
    assert server.stored == {}
    calm.set()
    await settle()
    assert len(server.stored) == 1
    await recorder.close()
    await running


@pytest.mark.parametrize(("faults", "took"), [([], 2.0), ([Forbidden("no")], 0.0)])
async def test_before_send_gets_the_backlog_its_age_and_the_latency(
    faults: list[Exception], took: float
) -> None:
    server, time, known = Server(), FakeTime(), list[Backlog]()
    held = asyncio.Event()

    async def note(backlog: Backlog) -> None:
        known.append(backlog)
        await held.wait()

    recorder = EventRecorder(
        server, component="c", config=EventRecorderConfig(max_queued=4), timers=time
    )
    recorder.before_send = note
    for number in range(3):
        recorder.record(an_event(f"job-{number}"), key="Created")
    await time.advance(5.0)
    assert (recorder.due_count, recorder.oldest_seconds) == (3, 5.0)
    server.hold = asyncio.Event()
    running = asyncio.create_task(recorder.run())
    await settle()
    held.set()
    await settle()
    await time.advance(2.0)
    server.faults = list(faults)
    server.hold.set()
    await settle()
    await recorder.close()
    await running
    assert known == [Backlog(True, 5.0, 0.0), Backlog(False, 7.0, took), Backlog(False, 7.0, 0.0)]
    assert recorder.oldest_seconds == 0.0


async def test_event_that_waits_at_shutdown_is_sent_once() -> None:
    server, calm = Server(), asyncio.Event()
    recorder = recorder_until(calm, server)
    running = asyncio.create_task(recorder.run())
    recorder.record(an_event(), key="Created", is_once=False)
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


async def test_flood_in_one_namespace_delays_no_event_of_another() -> None:
    server = Server()
    recorder = EventRecorder(server, component="c", timers=FakeTime())
    for number in range(1000):
        recorder.record(elsewhere(f"job-{number}", "flooded"), key="Created")
    for number in range(3):
        recorder.record(elsewhere(f"job-{number}", "quiet"), key="Created")
    running = asyncio.create_task(recorder.run())
    await settle()
    places = list(server.stored)
    assert [index for index, place in enumerate(places) if "/quiet/" in place] == [1, 3, 5]
    await recorder.close()
    await running
    assert len(server.stored) == 1003


async def test_flood_in_one_namespace_drops_no_event_of_another() -> None:
    server = Server()
    config = EventRecorderConfig(max_queued=10)
    recorder = EventRecorder(server, component="c", config=config, timers=FakeTime())
    for number in range(30):
        recorder.record(elsewhere(f"job-{number}", "flooded"), key="Created")
    assert recorder.dropped == 20
    for number in range(5):
        recorder.record(elsewhere(f"job-{number}", "quiet"), key="Created")
    assert recorder.dropped == 25
    recorder.record(elsewhere("one-more", "quiet"), key="Created")
    assert recorder.dropped == 26
    running = asyncio.create_task(recorder.run())
    await settle()
    await recorder.close()
    await running
    kept = sorted(place.split("/namespaces/")[1].split(".")[0] for place in server.stored)
    flooded = [f"flooded/events/job-{number}" for number in range(5)]
    assert kept == [*flooded, *(f"quiet/events/job-{number}" for number in range(5))]


async def test_event_that_gives_way_to_another_namespace_is_counted_and_leaves_nothing() -> None:
    config, dropped = EventRecorderConfig(max_queued=10), list[int]()
    recorder = EventRecorder(
        Server(),
        component="c",
        config=config,
        timers=FakeTime(),
        on_drop=lambda: dropped.append(1),
    )
    for number in range(10):
        recorder.record(elsewhere(f"job-{number}", "first"), key="Created")
    for number in range(500):
        recorder.record(elsewhere(f"job-{number}", f"namespace-{number}"), key="Created")
    assert len(dropped) == recorder.dropped == 500
    assert recorder.due_count == 10


async def test_no_event_is_dropped_below_fifty_thousand() -> None:
    recorder = EventRecorder(Server(), component="c", timers=FakeTime())
    for number in range(50_000):
        recorder.record(an_event(f"job-{number}"), key="Created")
    assert recorder.dropped == 0
    recorder.record(an_event("one-too-many"), key="Created")
    assert recorder.dropped == 1


async def test_event_that_is_being_sent_is_not_dropped_for_another() -> None:
    server = Server()
    server.hold = asyncio.Event()
    config = EventRecorderConfig(max_queued=2)
    recorder = EventRecorder(server, component="c", config=config, timers=FakeTime())
    running = [asyncio.create_task(recorder.run()) for _ in range(2)]
    for number in range(2):
        recorder.record(elsewhere(f"job-{number}", "large"), key="Created")
    await settle()
    recorder.record(elsewhere("job", "small"), key="Created")
    assert recorder.dropped == 1
    server.hold.set()
    await settle()
    await recorder.close()
    await asyncio.wait(running)
    assert len(server.stored) == 2


@pytest.mark.parametrize("fault", [NamespaceTerminating("is ending"), NotFound("is gone")])
async def test_namespace_that_ends_costs_one_refused_event_and_no_other_namespace_any(
    fault: ApiError,
) -> None:
    server = Server()
    server.faults = [fault]
    recorder = EventRecorder(server, component="c", timers=FakeTime())
    for number in range(1000):
        recorder.record(elsewhere(f"job-{number}", "ending"), key="Created")
    for number in range(3):
        recorder.record(elsewhere(f"job-{number}", "quiet"), key="Created")
    running = asyncio.create_task(recorder.run())
    await settle()
    assert (server.attempts, recorder.dropped) == (4, 1000)
    assert sum("/quiet/" in place for place in server.stored) == 3
    await recorder.close()
    await running
