"""The API verbs: the requests they send and the types they return."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from tests.support.fake_api import Answer, FakeApi, refusal, text, whole
from tfjob.client.config import Config
from tfjob.client.errors import NotLeadingError, ServerTimeout
from tfjob.client.http import JSON_PATCH, MERGE_PATCH, Api, PartialObjectMetadata
from tfjob.client.request import Request
from tfjob.client.timing import Timing
from tfjob.client.watch_codec import Page

PODS = "/api/v1/namespaces/ns/pods"
STORED = {"metadata": {"name": "p", "resourceVersion": "7"}, "spec": {"much": ["else"]}}


@asynccontextmanager
async def connected(*answers: Answer) -> AsyncIterator[tuple[Api, FakeApi]]:
    async with FakeApi(answers) as fake, Api(Config(server=fake.url)) as api:
        yield api, fake


async def test_an_object_is_read_into_the_type_that_is_asked_for() -> None:
    async with connected(whole(STORED)) as (api, fake):
        stored = await api.get(
            f"{PODS}/p", decode=PartialObjectMetadata, params={"pretty": "false"}
        )
    assert stored.metadata.resource_version == "7"
    assert (fake.asked[0].method, fake.asked[0].path) == ("GET", f"{PODS}/p")
    assert fake.asked[0].query == {"pretty": "false"}


async def test_a_server_below_a_path_is_reached_there() -> None:
    async with FakeApi([whole(STORED)]) as fake, Api(Config(server=f"{fake.url}/k8s/c1")) as api:
        await api.get("/api/v1/nodes/n", decode=PartialObjectMetadata)
    assert fake.asked[0].path == "/k8s/c1/api/v1/nodes/n"


async def test_a_page_keeps_its_token_and_its_items_unread() -> None:
    body = {"metadata": {"resourceVersion": "9", "continue": "next"}, "items": [STORED]}
    async with connected(whole(body)) as (api, _):
        page = await api.list_page(PODS, decode=Page, params={"limit": "1"})
    assert page.metadata.continue_token == "next"  # noqa: S105 - a paging token
    assert [msgspec.json.decode(item) for item in page.items or ()] == [STORED]


async def test_create_passes_field_validation_and_dry_run_on() -> None:
    async with connected(whole(STORED, status=201), whole(STORED, status=201)) as (api, fake):
        await api.create(PODS, {"a": 1}, decode=PartialObjectMetadata)
        await api.create(
            PODS,
            b'{"raw":2}',
            decode=PartialObjectMetadata,
            field_validation="Strict",
            dry_run=True,
        )
    plain, strict = fake.asked
    assert (plain.method, plain.query, plain.json) == ("POST", {}, {"a": 1})
    assert strict.query == {"fieldValidation": "Strict", "dryRun": "All"}
    assert strict.json == {"raw": 2}


async def test_raw_parts_go_out_as_they_came_in() -> None:
    async with connected(whole(STORED)) as (api, fake):
        await api.replace(
            f"{PODS}/p", {"spec": msgspec.Raw(b'{"k":1.0}')}, decode=PartialObjectMetadata
        )
    assert fake.asked[0].method == "PUT"
    assert fake.asked[0].body == b'{"spec":{"k":1.0}}'


@pytest.mark.parametrize("content_type", [MERGE_PATCH, JSON_PATCH])
async def test_a_patch_says_what_kind_it_is(content_type: str) -> None:
    async with connected(whole(STORED)) as (api, fake):
        await api.patch(
            f"{PODS}/p/status",
            {},
            decode=PartialObjectMetadata,
            content_type=content_type,
            params={"fieldManager": "me"},
        )
    asked = fake.asked[0]
    assert (asked.method, asked.headers["Content-Type"]) == ("PATCH", content_type)
    assert asked.query == {"fieldManager": "me"}


async def test_delete_sends_preconditions() -> None:
    async with connected(whole({}), whole({})) as (api, fake):
        await api.delete(f"{PODS}/p")
        await api.delete(
            f"{PODS}/p", uid="u", resource_version="7", grace_seconds=0, propagation="Background"
        )
    bare, exact = (asked.json for asked in fake.asked)
    assert bare == {"kind": "DeleteOptions", "apiVersion": "v1"}
    assert exact == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
    }


async def test_a_body_can_be_had_as_it_is() -> None:
    async with connected(text("line 1\nline 2", status=200)) as (api, _):
        assert await api.read(f"{PODS}/p/log") == b"line 1\nline 2"


@pytest.mark.parametrize("body", ["<html>hello</html>", "", '{"metadata": 3}'])
async def test_response_of_another_type_is_an_error(body: str) -> None:
    async with connected(text(body, status=200)) as (api, _):
        with pytest.raises(ServerTimeout, match="cannot be decoded as PartialObjectMetadata"):
            await api.create(PODS, {}, decode=PartialObjectMetadata)


async def test_a_log_can_be_followed() -> None:
    async with (
        connected(Answer(chunks=[b"one\n", b"two"])) as (api, fake),
        api.stream(f"{PODS}/p/log", params={"follow": "true"}) as chunks,
    ):
        assert b"".join([chunk async for chunk in chunks]) == b"one\ntwo"
    assert fake.asked[0].query == {"follow": "true"}


async def test_client_without_requests_can_be_closed() -> None:
    await Api(Config(server="http://127.0.0.1:1")).close()


Write = Callable[[Api], Awaitable[object]]


@pytest.mark.parametrize(
    "write",
    [
        lambda api: api.create(PODS, {}, decode=PartialObjectMetadata),
        lambda api: api.replace(f"{PODS}/p", {}, decode=PartialObjectMetadata),
        lambda api: api.patch(f"{PODS}/p", {}, decode=PartialObjectMetadata),
        lambda api: api.delete(f"{PODS}/p"),
    ],
    ids=["create", "replace", "patch", "delete"],
)
async def test_no_write_is_sent_again_once_the_lead_was_lost_while_it_waited(write: Write) -> None:
    leads = True

    async def lose(_: float) -> None:
        nonlocal leads
        leads = False

    busy = refusal(429, "TooManyRequests", Retry_After="7")
    async with (
        FakeApi([busy, whole(STORED), whole(STORED)]) as fake,
        Api(Config(server=fake.url), timing=Timing(sleep=lose)) as api,
    ):
        guarded = api.guarded(lambda: leads)
        with pytest.raises(NotLeadingError, match="no longer the leader"):
            await write(guarded)
        assert len(fake.asked) == 1
        with pytest.raises(NotLeadingError):
            await write(guarded)
        assert len(fake.asked) == 1
        await guarded.get(f"{PODS}/p", decode=PartialObjectMetadata)
        await write(api)
        assert len(fake.asked) == 3


class _Recorder:
    """A transport that remembers the requests and has one answer."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.sent: list[Request] = []

    async def send(self, request: Request) -> bytes:
        self.sent.append(request)
        return self._body


async def test_a_page_that_only_helps_to_explain_is_read_once_in_a_short_time_and_if_it_is_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    api = Api(Config(server="http://127.0.0.1:1"))
    recorder = _Recorder(msgspec.json.encode({"items": [STORED]}))
    monkeypatch.setattr(api, "_transport", recorder)
    page = await api.list_briefly(PODS, decode=Page, params={"limit": "1"})
    assert [msgspec.json.decode(item) for item in page.items or ()] == [STORED]
    (sent,) = recorder.sent
    assert (sent.verb, sent.title, sent.query) == ("list", f"GET {PODS}", "?limit=1")
    assert (sent.max_bytes, sent.timeout, sent.max_attempts) == (1024 * 1024, 3.0, 1)
