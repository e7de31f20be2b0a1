"""Watches recover from every kind of interruption."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Never

import msgspec
import pytest

from tests.support.fake_api import Answer, FakeApi, refusal, text, whole
from tests.support.fake_time import Instant, time_passing
from tests.support.recorded_watch import (
    CHANGES,
    FINAL,
    SCOPE,
    STATE,
    STATE_END,
    Faithful,
    Follower,
    Pod,
    bookmark,
    follower,
    item,
    line,
    whole_session,
)
from tfjob.client.config import Config
from tfjob.client.errors import Forbidden
from tfjob.client.http import Api
from tfjob.client.streams import Stream
from tfjob.client.watch import Watch, WatchConfig


def queries(fake: FakeApi) -> list[Mapping[str, str]]:
    return [asked.query for asked in fake.asked]


def has_seen(follow: Follower, change: str) -> bool:
    return change in {new for _, new in follow.told}


def is_open(follow: Follower) -> bool:
    """Whether the response to the last request has started."""
    return follow.watch._opened_at is not None


async def test_the_state_is_streamed_and_then_followed_on_one_connection() -> None:
    async with follower(Faithful()) as (follow, fake):
        assert await follow.until(8) == FINAL
    assert follow.told == [
        (None, "a1"),
        (None, "b2"),
        (None, "c3"),
        ("a1", "a4"),
        ("b2", None),
        (None, "d6"),
        ("c3", "c8"),
    ]
    assert queries(fake) == [
        {
            "labelSelector": "app=x",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "290",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
        }
    ]


@pytest.mark.parametrize("part", range(8))
async def test_a_stream_cut_at_any_byte_ends_in_the_same_store(part: int) -> None:
    session = whole_session()
    for offset in range(part, len(session), 8):
        cut = Answer(chunks=[session[:offset]], is_cut=True)
        async with follower(Faithful([cut])) as (follow, _):
            assert await follow.until(8) == FINAL, f"cut after {offset} bytes"


async def test_a_stream_garbled_at_any_line_ends_in_the_same_store() -> None:
    lines = [*STATE, STATE_END, *CHANGES.values()]
    for index in range(len(lines)):
        garbled = [*lines[:index], lines[index][:-9] + b"\n", *lines[index + 1 :]]
        async with follower(Faithful([Answer(chunks=garbled)])) as (follow, _):
            assert await follow.until(8) == FINAL, f"line {index} garbled"
            assert follow.watch.malformed == 1


async def test_a_watch_resumes_where_it_was_cut() -> None:
    cut = Answer(chunks=[*STATE, STATE_END, CHANGES[4], CHANGES[5][:20]], is_cut=True)
    async with follower(Faithful([cut])) as (follow, fake):
        await follow.until(8)
    assert [query.get("resourceVersion") for query in queries(fake)] == [None, "4"]


async def test_a_bookmark_alone_moves_the_place_to_resume_from() -> None:
    ended = Answer(chunks=[*STATE, STATE_END, bookmark(7)])
    async with follower(Faithful([ended])) as (follow, fake):
        await follow.until(8)
    assert [query.get("resourceVersion") for query in queries(fake)] == [None, "7"]
    assert follow.time.slept == []


GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


@pytest.mark.parametrize(
    "gone",
    [
        whole(GONE, status=410),
        Answer(chunks=[msgspec.json.encode({"type": "ERROR", "object": GONE}) + b"\n"]),
    ],
    ids=["as an answer", "as an event"],
)
async def test_lost_history_replaces_the_state(gone: Answer) -> None:
    old = [line("ADDED", "a", 1), line("ADDED", "gone", 1), bookmark(2, ends_initial=True)]
    async with follower(Faithful([Answer(chunks=old), gone])) as (follow, fake):
        assert await follow.until(8) == FINAL
    assert ("gone1", None) in follow.told
    assert (None, "a1") in follow.told
    assert follow.told.count((None, "a1")) == 1
    assert follow.watch.relists == 1
    assert [query.get("resourceVersion") for query in queries(fake)] == [None, "2", None]


async def test_a_server_that_cannot_stream_the_state_is_asked_for_pages_for_good() -> None:
    gone = whole(GONE, status=410)
    refused = refusal(422, "Invalid", "sendInitialEvents: Forbidden")
    page = whole({"metadata": {"resourceVersion": "2"}, "items": [item("a", 1)]})
    async with follower(Faithful([refused, page, gone], can_stream=False)) as (follow, fake):
        assert await follow.until(8) == FINAL
    asked = [
        "stream" if "sendInitialEvents" in q else "watch" if "watch" in q else "page"
        for q in queries(fake)
    ]
    assert asked == ["stream", "page", "watch", "page", "watch"]


async def test_pages_are_put_together() -> None:
    first = {"metadata": {"resourceVersion": "3", "continue": "more"}, "items": [item("a", 1)]}
    rest = {"metadata": {"resourceVersion": "3"}, "items": [item("b", 2), item("c", 3)]}
    refused = refusal(400, "BadRequest")
    async with follower(Faithful([refused, whole(first), whole(rest)])) as (follow, fake):
        assert await follow.until(8) == FINAL
    assert queries(fake)[1] == {"labelSelector": "app=x", "limit": "500"}
    assert queries(fake)[2] == {"labelSelector": "app=x", "limit": "500", "continue": "more"}


async def test_a_page_that_has_expired_restarts_the_list() -> None:
    first = {"metadata": {"resourceVersion": "1", "continue": "more"}, "items": [item("old", 1)]}
    answers = [refusal(400, "BadRequest"), whole(first), whole(GONE, status=410)]
    async with follower(Faithful(answers)) as (follow, fake):
        assert await follow.until(8) == FINAL
    assert "continue" not in queries(fake)[3]
    assert not any("old1" in change for change in follow.told)


async def test_an_empty_page_may_say_null() -> None:
    empty = whole({"metadata": {"resourceVersion": "8"}, "items": None})
    async with follower(Faithful([refusal(400, "BadRequest"), empty])) as (follow, _):
        assert await follow.until(8) == {}


async def test_a_state_that_never_ends_is_asked_for_by_pages() -> None:
    script = Faithful()
    endless = script.stream(STATE)
    async with (
        follower(Faithful([endless])) as (follow, fake),
        time_passing(20, lambda: is_open(follow)),
    ):
        assert await follow.until(8) == FINAL
    assert "limit" in queries(fake)[1]


async def test_a_state_that_breaks_again_and_again_is_asked_for_by_pages() -> None:
    broken = [Answer(chunks=STATE, is_cut=True)] * 2 + [Answer(chunks=STATE)]
    async with follower(Faithful(broken)) as (follow, fake):
        assert await follow.until(8) == FINAL
    assert ["limit" in query for query in queries(fake)] == [False, False, False, True, False]


async def test_a_start_that_worked_makes_up_for_those_that_broke() -> None:
    broken = [Answer(chunks=STATE, is_cut=True)] * 2
    works = Answer(chunks=[*STATE, STATE_END])
    answers = [*broken, works, whole(GONE, status=410), *broken]
    async with follower(Faithful(answers)) as (follow, fake):
        assert await follow.until(8) == FINAL
    assert not any("limit" in query for query in queries(fake))


async def test_a_silent_watch_is_opened_again_where_it_was() -> None:
    script = Faithful()
    silent = script.stream([b"".join([*STATE, STATE_END, CHANGES[4]])])
    patience = WatchConfig(min_watch=0, max_watch=0)
    async with (
        follower(Faithful([silent]), patience) as (follow, fake),
        time_passing(60, lambda: has_seen(follow, "a4")),
    ):
        assert await follow.until(8) == FINAL
    assert queries(fake)[1]["resourceVersion"] == "4"


async def test_the_idle_limit_is_shorter_than_a_long_watch() -> None:
    silent = Faithful().stream([b"".join([*STATE, STATE_END, CHANGES[4]])])
    quiet_from_the_start = Faithful().stream([])
    answers = [silent, quiet_from_the_start]
    async with (
        follower(Faithful(answers), WatchConfig(max_idle=20)) as (follow, fake),
        time_passing(25, lambda: has_seen(follow, "a4")),
        time_passing(25, lambda: len(fake.asked) == 2 and is_open(follow)),
    ):
        assert await follow.until(8) == FINAL
    assert {query.get("resourceVersion") for query in queries(fake)[1:]} == {"4"}


async def test_an_answer_that_does_not_begin_is_not_waited_for_as_long_as_a_change() -> None:
    started = Answer(chunks=[*STATE, STATE_END])
    never = Answer(hold_before=asyncio.Event())
    async with (
        follower(Faithful([started, never])) as (follow, fake),
        time_passing(60, lambda: len(fake.asked) == 2),
    ):
        assert await follow.until(8) == FINAL
    assert {query.get("resourceVersion") for query in queries(fake)[1:]} == {"3"}


class Limits:
    """A fake API with one initial state that records the timeouts of the watch."""

    def __init__(self) -> None:
        self.seen: list[tuple[float | None, float | None]] = []

    async def list_page(self, path: str, **_: object) -> Never:
        raise AssertionError(path)

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str] | None = None, idle: float | None = None
    ) -> AsyncIterator[Stream]:
        assert path
        assert params
        yield InitialState(self, idle)


class InitialState(Stream):
    """A stream with the initial state in one chunk."""

    def __init__(self, limits: Limits, idle: float | None) -> None:
        self.idle = self.asked = idle
        self._limits = limits
        self._left = [b"".join([*STATE, STATE_END])]

    async def __anext__(self) -> bytes:
        self._limits.seen.append((self.asked, self.idle))
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


async def test_a_watch_waits_longer_for_changes_than_for_its_answer() -> None:
    limits = Limits()
    watch = Watch(limits, SCOPE, decode=Pod, timing=Instant().timing)
    async with aclosing(watch.events()) as events:
        for _ in range(2):
            await anext(events)
    gathering, following, again = limits.seen[:3]
    assert (gathering, following, again) == ((10, 10), (10, 180), (30, 180))


async def test_failed_attempts_wait_longer_each_time_until_there_is_progress() -> None:
    started = Answer(chunks=[*STATE, STATE_END])
    trouble = [text("down", status=500)] * 3
    progress = Answer(chunks=[CHANGES[4]])
    answers = [started, *trouble, progress, text("down", status=500)]
    async with follower(Faithful(answers)) as (follow, _):
        assert await follow.until(8) == FINAL
    assert follow.time.slept == [0.1, 0.2, 0.4, 0.8, 0.1]


async def test_waits_never_exceed_the_limit() -> None:
    answers = [text("down", status=500)] * 12
    async with follower(Faithful(answers)) as (follow, _):
        assert await follow.until(8) == FINAL
    assert max(follow.time.slept) == 30.0


async def test_a_server_that_has_lost_its_history_again_and_again_is_not_hammered() -> None:
    state = Answer(chunks=[*STATE, STATE_END])
    answers = [answer for _ in range(3) for answer in (state, whole(GONE, status=410))]
    async with follower(Faithful(answers)) as (follow, _):
        assert await follow.until(8) == FINAL
    assert follow.time.slept == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]


async def test_a_line_that_stays_malformed_leads_to_a_new_state() -> None:
    started = Answer(chunks=[*STATE, STATE_END])
    spoilt = Answer(chunks=[b'{"type":"MODIFIED","object":{\n'])
    async with follower(Faithful([started, spoilt, spoilt, spoilt])) as (follow, fake):
        assert await follow.until(8) == FINAL
    assert follow.watch.malformed == 3
    assert "sendInitialEvents" in queries(fake)[4]


async def test_lines_that_are_malformed_now_and_then_lead_to_no_new_state() -> None:
    spoilt = b'{"type":"MODIFIED","object":{\n'
    answers = [
        Answer(chunks=[*STATE, STATE_END]),
        Answer(chunks=[spoilt]),
        Answer(chunks=[spoilt]),
        Answer(chunks=[CHANGES[4], spoilt]),
        Answer(chunks=[CHANGES[5], spoilt]),
    ]
    async with follower(Faithful(answers)) as (follow, _):
        assert await follow.until(8) == FINAL
    assert (follow.watch.malformed, follow.watch.relists) == (4, 0)


async def test_the_same_trouble_is_logged_once_until_the_watch_works_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trouble = [text("down", status=500)] * 5
    works = Answer(chunks=[*STATE, STATE_END, CHANGES[4]])
    async with follower(Faithful(trouble)) as (follow, _):
        await follow.until(8)
    assert [record.getMessage() for record in caplog.records] == ["watch interrupted"]
    async with follower(Faithful([*trouble, works, *trouble])) as (follow, _):
        await follow.until(8)
    assert [record.getMessage() for record in caplog.records] == ["watch interrupted"] * 3


async def test_an_object_that_does_not_fit_keeps_its_last_known_form(
    caplog: pytest.LogCaptureFixture,
) -> None:
    odd = [line("MODIFIED", "a", 4, size="large"), line("MODIFIED", "b", 5, size=2)]
    answers = [Answer(chunks=[*STATE, STATE_END, *odd])]
    async with follower(Faithful(answers)) as (follow, _):
        stored = await follow.until(5)
        assert stored == {"a": "1", "b": "5", "c": "3"}
    assert follow.watch.unreadable == 1
    skipped = [vars(record) for record in caplog.records if record.msg == "invalid object skipped"]
    assert [facts["key"] for facts in skipped] == [("ns", "a")]


async def test_an_object_that_does_not_fit_a_list_is_not_taken_for_deleted() -> None:
    started = Answer(chunks=[*STATE, STATE_END])
    items = [item("a", 4, size="large"), item("c", 3)]
    listed = whole({"metadata": {"resourceVersion": "7"}, "items": items})
    answers = [started, whole(GONE, status=410), refusal(400, "BadRequest"), listed]
    async with follower(Faithful(answers)) as (follow, _):
        assert await follow.until(7) == {"a": "1", "c": "3"}


async def test_errors_to_give_up_on_end_the_watch() -> None:
    async with (
        FakeApi(lambda _: refusal(403, "Forbidden", "not you")) as fake,
        Api(Config(server=fake.url)) as api,
    ):
        watch = Watch(api, SCOPE, decode=Pod, give_up_on=(Forbidden,))
        async with aclosing(watch.events()) as events:
            with pytest.raises(Forbidden, match="not you"):
                await anext(events)


async def test_watches_last_a_random_time() -> None:
    async with FakeApi(Faithful()) as fake, Api(Config(server=fake.url)) as api:
        time = Instant(chance=0.999)
        watch = Watch(api, SCOPE, decode=Pod, timing=time.timing)
        async with aclosing(watch.events()) as events:
            await anext(events)
    assert queries(fake)[0]["timeoutSeconds"] == "589"


class Slow(Instant):
    """A clock that advances ten seconds per reading."""

    def __init__(self) -> None:
        super().__init__()
        ticks = itertools.count(0.0, 10.0)
        self.timing = msgspec.structs.replace(self.timing, clock=lambda: next(ticks))


async def slept_in(time: Instant, first: Sequence[Answer]) -> list[float]:
    async with FakeApi(Faithful(first)) as fake, Api(Config(server=fake.url)) as api:
        follow = Follower(api, time, WatchConfig())
        assert await follow.until(8) == FINAL
    return time.slept


async def test_a_quiet_watch_that_ends_in_its_time_is_opened_again_at_once() -> None:
    quiet = [Answer(chunks=[*STATE, STATE_END]), Answer(), Answer()]
    assert await slept_in(Slow(), quiet) == []
    assert await slept_in(Instant(), quiet) == [0.1, 0.2, 0.4]


async def test_a_failure_that_took_long_is_still_a_failure() -> None:
    trouble = [text("down", status=500)] * 3
    assert await slept_in(Slow(), trouble) == [0.1, 0.2, 0.4]
