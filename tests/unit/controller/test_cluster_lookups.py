"""Nodes and priority classes are read by name, cached, and optional."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.fake_time import settle
from tfjob.client.errors import Forbidden, NotFound, Transient
from tfjob.controller.cluster_lookups import CACHE_SECONDS, ClusterLookups


class Cluster:
    """Responses by path; other paths are not found."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.time = 0.0
        self.hold: asyncio.Event | None = None
        self.facts = ClusterLookups(self, clock=lambda: self.time)

    async def list_briefly(
        self, path: str, *, decode: type[Any], params: Mapping[str, str] | None = None
    ) -> Any:
        return await self.get(f"{path}?{(params or {})['fieldSelector']}", decode=decode)

    async def get(self, path: str, *, decode: type[Any]) -> Any:
        self.asked.append(path)
        if self.hold is not None:
            await self.hold.wait()
        answer = self.answers.get(path, NotFound("no"))
        if isinstance(answer, Exception):
            raise answer
        return decode(**answer)


NODE = "/api/v1/nodes/a"
HIGH = "/apis/scheduling.k8s.io/v1/priorityclasses/high"


async def test_missing_node_is_lost() -> None:
    cluster = Cluster({NODE: {}})
    assert await cluster.facts.lost_nodes(["a", "b", ""]) == {"b"}


async def test_node_that_may_not_be_read_is_not_lost() -> None:
    assert await Cluster({NODE: Forbidden("no")}).facts.lost_nodes(["a"]) == frozenset()


async def test_result_is_cached_for_a_while() -> None:
    cluster = Cluster({NODE: {}})
    await cluster.facts.lost_nodes(["a"])
    cluster.time = CACHE_SECONDS - 1
    del cluster.answers[NODE]
    assert await cluster.facts.lost_nodes(["a"]) == frozenset()
    cluster.time = CACHE_SECONDS
    assert await cluster.facts.lost_nodes(["a"]) == {"a"}
    assert len(cluster.asked) == 2


async def test_failed_lookup_is_raised_and_not_cached() -> None:
    cluster = Cluster({NODE: Transient("500")})
    with pytest.raises(Transient):
        await cluster.facts.lost_nodes(["a"])
    cluster.answers[NODE] = {}
    assert await cluster.facts.lost_nodes(["a"]) == frozenset()


async def test_priority_of_a_missing_class_is_0() -> None:
    cluster = Cluster({HIGH: {"value": 7}})
    assert await cluster.facts.priorities(["high", "absent"]) == {"high": 7, "absent": 0}
    assert await cluster.facts.priorities(["high"]) == {"high": 7}
    assert cluster.asked.count(HIGH) == 1


async def test_cache_is_bounded() -> None:
    cluster = Cluster({})
    names = [f"n{number}" for number in range(2500)]
    assert await cluster.facts.lost_nodes(names) == set(names)
    assert len(cluster.facts._nodes._values) <= 1000


async def test_oldest_cache_entry_is_dropped_first() -> None:
    cluster = Cluster({})
    for number in range(1001):
        await cluster.facts.lost_nodes([f"n{number}"])
    cluster.asked.clear()
    await cluster.facts.lost_nodes([f"n{number}" for number in range(1, 1001)])
    assert cluster.asked == []
    await cluster.facts.lost_nodes(["n0"])
    assert cluster.asked == ["/api/v1/nodes/n0"]


async def test_concurrent_lookups_are_limited() -> None:
    cluster = Cluster({})
    cluster.hold = asyncio.Event()
    names = [f"n{number}" for number in range(40)]
    jobs = [asyncio.create_task(cluster.facts.lost_nodes(names[part::2])) for part in range(2)]
    await settle()
    assert len(cluster.asked) == 16
    cluster.hold.set()
    assert await jobs[0] | await jobs[1] == set(names)
    assert len(cluster.asked) == 40


async def test_failed_lookup_of_one_node_does_not_lose_the_others() -> None:
    cluster = Cluster({NODE: Transient("500")})
    with pytest.raises(Transient):
        await cluster.facts.lost_nodes(["a", "b", "c"])
    cluster.answers[NODE] = {}
    cluster.asked.clear()
    assert await cluster.facts.lost_nodes(["a", "b", "c"]) == {"b", "c"}
    assert cluster.asked == [NODE]


async def test_event_lookups_do_not_delay_node_lookups() -> None:
    cluster = Cluster({NODE: {}})
    cluster.hold = asyncio.Event()
    reads = [
        asyncio.create_task(cluster.facts.pod_events(f"n{number}", uid=f"u{number}", period="0"))
        for number in range(40)
    ]
    await settle()
    held, cluster.hold = cluster.hold, None
    assert await cluster.facts.lost_nodes(["a", "b"]) == {"b"}
    held.set()
    await asyncio.gather(*reads)
