"""The events of a pod are read once per period, and delay nothing else."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.fake_time import settle
from tfjob.client.errors import Forbidden, Transient
from tfjob.controller.pod_event_lookup import MAX_PODS, PodEventLookup
from tfjob.k8s.event import InvolvedObject, PodEvent, PodEventList
from tfjob.k8s.meta import ObjectMeta


def event(reason: str, *, second: int = 0, **fields: Any) -> PodEvent:
    return PodEvent(
        metadata=ObjectMeta(),
        involved_object=InvolvedObject(uid="u"),
        reason=reason,
        last_timestamp=f"2026-01-01T00:00:{second:02}Z",
        **fields,
    )


class Server:
    """Answers every request with the same events or error; `asked` lists the requests."""

    def __init__(self, *events: PodEvent, error: Exception | None = None) -> None:
        self.events = events
        self.error = error
        self.asked: list[tuple[str, Mapping[str, str]]] = []
        self.hold: asyncio.Event | None = None
        self.lookup = PodEventLookup(self)

    async def list_briefly(
        self, path: str, *, decode: type[Any], params: Mapping[str, str] | None = None
    ) -> Any:
        self.asked.append((path, params or {}))
        if self.hold is not None:
            await self.hold.wait()
        if self.error is not None:
            raise self.error
        assert decode is PodEventList
        return PodEventList(items=self.events)

    async def read(
        self, *, uid: str = "u", period: str = "0", namespace: str = "n"
    ) -> tuple[PodEvent, ...] | None:
        found = await self.lookup.read(namespace, uid=uid, period=period)
        return None if found is None else tuple(found)


async def test_events_are_read_once_per_period() -> None:
    mount = event("FailedMount")
    server = Server(mount)
    for period in ("0", "0", "0", "1", "1"):
        assert await server.read(period=period) == (mount,)
    path, params = server.asked[0]
    assert path == "/api/v1/namespaces/n/events"
    assert params == {"fieldSelector": "involvedObject.uid=u", "limit": "50"}
    assert len(server.asked) == 2


@pytest.mark.parametrize("trouble", [Forbidden("no"), Transient("500")])
async def test_failed_request_for_events_is_not_retried_in_the_same_period(
    trouble: Exception,
) -> None:
    server = Server(error=trouble)
    assert await server.read() == ()
    server.error = None
    assert await server.read() == ()
    assert len(server.asked) == 1


async def test_a_round_over_many_pods_reads_each_once() -> None:
    server = Server()
    for _ in range(2):
        for number in range(MAX_PODS):
            await server.read(uid=f"u{number}")
    assert len(server.asked) == MAX_PODS


async def test_cache_is_bounded_and_drops_the_oldest_entry_first() -> None:
    server = Server()
    for number in range(MAX_PODS + 1):
        await server.read(uid=f"u{number}")
    server.asked.clear()
    await server.read(uid="u1")
    assert server.asked == []
    await server.read(uid="u0")
    assert len(server.asked) == 1


async def test_deleted_pod_leaves_no_state() -> None:
    server = Server()
    await server.read()
    server.lookup.forget("u")
    await server.read()
    assert len(server.asked) == 2


async def test_newest_relevant_events_are_kept() -> None:
    mounts = [event("FailedMount", second=second) for second in range(20)]
    noise = [event("Scheduled", second=30 + number) for number in range(20)]
    assert await Server(*noise, *mounts).read() == tuple(reversed(mounts[12:]))


async def test_little_is_kept_of_an_event() -> None:
    long = "x" * 1000
    mount = PodEvent(
        metadata=ObjectMeta(name=long, annotations={"a": long}, resource_version="7"),
        involved_object=InvolvedObject(kind=long, name=long, uid="u"),
        type=long,
        reason="FailedMount",
        message=long,
        count=3,
    )
    assert await Server(mount).read() == (
        PodEvent(
            metadata=ObjectMeta(resource_version="7"),
            involved_object=InvolvedObject(uid="u"),
            reason="FailedMount",
            message="x" * 256,
            count=3,
        ),
    )


async def test_read_beyond_the_limit_is_left_for_later() -> None:
    server = Server(event("FailedMount"))
    server.hold = asyncio.Event()
    reads = [
        asyncio.create_task(server.read(namespace=f"n{number // 3}", uid=f"u{number}"))
        for number in range(18)
    ]
    await settle()
    paths = [path for path, _ in server.asked]
    assert len(paths) == 8
    assert {paths.count(path) for path in paths} == {2}
    server.hold.set()
    answers = await asyncio.gather(*reads)
    assert [number for number, answer in enumerate(answers) if answer is None] == [
        2, 5, 8, 11, *range(12, 18)
    ]  # fmt: skip
    for number in range(18):
        assert await server.read(namespace=f"n{number // 3}", uid=f"u{number}") is not None
    assert len(server.asked) == 18


async def test_a_read_that_is_cancelled_frees_its_slot() -> None:
    server = Server()
    server.hold = asyncio.Event()
    reads = [asyncio.create_task(server.read(uid=f"u{number}")) for number in range(2)]
    await settle()
    assert await server.read(uid="late") is None
    for read in reads:
        read.cancel()
    await asyncio.gather(*reads, return_exceptions=True)
    server.hold.set()
    assert await server.read(uid="late") == ()
