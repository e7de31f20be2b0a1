"""How long a watch has made no progress, and the log message about it."""

from contextlib import aclosing

import pytest

from tests.support.fake_api import Answer, Asked, FakeApi, refusal
from tests.support.fake_time import Instant
from tests.support.recorded_watch import FINAL, SCOPE, STATE, STATE_END, Faithful, Pod, follower
from tfjob.client.config import Config
from tfjob.client.http import Api
from tfjob.client.watch import Watch


@pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (404, "NotFound")])
async def test_a_watch_that_is_rejected_is_idle_for_ever_longer_and_says_so_each_minute(
    caplog: pytest.LogCaptureFixture, code: int, reason: str
) -> None:
    state = Answer(chunks=[*STATE, STATE_END])
    refused = [refusal(code, reason)] * 30
    idle: list[float] = []

    def script(asked: Asked) -> Answer:
        idle.append(watch.idle_seconds)
        return faithful(asked)

    faithful, time = Faithful([state, *refused]), Instant(chance=0.5)
    async with FakeApi(script) as fake, Api(Config(server=fake.url)) as api:
        watch = Watch(api, SCOPE, decode=Pod, timing=time.timing)
        async with aclosing(watch.events()) as events:
            async for event in events:
                if event.version == "8":
                    break
        assert watch.idle_seconds == 0
    refusals = idle[2:32]
    assert refusals == sorted(refusals)
    assert refusals[-1] > 300
    lines = [each for each in caplog.records if each.getMessage() == "watch interrupted"]
    assert refusals[-1] / 90 - 1 <= len(lines) <= refusals[-1] / 60 + 1
    assert vars(lines[-1])["idle_seconds"] > 200


async def test_a_watch_that_ends_normally_without_events_is_not_idle() -> None:
    quiet = [Answer(chunks=[*STATE, STATE_END]), *[Answer()] * 20]
    async with follower(Faithful(quiet)) as (follow, _):
        assert await follow.until(8) == FINAL
        assert sum(follow.time.slept) > 60
        assert follow.watch.idle_seconds == 0
