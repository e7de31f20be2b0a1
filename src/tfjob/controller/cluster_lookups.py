"""Reads what few decisions need: nodes, priority classes and the events of a pod.

Nodes and priorities are cached for a short time. Without permission to read them, a node counts as
present, a priority as 0, and a pod has no events.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from tfjob.client.errors import Forbidden, NotFound
from tfjob.client.resource import Resource
from tfjob.controller.pod_event_lookup import BriefLister, PodEventLookup
from tfjob.k8s.event import PodEvent

NODES: Final = Resource("", "v1", "nodes", namespaced=False)
PRIORITY_CLASSES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)
CACHE_SECONDS: Final = 30.0
_MAX_CACHED: Final = 1000
_MAX_CONCURRENT: Final = 16
"""Concurrent requests for nodes and priorities, over all jobs."""

V = TypeVar("V")


class Getter(BriefLister, Protocol):
    async def get(self, path: str, *, decode: type[Any]) -> Any: ...


class _Node(msgspec.Struct):
    pass


class _PriorityClass(msgspec.Struct):
    value: int = 0


class _Cache(Generic[V]):
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._values: dict[str, tuple[float, V]] = {}

    def get(self, name: str) -> V | None:
        at, value = self._values.get(name, (float("-inf"), None))
        return value if self._clock() - at < CACHE_SECONDS else None

    def put(self, name: str, value: V) -> V:
        self._values.pop(name, None)
        if len(self._values) >= _MAX_CACHED:
            del self._values[next(iter(self._values))]
        self._values[name] = (self._clock(), value)
        return value


class ClusterLookups:
    def __init__(self, api: Getter, *, clock: Callable[[], float]) -> None:
        self._api = api
        self._nodes = _Cache[bool](clock)
        self._priorities = _Cache[int](clock)
        self._events = PodEventLookup(api)
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT)

    async def lost_nodes(self, names: Iterable[str]) -> frozenset[str]:
        """The named nodes that no longer exist."""
        lost = await self._look_up_all(set(names) - {""}, self._is_lost)
        return frozenset(name for name, is_lost in lost.items() if is_lost)

    async def priorities(self, names: Iterable[str]) -> Mapping[str, int]:
        return await self._look_up_all(set(names), self._priority)

    async def pod_events(
        self, namespace: str, *, uid: str, period: str
    ) -> Sequence[PodEvent] | None:
        """The events of a pod, read once per period; None if they have to be read later."""
        return await self._events.read(namespace, uid=uid, period=period)

    def forget_pod(self, uid: str) -> None:
        """Drop the events of a deleted pod."""
        self._events.forget(uid)

    async def _look_up_all(
        self, names: set[str], look_up: Callable[[str], Awaitable[V]]
    ) -> dict[str, V]:
        """The values by name. Raises the first error after all requests have ended."""

        async def limited(name: str) -> V:
            async with self._slots:
                return await look_up(name)

        answers: dict[str, V] = {}
        found = await asyncio.gather(*map(limited, names), return_exceptions=True)
        for name, answer in zip(names, found, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            answers[name] = answer
        return answers

    async def _is_lost(self, name: str) -> bool:
        known = self._nodes.get(name)
        if known is not None:
            return known
        try:
            await self._api.get(NODES.item(name), decode=_Node)
        except NotFound:
            return self._nodes.put(name, value=True)
        except Forbidden:
            return self._nodes.put(name, value=False)
        return self._nodes.put(name, value=False)

    async def _priority(self, name: str) -> int:
        known = self._priorities.get(name)
        if known is not None:
            return known
        try:
            found = await self._api.get(PRIORITY_CLASSES.item(name), decode=_PriorityClass)
        except (NotFound, Forbidden):
            return self._priorities.put(name, 0)
        return self._priorities.put(name, found.value)
