"""The API server decides who may read the metrics; its reviews are cached and limited."""

import asyncio
from typing import Any

import aiohttp
import msgspec
import pytest
from prometheus_client import CollectorRegistry

from tests.support.fake_api import FakeApi, text
from tests.support.fake_time import Instant
from tfjob.client.config import Config
from tfjob.client.errors import ApiError
from tfjob.client.http import Api
from tfjob.manager import health
from tfjob.manager.metrics_access import CACHE_SECONDS, MAX_CACHED, MetricsAccess

READER = {"username": "prometheus", "uid": "u", "groups": ["g"], "extra": {"k": ["v"]}}


class Reviews:
    """An API server that reviews tokens: `tokens` are known, `allowed` may read."""

    def __init__(self) -> None:
        self.tokens = {"good", "poor"}
        self.allowed = {"good"}
        self.asked: list[tuple[str, Any]] = []
        self.running = self.most = 0
        self.is_down = False
        self.now = 0.0

    async def create(self, path: str, body: Any, *, decode: type[Any]) -> Any:
        if self.is_down:
            raise ApiError("away", status=500)
        self.asked.append((path, body))
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        spec = body["spec"]
        if body["kind"] == "TokenReview":
            known = spec["token"] in self.tokens
            user = {**READER, "username": spec["token"]} if known else {}
            return msgspec.convert({"status": {"authenticated": known, "user": user}}, decode)
        assert spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}
        return msgspec.convert({"status": {"allowed": spec["user"] in self.allowed}}, decode)

    @property
    def access(self) -> MetricsAccess:
        return MetricsAccess(self, clock=lambda: self.now)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer good", 200),
        ("bearer good", 200),
        ("Bearer poor", 403),
        ("Bearer stranger", 401),
        ("Basic good", 401),
        ("Bearer ", 401),
        ("good", 401),
        ("", 401),
        (f"Bearer {'x' * 20_000}", 401),
    ],
)
async def test_only_a_known_reader_with_the_permission_reads(header: str, status: int) -> None:
    assert await Reviews().access.status_for(header) == status


async def test_result_of_a_review_is_cached_for_a_while() -> None:
    reviews = Reviews()
    access = reviews.access
    assert [await access.status_for("Bearer good") for _ in range(5)] == [200] * 5
    assert len(reviews.asked) == 2
    reviews.tokens.clear()
    reviews.now = CACHE_SECONDS - 1
    assert await access.status_for("Bearer good") == 200
    reviews.now = CACHE_SECONDS
    assert await access.status_for("Bearer good") == 401


async def test_concurrent_reviews_and_cached_results_are_limited() -> None:
    reviews = Reviews()
    access = reviews.access
    headers = [f"Bearer {number}" for number in range(3 * MAX_CACHED)]
    found = await asyncio.gather(*map(access.status_for, headers))
    assert set(found) == {401}
    assert reviews.most <= 4
    assert len(access._known) == MAX_CACHED


async def test_nobody_reads_during_an_outage_and_nothing_is_cached() -> None:
    reviews = Reviews()
    access = reviews.access
    reviews.is_down = True
    assert await access.status_for("Bearer good") == 503
    reviews.is_down = False
    assert await access.status_for("Bearer good") == 200


async def test_no_token_is_kept() -> None:
    access = Reviews().access
    await access.status_for("Bearer good")
    assert "good" not in repr(vars(access))


async def test_reviews_go_over_the_wire_with_the_readers_name_and_groups() -> None:
    known = msgspec.json.encode({"status": {"authenticated": True, "user": READER}}).decode()
    allowed = msgspec.json.encode({"status": {"allowed": True}}).decode()
    async with FakeApi([text(known, status=201), text(allowed, status=201)]) as fake:
        async with Api(Config(server=fake.url), timing=Instant().timing) as api:
            access = MetricsAccess(api, clock=lambda: 0.0)
            server = await health.serve(
                health.metrics_app(CollectorRegistry(), review=access.status_for), "127.0.0.1:0"
            )
            assert server is not None
            host, port = server.addresses[0][:2]
            async with aiohttp.ClientSession() as session:
                url = f"http://{host}:{port}/metrics"
                async with session.get(url) as refused:
                    assert refused.status == 401
                headers = {"Authorization": "Bearer t"}
                async with session.get(url, headers=headers) as answered:
                    assert answered.status == 200
            await server.cleanup()
        paths = [each.path for each in fake.asked]
        assert paths == [
            "/apis/authentication.k8s.io/v1/tokenreviews",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        ]
