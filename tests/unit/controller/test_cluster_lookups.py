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


async def test_node_that_the_cluster_does_not_know_is_lost() -> None:
    cluster = Cluster({NODE: {}})
    assert await cluster.facts.lost_nodes(["a", "b", ""]) == {"b"}


async def test_node_that_may_not_be_asked_about_is_not_lost() -> None:
    assert await Cluster({NODE: Forbidden("no")}).facts.lost_nodes(["a"]) == frozenset()


async def test_answer_is_remembered_for_a_while() -> None:
    cluster = Cluster({NODE: {}})
    await cluster.facts.lost_nodes(["a"])
    cluster.time = CACHE_SECONDS - 1
    del cluster.answers[NODE]
    assert await cluster.facts.lost_nodes(["a"]) == frozenset()
    cluster.time = CACHE_SECONDS
    assert await cluster.facts.lost_nodes(["a"]) == {"a"}
    assert len(cluster.asked) == 2


async def test_trouble_is_no_answer_and_is_not_remembered() -> None:
    cluster = Cluster({NODE: Transient("500")})
    with pytest.raises(Transient):
        await cluster.facts.lost_nodes(["a"])
    cluster.answers[NODE] = {}
    assert await cluster.facts.lost_nodes(["a"]) == frozenset()


async def test_priority_is_that_of_the_class_or_none() -> None:
    cluster = Cluster({HIGH: {"value": 7}})
    assert await cluster.facts.priorities(["high", "absent"]) == {"high": 7, "absent": 0}
    assert await cluster.facts.priorities(["high"]) == {"high": 7}
    assert cluster.asked.count(HIGH) == 1


async def test_what_is_remembered_is_bounded() -> None:
    cluster = Cluster({})
    names = [f"n{number}" for number in range(2500)]
    assert await cluster.facts.lost_nodes(names) == set(names)
    assert len(cluster.facts._nodes._values) <= 1000


async def test_oldest_answer_is_dropped_for_a_new_one() -> None:
    cluster = Cluster({})
    for number in range(1001):
        await cluster.facts.lost_nodes([f"n{number}"])
    cluster.asked.clear()
    await cluster.facts.lost_nodes([f"n{number}" for number in range(1, 1001)])
    assert cluster.asked == []
    await cluster.facts.lost_nodes(["n0"])
    assert cluster.asked == ["/api/v1/nodes/n0"]


async def test_several_nodes_are_asked_about_at_once_but_not_all() -> None:
    cluster = Cluster({})
    cluster.hold = asyncio.Event()
    names = [f"n{number}" for number in range(40)]
    jobs = [asyncio.create_task(cluster.facts.lost_nodes(names[part::2])) for part in range(2)]
    await settle()
    assert len(cluster.asked) == 16
    cluster.hold.set()
    assert await jobs[0] | await jobs[1] == set(names)
    assert len(cluster.asked) == 40


async def test_trouble_with_one_node_loses_no_answer_about_another() -> None:
    cluster = Cluster({NODE: Transient("500")})
    with pytest.raises(Transient):
        await cluster.facts.lost_nodes(["a", "b", "c"])
    cluster.answers[NODE] = {}
    cluster.asked.clear()
    assert await cluster.facts.lost_nodes(["a", "b", "c"]) == {"b", "c"}
    assert cluster.asked == [NODE]


async def test_events_hold_up_no_question_about_a_node() -> None:
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
