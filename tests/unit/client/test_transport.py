"""Retries of requests, and their errors."""

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.support.fake_api import Answer, Asked, FakeApi, Script, refusal, text, whole
from tests.support.fake_time import FakeTime, Instant, skip_ahead
from tests.support.patience import PATIENCE
from tfjob.client import errors
from tfjob.client.config import Config
from tfjob.client.credentials import ConfigError, TokenFile, bearer
from tfjob.client.flowcontrol import TokenBucket
from tfjob.client.request import ClientConfig, Request, query, resource_in
from tfjob.client.timing import Timing
from tfjob.client.transport import Transport

READ = Request(verb="get", method="GET", path="/api/v1/nodes/n")
CREATE = Request(
    verb="create", method="POST", path="/api/v1/nodes", body=b"{}", is_repeatable=False
)


@asynccontextmanager
async def connected(
    script: Script | Sequence[Answer], *, time: Instant, tuning: ClientConfig | None = None
) -> AsyncIterator[tuple[Transport, FakeApi]]:
    async with FakeApi(script) as fake:
        transport = Transport(
            Config(server=fake.url), tuning=tuning or ClientConfig(), timing=time.timing
        )
        try:
            yield transport, fake
        finally:
            await transport.close()


async def test_too_many_requests_waits_as_asked_and_sends_again() -> None:
    time = Instant(chance=0.5)
    answers = [refusal(429, "TooManyRequests", Retry_After="3"), whole({})]
    async with connected(answers, time=time) as (transport, fake):
        assert await transport.send(CREATE) == b"{}"
    assert time.slept == [3 * 1.25]
    assert [asked.method for asked in fake.asked] == ["POST", "POST"]


async def test_too_many_requests_without_a_time_waits_longer_each_time() -> None:
    time = Instant()
    async with connected([text("slow down", status=429)] * 3 + [whole({})], time=time) as (t, _):
        await t.send(READ)
    assert time.slept == [0.5, 1.0, 2.0]


async def test_a_wait_longer_than_allowed_is_left_to_the_caller() -> None:
    time = Instant()
    answers = [refusal(429, "TooManyRequests", Retry_After="3600")]
    async with connected(answers, time=time) as (transport, _):
        with pytest.raises(errors.TooManyRequests) as caught:
            await transport.send(READ)
    assert caught.value.retry_after == 3600.0
    assert time.slept == []


async def test_the_number_of_tries_is_bounded() -> None:
    def busy(_: Asked) -> Answer:
        return refusal(429, "TooManyRequests", Retry_After="1")

    async with connected(busy, time=Instant(), tuning=ClientConfig(max_attempts=4)) as (
        transport,
        fake,
    ):
        with pytest.raises(errors.TooManyRequests):
            await transport.send(READ)
    assert len(fake.asked) == 4


async def test_unavailable_with_a_time_is_sent_again_only_if_that_is_harmless() -> None:
    away = refusal(503, "ServiceUnavailable", Retry_After="1")
    time = Instant()
    async with connected([away, whole({})], time=time) as (transport, _):
        await transport.send(READ)
    assert time.slept == [1.0]
    async with connected([away], time=Instant()) as (transport, fake):
        with pytest.raises(errors.Transient):
            await transport.send(CREATE)
    assert len(fake.asked) == 1


@pytest.mark.parametrize("code", [500, 502, 503])
async def test_other_trouble_of_the_server_is_left_to_the_caller(code: int) -> None:
    async with connected([text("sorry", status=code)], time=Instant()) as (transport, fake):
        with pytest.raises(errors.Transient, match="sorry"):
            await transport.send(READ)
    assert len(fake.asked) == 1


async def test_a_create_without_an_answer_is_not_sent_again() -> None:
    never = asyncio.Event()

    def keep_silent(_: Asked) -> Answer:
        skip_ahead(1000)
        return Answer(hold_before=never)

    async with connected(keep_silent, time=Instant()) as (transport, fake):
        with pytest.raises(errors.ServerTimeout, match="may or may not"):
            await transport.send(CREATE)
        never.set()
    assert len(fake.asked) == 1


async def test_a_create_whose_answer_breaks_off_is_not_sent_again() -> None:
    answers = [Answer(status=201, chunks=[b'{"meta'], is_cut=True)]
    async with connected(answers, time=Instant()) as (transport, fake):
        with pytest.raises(errors.ServerTimeout):
            await transport.send(CREATE)
    assert len(fake.asked) == 1


async def test_request_to_an_unreachable_server_was_surely_not_executed() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        transport = Transport(Config(server=url), tuning=ClientConfig())
        with pytest.raises(errors.Unreachable):
            await transport.send(CREATE)
        await transport.close()


async def test_a_rotated_token_is_used_after_a_refusal(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old")

    def only_new(asked: Asked) -> Answer:
        path.write_text("new")
        is_new = asked.headers["Authorization"] == "Bearer new"
        return whole({}) if is_new else refusal(401, "Unauthorized")

    async with FakeApi(only_new) as fake:
        config = Config(server=fake.url, credentials=TokenFile(path))
        transport = Transport(config, tuning=ClientConfig())
        await transport.send(CREATE)
        async with transport.open(READ, idle=30) as stream:
            assert [chunk async for chunk in stream] == [b"{}"]
        await transport.close()
    sent = [asked.headers["Authorization"] for asked in fake.asked]
    assert sent == ["Bearer old", "Bearer new", "Bearer new"]


async def test_a_token_that_cannot_change_is_rejected_for_good() -> None:
    async with FakeApi(lambda _: refusal(401, "Unauthorized")) as fake:
        transport = Transport(
            Config(server=fake.url, credentials=bearer("t")), tuning=ClientConfig()
        )
        with pytest.raises(errors.Unauthorized):
            await transport.send(READ)
        await transport.close()
    assert len(fake.asked) == 1


class Stubborn:
    """Credentials that change each time and are always refused."""

    def __init__(self) -> None:
        self.made = 0

    async def header(self) -> str | None:
        self.made += 1
        return f"Bearer {self.made}"

    def renew(self, refused: str | None) -> bool:
        return refused is not None


async def test_new_credentials_are_not_fetched_for_ever() -> None:
    credentials = Stubborn()
    async with FakeApi(lambda _: refusal(401, "Unauthorized")) as fake:
        transport = Transport(
            Config(server=fake.url, credentials=credentials), tuning=ClientConfig(max_attempts=50)
        )
        with pytest.raises(errors.Unauthorized):
            await transport.send(READ)
        await transport.close()
    assert credentials.made == 3


class Broken(Stubborn):
    async def header(self) -> str | None:
        raise ConfigError("log in first")


async def test_unavailable_credentials_are_a_separate_error() -> None:
    transport = Transport(
        Config(server="http://127.0.0.1:1", credentials=Broken()), tuning=ClientConfig()
    )
    with pytest.raises(errors.Unauthorized, match="log in first"):
        await transport.send(READ)


async def test_a_redirect_is_not_followed_with_our_token() -> None:
    answers = [text("", status=302, headers={"Location": "http://127.0.0.1:1/"})]
    async with connected(answers, time=Instant()) as (transport, _):
        with pytest.raises(errors.ApiError, match="302"):
            await transport.send(READ)


async def test_headers_say_who_asks_and_for_whom() -> None:
    async with FakeApi([whole({})]) as fake:
        config = Config(server=fake.url, headers=(("Impersonate-User", "jane"),))
        transport = Transport(config, tuning=ClientConfig(user_agent="me/1"))
        await transport.send(CREATE)
        await transport.close()
    headers = fake.asked[0].headers
    assert headers["User-Agent"] == "me/1"
    assert headers["Impersonate-User"] == "jane"
    assert headers["Content-Type"] == "application/json"
    assert headers["Accept-Encoding"] == "identity"


async def test_a_stream_comes_in_chunks_and_ends_in_good_order() -> None:
    async with (
        connected([Answer(chunks=[b"a\n", b"b\n"])], time=Instant()) as (transport, _),
        transport.open(READ, idle=30) as stream,
    ):
        assert b"".join([chunk async for chunk in stream]) == b"a\nb\n"


async def test_a_stream_that_breaks_off_says_so() -> None:
    answers = [Answer(chunks=[b"a\n"], is_cut=True)]
    async with (
        connected(answers, time=Instant()) as (transport, _),
        transport.open(READ, idle=30) as stream,
    ):
        assert await anext(stream) == b"a\n"
        with pytest.raises(errors.ServerTimeout):
            await anext(stream)


async def test_a_stream_that_falls_silent_is_given_up() -> None:
    never = asyncio.Event()
    answers = [Answer(chunks=[b"a\n"], hold_after=never)]
    async with connected(answers, time=Instant()) as (transport, _):
        async with transport.open(READ, idle=30) as stream:
            assert await anext(stream) == b"a\n"
            stream.idle = 0.05
            with pytest.raises(errors.IdleTimeout):
                await anext(stream)
        never.set()


async def test_leaving_a_stream_early_frees_its_connection() -> None:
    never = asyncio.Event()
    answers = [Answer(chunks=[b"a\n"], hold_after=never), whole({})]
    tuning = ClientConfig(connections=1)
    async with connected(answers, time=Instant(), tuning=tuning) as (transport, _):
        async with transport.open(READ, idle=30) as stream:
            await anext(stream)
        assert await transport.send(READ) == b"{}"
        never.set()


async def test_each_exchange_is_reported_to_the_hook() -> None:
    reported: list[tuple[str, str, int]] = []
    answers = [refusal(429, "TooManyRequests", Retry_After="1"), whole({})]
    async with FakeApi(answers) as fake:
        transport = Transport(
            Config(server=fake.url),
            tuning=ClientConfig(),
            on_request=lambda verb, resource, code, _: reported.append((verb, resource, code)),
            timing=Instant().timing,
        )
        await transport.send(READ)
        await transport.close()
    assert reported == [("get", "nodes", 429), ("get", "nodes", 200)]


async def test_an_exchange_without_a_response_is_reported_too_with_its_time() -> None:
    reported: list[tuple[int, float]] = []
    ticks = itertools.count(100.0, 7.0)
    async with FakeApi([]) as ended:
        url = ended.url
    transport = Transport(
        Config(server=url),
        tuning=ClientConfig(),
        on_request=lambda _verb, _resource, code, seconds: reported.append((code, seconds)),
        timing=Timing(clock=lambda: next(ticks)),
    )
    with pytest.raises(errors.Unreachable):
        await transport.send(READ)
    await transport.close()
    assert reported == [(0, 7.0)]


async def test_the_throttle_is_asked_before_each_exchange() -> None:
    time = FakeTime()
    async with FakeApi(lambda _: whole({})) as fake:
        transport = Transport(
            Config(server=fake.url),
            tuning=ClientConfig(),
            throttle=TokenBucket(1.0, 1, timing=time.timing),
        )
        await transport.send(READ)
        second = asyncio.create_task(transport.send(READ))
        await time.advance(0.5)
        assert len(fake.asked) == 1
        await time.advance(0.5)
        await second
        await transport.close()
    assert len(fake.asked) == 2


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/pods", "pods"),
        ("/api/v1/namespaces", "namespaces"),
        ("/api/v1/namespaces/ns", "namespaces"),
        ("/api/v1/namespaces/ns/pods", "pods"),
        ("/api/v1/namespaces/ns/pods/p/status", "pods"),
        ("/apis/kubeflow.org/v1/tfjobs", "tfjobs"),
        ("/apis/kubeflow.org/v1/namespaces/ns/tfjobs/j/status", "tfjobs"),
        ("/apis/kubeflow.org/v1", "other"),
        ("/version", "other"),
        ("", "other"),
    ],
)
def test_requests_are_counted_by_resource(path: str, resource: str) -> None:
    assert resource_in(path) == resource


def test_parameters_are_quoted_for_a_url() -> None:
    assert (
        query({"labelSelector": "a in (b),d=e&f+"}) == "?labelSelector=a+in+%28b%29%2Cd%3De%26f%2B"
    )
    assert query({}) == ""


@pytest.mark.parametrize("is_proxied", [False, True])
async def test_an_answer_that_is_too_long_is_an_error_and_not_asked_for_again(
    is_proxied: bool,
) -> None:
    """It never ends: whoever reads on waits for ever."""
    endless = Answer(chunks=[b"x" * 70_000] * 2, hold_after=asyncio.Event())
    brief = msgspec.structs.replace(READ, max_bytes=1000)
    async with FakeApi([endless, whole({})]) as fake:
        config = Config(server=fake.url, proxy=fake.url if is_proxied else None)
        transport = Transport(config, tuning=ClientConfig(timeout=PATIENCE))
        try:
            with pytest.raises(errors.ServerTimeout, match="longer than 1000 bytes"):
                await transport.send(brief)
            assert len(fake.asked) == 1
            assert await transport.send(brief) == b"{}"
        finally:
            await transport.close()


@pytest.mark.parametrize("is_proxied", [False, True])
async def test_a_request_can_have_a_time_limit_of_its_own(is_proxied: bool) -> None:
    silent = Answer(hold_before=asyncio.Event())
    async with FakeApi([silent]) as fake:
        config = Config(server=fake.url, proxy=fake.url if is_proxied else None)
        transport = Transport(config, tuning=ClientConfig(timeout=PATIENCE))
        try:
            with pytest.raises(errors.ServerTimeout):
                await transport.send(msgspec.structs.replace(READ, timeout=0.0))
        finally:
            await transport.close()


async def test_a_request_can_have_a_number_of_tries_of_its_own() -> None:
    busy = refusal(429, "TooManyRequests", Retry_After="1")
    async with connected([busy, whole({})], time=Instant()) as (transport, fake):
        with pytest.raises(errors.TooManyRequests):
            await transport.send(msgspec.structs.replace(READ, max_attempts=1))
    assert len(fake.asked) == 1
