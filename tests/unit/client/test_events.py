"""The event recorder: deduplication, counts, limits and retries."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.fake_api import FakeApi, refusal, whole
from tests.support.fake_time import FakeTime, settle
from tfjob.client.config import Config
from tfjob.client.errors import (
    AlreadyExists,
    Forbidden,
    NotFound,
    ServerTimeout,
    Unreachable,
)
from tfjob.client.events import Counted, EventRecorder, EventRecorderConfig
from tfjob.client.http import Api, PartialObjectMetadata
from tfjob.k8s.event import Event, event_name

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def an_event(name: str = "job", reason: str = "Created", message: str = "it is there") -> Event:
    return Event(
        type="Normal",
        reason=reason,
        message=message,
        api_version="kubeflow.org/v1",
        kind="TFJob",
        namespace="ns",
        name=name,
        uid=f"uid-{name}",
    )


class Server:
    """A fake API that stores events by path; the test can make requests fail."""

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self.attempts = 0
        self.writes = 0
        self.faults: list[Exception] = []
        self.loses_answers = False
        self.hold: asyncio.Event | None = None

    async def get(self, path: str, *, decode: type[Counted]) -> Counted:
        return decode(self.stored[path]["count"])

    async def create(
        self, path: str, body: object, *, decode: type[PartialObjectMetadata]
    ) -> PartialObjectMetadata:
        await self._reach()
        assert isinstance(body, dict)
        place = f"{path}/{body['metadata']['name']}"
        if place in self.stored:
            raise AlreadyExists("already exists")
        self.stored[place] = body
        return self._written(decode)

    async def patch(
        self, path: str, body: object, *, decode: type[PartialObjectMetadata]
    ) -> PartialObjectMetadata:
        await self._reach()
        assert isinstance(body, dict)
        if path not in self.stored:
            raise NotFound("forgotten")
        self.stored[path].update(body)
        return self._written(decode)

    def _written(self, decode: type[PartialObjectMetadata]) -> PartialObjectMetadata:
        self.writes += 1
        if self.loses_answers:
            self.loses_answers = False
            raise ServerTimeout("the answer was lost")
        return decode()

    async def _reach(self) -> None:
        self.attempts += 1
        if self.hold is not None:
            await self.hold.wait()
        if self.faults:
            raise self.faults.pop(0)

    def counts(self) -> list[int]:
        return [event["count"] for event in self.stored.values()]


class World:
    def __init__(
        self, config: EventRecorderConfig | None = None, on_drop: Callable[[], None] | None = None
    ) -> None:
        self.server = Server()
        self.time = FakeTime()
        self.recorder = EventRecorder(
            self.server,
            component="tfjob-controller",
            config=config,
            timers=self.time,
            now=lambda: START + timedelta(seconds=self.time.time() - 1000),
            on_drop=on_drop,
        )


@asynccontextmanager
async def recording(config: EventRecorderConfig | None = None) -> AsyncIterator[World]:
    world = World(config)
    running = asyncio.create_task(world.recorder.run())
    yield world
    await world.recorder.close()
    await running


async def test_the_name_of_an_event_is_derived_from_its_content() -> None:
    async with recording() as w:
        w.recorder.record(an_event(), key="Created")
        await settle()
    name = event_name(an_event(), "Created")
    stored = w.server.stored[f"/api/v1/namespaces/ns/events/{name}"]
    assert stored["reason"] == "Created"
    assert stored["source"] == {"component": "tfjob-controller"}
    assert (stored["count"], stored["firstTimestamp"]) == (1, "2026-01-02T03:04:05Z")


async def test_recording_never_waits() -> None:
    async with recording() as w:
        w.server.hold = asyncio.Event()
        for number in range(50):
            w.recorder.record(an_event(f"job-{number}"), key="Created")
        assert w.server.writes == 0
        w.server.hold.set()


async def test_a_one_time_event_is_written_once_however_often_it_is_recorded() -> None:
    async with recording() as w:
        for _ in range(5):
            w.recorder.record(an_event(), key="Created")
            await w.time.advance(3600)
    assert w.server.writes == 1
    assert w.server.counts() == [1]


async def test_an_event_of_an_earlier_process_causes_no_error() -> None:
    async with recording() as w:
        w.recorder.record(an_event(), key="Created")
        await settle()
    async with recording() as later:
        later.server.stored = w.server.stored
        later.recorder.record(an_event(), key="Created")
        await settle()
    assert later.server.writes == 0
    assert later.recorder.dropped == 0


async def test_a_repeated_event_is_counted_and_written_at_most_once_a_minute() -> None:
    async with recording() as w:
        for _ in range(60):
            w.recorder.record(an_event(message=f"at {w.time.time()}"), key="Stuck", is_once=False)
            await w.time.advance(1)
        assert w.server.writes == 2
        assert w.server.counts() == [60]
        (stored,) = w.server.stored.values()
        assert stored["lastTimestamp"] == "2026-01-02T03:05:04Z"
        assert stored["message"] == "at 1059.0"


async def test_counts_that_wait_for_their_time_are_not_due() -> None:
    async with recording() as w:
        w.recorder.record(an_event(), key="Stuck", is_once=False)
        assert w.recorder.due_count == 1
        await settle()
        w.recorder.record(an_event(), key="Stuck", is_once=False)
        assert (w.recorder.due_count, w.server.counts()) == (0, [1])
        await w.time.advance(60)
        assert (w.recorder.due_count, w.server.counts()) == (0, [2])


async def test_a_job_that_is_stuck_for_a_day_makes_under_ten_writes() -> None:
    async with recording() as w:
        for _ in range(24 * 60):
            w.recorder.record(an_event(), key="Stuck", is_once=False)
            await w.time.advance(60)
        assert w.server.writes < 10


async def test_an_event_that_repeats_for_years_is_still_written() -> None:
    config = EventRecorderConfig(interval=1.0, max_interval=2.0)
    async with recording(config) as w:
        for _ in range(700):
            w.recorder.record(an_event(), key="Stuck", is_once=False)
            await w.time.advance(2)
        assert w.server.counts() == [700]
        assert w.server.writes == 700
        assert w.recorder.dropped == 0


async def test_bug_loses_one_event_and_does_not_stop_the_sender() -> None:
    async with recording() as w:
        w.server.faults = [RuntimeError("a bug")]
        w.recorder.record(an_event("a"), key="Created")
        w.recorder.record(an_event("b"), key="Created")
        await settle()
        assert [event["involvedObject"]["name"] for event in w.server.stored.values()] == ["b"]
        assert w.recorder.dropped == 1


async def test_a_count_continues_after_a_restart() -> None:
    async with recording() as w:
        for _ in range(3):
            w.recorder.record(an_event(), key="Stuck", is_once=False)
        await settle()
    async with recording() as later:
        later.server.stored = w.server.stored
        for _ in range(2):
            later.recorder.record(an_event(), key="Stuck", is_once=False)
        await settle()
    assert later.server.counts() == [5]


async def test_a_count_continues_after_the_server_forgot_the_event() -> None:
    async with recording() as w:
        w.recorder.record(an_event(), key="Stuck", is_once=False)
        await settle()
        w.server.stored.clear()
        w.recorder.record(an_event(), key="Stuck", is_once=False)
        await w.time.advance(60)
        assert w.server.counts() == [2]


async def test_a_lost_answer_does_not_count_twice() -> None:
    async with recording() as w:
        w.server.loses_answers = True
        w.recorder.record(an_event(), key="Stuck", is_once=False)
        await w.time.advance(1)
        assert w.server.counts() == [1]


async def test_an_outage_of_a_minute_loses_no_event() -> None:
    async with recording() as w:
        w.server.faults = [Unreachable("away") for _ in range(12)]
        w.recorder.record(an_event(), key="Created")
        await w.time.advance(60)
        assert w.server.counts() == [1]
        assert w.recorder.dropped == 0


async def test_what_the_server_rejects_is_dropped_and_counted() -> None:
    async with recording() as w:
        w.server.faults = [Forbidden("not you")]
        w.recorder.record(an_event("a"), key="Created")
        w.recorder.record(an_event("b"), key="Created")
        await settle()
        assert w.recorder.dropped == 1
        assert len(w.server.stored) == 1
        w.recorder.record(an_event("a"), key="Created")
        await settle()
        assert len(w.server.stored) == 2


async def test_many_dropped_events_are_logged_twice_the_first_and_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def logged() -> list[tuple[str, int | None]]:
        return [(each.getMessage(), getattr(each, "count", None)) for each in caplog.records]

    async with recording() as w:
        for number in range(20):
            w.server.faults = [Forbidden("not you")]
            w.recorder.record(an_event(f"refused-{number}"), key="Created")
            w.recorder.record(an_event(f"taken-{number}"), key="Created")
            await w.time.advance(1)
        assert logged() == [("events are being dropped", None)]
        await w.time.advance(60)
        w.recorder.record(an_event("taken"), key="Created")
        await settle()
        assert logged()[1:] == [("events were dropped", 20)]
        w.server.faults = [Forbidden("not you")]
        w.recorder.record(an_event("refused"), key="Created")
        await settle()
    assert logged()[2:] == [("events are being dropped", None), ("events were dropped", 1)]


async def test_each_dropped_event_is_counted() -> None:
    counted: list[int] = []
    w = World(EventRecorderConfig(max_queued=1), on_drop=lambda: counted.append(1))
    for number in range(3):
        w.recorder.record(an_event(f"job-{number}"), key="Created")
    await w.recorder.close()
    assert len(counted) == w.recorder.dropped == 2


async def test_event_is_dropped_after_repeated_failures() -> None:
    async with recording(EventRecorderConfig(max_attempts=3)) as w:
        w.server.faults = [Unreachable("away") for _ in range(9)]
        w.recorder.record(an_event(), key="Created")
        await w.time.advance(600)
        assert w.recorder.dropped == 1
        assert len(w.server.faults) == 6


async def test_queue_of_events_is_bounded() -> None:
    async with recording(EventRecorderConfig(max_queued=10)) as w:
        w.server.hold = asyncio.Event()
        for number in range(25):
            w.recorder.record(an_event(f"job-{number}"), key="Created")
        assert w.recorder.dropped == 15
        w.server.hold.set()
        await settle()
    assert len(w.server.stored) == 10


async def test_repeated_event_stays_known_however_many_others_are_sent() -> None:
    async with recording(EventRecorderConfig(max_sent=10)) as w:
        for number in range(50):
            w.recorder.record(an_event(f"job-{number}"), key="Created")
            w.recorder.record(an_event("job-0"), key="Created")
            await settle()
        assert w.recorder.dropped == 0
        assert w.server.attempts == 50


async def test_counts_that_are_kept_are_bounded() -> None:
    async with recording(EventRecorderConfig(max_series=10)) as w:
        for number in range(50):
            w.recorder.record(an_event(f"job-{number}"), key="Stuck", is_once=False)
            await settle()
        assert len(w.recorder._sent) == 10
        w.recorder.record(an_event("job-0"), key="Stuck", is_once=False)
        await settle()
        assert sorted(w.server.counts()) == [1] * 49 + [2]


async def test_ten_thousand_events_recorded_in_each_reconcile_are_sent_once() -> None:
    async with recording() as w:
        for _ in range(3):
            for number in range(10_000):
                w.recorder.record(an_event(f"pod-{number}"), key="Pending")
            await settle()
        assert w.server.attempts == 10_000
        assert w.recorder.dropped == 0


async def test_closing_sends_what_waits() -> None:
    w = World()
    for number in range(5):
        w.recorder.record(an_event(f"job-{number}"), key="Created")
    await w.recorder.close()
    assert len(w.server.stored) == 5
    assert w.recorder.dropped == 0


async def test_closing_writes_counts_that_waited_for_their_time() -> None:
    async with recording() as w:
        for _ in range(3):
            w.recorder.record(an_event(), key="Stuck", is_once=False)
            await settle()
        assert w.server.counts() == [1]
    assert w.server.counts() == [3]


async def test_closing_takes_no_longer_than_it_may() -> None:
    w = World()
    w.server.hold = asyncio.Event()
    for number in range(5):
        w.recorder.record(an_event(f"job-{number}"), key="Created")
    await w.recorder.close(limit=0.02)
    assert w.recorder.dropped == 5
    w.recorder.record(an_event("late"), key="Created")
    assert w.recorder.dropped == 6
    assert w.time.pending == 0


async def test_events_are_sent_to_a_server() -> None:
    answers = [refusal(409, "AlreadyExists"), whole({"count": 4}), whole({"metadata": {}})]
    async with FakeApi(answers) as fake, Api(Config(server=fake.url)) as api:
        recorder = EventRecorder(api, component="tfjob-controller")
        recorder.record(an_event(), key="Stuck", is_once=False)
        await recorder.close()
    assert [asked.method for asked in fake.asked] == ["POST", "GET", "PATCH"]
    assert fake.asked[2].json["count"] == 5
    assert recorder.dropped == 0


async def test_several_senders_share_the_work() -> None:
    w = World()
    senders = [asyncio.create_task(w.recorder.run()) for _ in range(4)]
    for number in range(20):
        w.recorder.record(an_event(f"job-{number}"), key="Created")
    await settle()
    await w.recorder.close()
    await asyncio.gather(*senders)
    assert w.server.writes == 20
