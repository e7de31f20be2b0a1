"""Any bytes on the wire lead to an event, a skip or an ApiError, and affect nothing else."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given

from tests.support.fake_api import Answer, Asked, FakeApi
from tests.support.fake_time import Instant
from tests.support.hostile import DEPTHS, TEXTS, event, job, listed, nested
from tests.support.recorded_watch import SCOPE, Faithful, bookmark, follower
from tfjob.client import errors
from tfjob.client.config import Config
from tfjob.client.errors import ApiError, ServerTimeout
from tfjob.client.http import Api, PartialObjectMetadata, _decoded
from tfjob.client.informer import Informer
from tfjob.client.store import Store
from tfjob.client.watch import Watch
from tfjob.client.watch_codec import (
    Changed,
    Deleted,
    LineDecoder,
    MalformedLine,
    Page,
    Progressed,
    Unreadable,
)
from tfjob.controller.job_object import JobObject
from tfjob.k8s.child_types import CompanionObject
from tfjob.k8s.pod import Pod

ITEM = "/apis/kubeflow.org/v1/namespaces/ns/tfjobs/j"


@given(TEXTS)
def test_any_line_of_a_watch_is_an_event_or_a_fault_of_the_line(text: bytes) -> None:
    for kind in (JobObject, Pod, CompanionObject):
        try:
            read = LineDecoder(kind).line(text)
        except (MalformedLine, ApiError):
            continue
        assert isinstance(read, Changed | Deleted | Progressed | Unreadable)
        if isinstance(read, Changed) and isinstance(read.object, JobObject):
            assert set(read.object.manifest()) == {"metadata", "spec", "status"}


@given(TEXTS)
def test_any_object_of_a_list_is_read_or_skipped(text: bytes) -> None:
    for kind in (JobObject, Pod, CompanionObject):
        assert isinstance(LineDecoder(kind).item(msgspec.Raw(text)), Changed | Unreadable)


@given(TEXTS)
def test_any_answer_is_of_its_type_or_an_api_error(text: bytes) -> None:
    kinds: tuple[type, ...] = (PartialObjectMetadata, JobObject, Page, dict, msgspec.Raw)
    for kind in kinds:
        for level in (None, 3):
            with suppress(ServerTimeout):
                assert isinstance(_decoded(text, kind, title="GET /x", level=level), kind)


@given(TEXTS)
def test_any_refusal_is_an_api_error(text: bytes) -> None:
    for code in (400, 403, 410, 429, 503):
        error = errors.from_response(code, text, request="GET /x", retry_after="9" * 5_000)
        assert isinstance(error, ApiError)
        assert 0 <= error.details.retry_after_seconds <= 86_400
        assert str(error)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED"])
def test_a_deep_job_keeps_its_name_and_says_that_it_is_not_read(kind: str, depth: int) -> None:
    text = event(kind, job("a", version=7, spec=nested(depth)))
    read = LineDecoder(JobObject).line(text)
    assert isinstance(read, Changed)
    assert (read.object.metadata.name, read.version) == ("a", "7")
    assert "nested more than 100 levels" in read.object.manifest()["spec"].reason


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deep_object_that_is_deleted_is_known_to_be_gone(depth: int) -> None:
    text = event("DELETED", job("a", version=7, spec=nested(depth)))
    assert LineDecoder(JobObject).line(text) == Deleted(("ns", "a"), "7")
    assert LineDecoder(Pod).line(text) == Deleted(("ns", "a"), "7")


def test_a_deep_object_that_a_type_cannot_do_without_is_skipped_by_name() -> None:
    read = LineDecoder(Pod).line(event("ADDED", job("a", version=7, spec=nested(100_000))))
    assert isinstance(read, Unreadable)
    assert (read.key, read.version) == (("ns", "a"), "7")


def test_an_object_of_a_list_without_a_readable_name_is_skipped() -> None:
    odd = msgspec.Raw(b'{"metadata":{"name":[1],"namespace":"ns","resourceVersion":"3"}}')
    read = LineDecoder(Pod).item(odd)
    assert isinstance(read, Unreadable)
    assert (read.key, read.version) == (("ns", ""), "3")


def streamed(depth: int) -> Callable[[Asked], Answer]:
    bad = job("bad", version=2, spec=nested(depth))
    lines = [
        event("ADDED", job("before", version=1)),
        event("ADDED", bad),
        event("ADDED", job("after", version=3)),
    ]
    state = [line + b"\n" for line in lines]
    later = event("MODIFIED", job("bad", version=5, spec=nested(depth))) + b"\n"
    ends = bookmark(4, ends_initial=True)
    return Faithful([Faithful().stream([*state, ends, later, bookmark(8)])])


def paged(depth: int) -> Callable[[Asked], Answer]:
    page = listed(
        job("before", version=1),
        job("bad", version=5, spec=nested(depth)),
        job("after", version=3),
    )
    refused = Answer(status=422, chunks=[b'{"kind":"Status","code":422,"reason":"Invalid"}'])
    stream = Faithful().stream([bookmark(9)])
    return Faithful([refused, Answer(chunks=[page]), stream])


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("state", [streamed, paged])
async def test_a_deep_job_in_a_collection_hides_no_other_and_lets_it_sync(
    depth: int, state: Callable[[int], Callable[[Asked], Answer]]
) -> None:
    async with follower(state(depth)) as (follow, fake), Api(Config(server=fake.url)) as api:
        watch: Any = Watch(api, SCOPE, decode=JobObject, timing=Instant().timing)
        follow.watch = watch
        informer: Any = Informer(
            follow, store=Store[JobObject](), on_change=lambda _old, _new: None
        )
        follow.informer = informer
        assert await follow.until(8) == {"before": "1", "bad": "5", "after": "3"}
        assert follow.informer.has_synced.is_set()


async def test_a_deep_pod_is_skipped_with_a_line_that_names_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    async with follower(paged(100_000)) as (follow, fake), Api(Config(server=fake.url)) as api:
        watch: Any = Watch(api, SCOPE, decode=Pod, timing=Instant().timing)
        follow.watch = watch
        informer: Any = Informer(follow, store=Store[Pod](), on_change=lambda _old, _new: None)
        follow.informer = informer
        assert await follow.until(8) == {"before": "1", "after": "3"}
    skipped = [each for each in caplog.records if each.getMessage() == "invalid object skipped"]
    assert [vars(each)["key"] for each in skipped] == [("ns", "bad")]
    assert [vars(each)["resource"] for each in skipped] == ["pods"]


@pytest.mark.parametrize("depth", DEPTHS)
async def test_a_deep_answer_to_a_write_still_gives_the_version(depth: int) -> None:
    answer = Answer(chunks=[job("j", version=7, spec=nested(depth))])
    async with FakeApi([answer]) as fake, Api(Config(server=fake.url)) as api:
        stored = await api.replace(f"{ITEM}/status", {}, decode=PartialObjectMetadata)
    assert stored.metadata.resource_version == "7"


async def test_a_deep_object_that_is_wanted_whole_is_an_api_error() -> None:
    answer = Answer(chunks=[job("j", spec=nested(100_000))])
    async with FakeApi([answer]) as fake, Api(Config(server=fake.url)) as api:
        with pytest.raises(ApiError, match="nested more than 100 levels deep"):
            await api.get(ITEM, decode=dict)


@pytest.mark.parametrize("depth", DEPTHS)
async def test_a_deep_refusal_is_the_error_of_its_code(depth: int) -> None:
    body = b'{"kind":"Status","code":404,"details":' + nested(depth) + b"}"
    answers = [Answer(status=404, chunks=[body])]
    async with FakeApi(answers) as fake, Api(Config(server=fake.url)) as api:
        with pytest.raises(errors.NotFound):
            await api.get(ITEM, decode=PartialObjectMetadata)
