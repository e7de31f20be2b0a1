"""The few facts of the cluster that are asked for by name: nodes that are gone, priorities.

Asked only when a decision turns on them, and remembered for a short while. Where asking is not
allowed, nothing is assumed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from tfjob.client.errors import Forbidden, NotFound
from tfjob.client.resource import Resource

NODES: Final = Resource("", "v1", "nodes", namespaced=False)
PRIORITY_CLASSES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", namespaced=False)
KEPT_SECONDS: Final = 30.0
_MOST_KEPT: Final = 1000
_ASKED_AT_ONCE: Final = 16
"""Requests for facts under way at one time, over all jobs."""

V = TypeVar("V")


class Getter(Protocol):
    async def get(self, path: str, *, decode: type[Any]) -> Any: ...


class _Named(msgspec.Struct):
    pass


class _PriorityClass(msgspec.Struct):
    value: int = 0


class _Remembered(Generic[V]):
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._values: dict[str, tuple[float, V]] = {}

    def get(self, name: str) -> V | None:
        at, value = self._values.get(name, (float("-inf"), None))
        return value if self._clock() - at < KEPT_SECONDS else None

    def put(self, name: str, value: V) -> V:
        self._values.pop(name, None)
        if len(self._values) >= _MOST_KEPT:
            del self._values[next(iter(self._values))]
        self._values[name] = (self._clock(), value)
        return value


class ClusterLookups:
    def __init__(self, api: Getter, *, clock: Callable[[], float]) -> None:
        self._api = api
        self._nodes = _Remembered[bool](clock)
        self._priorities = _Remembered[int](clock)
        self._turn = asyncio.Semaphore(_ASKED_AT_ONCE)

    async def lost_nodes(self, names: Iterable[str]) -> frozenset[str]:
        """Those of the named nodes that the cluster no longer knows."""
        lost = await self._each(set(names) - {""}, self._is_lost)
        return frozenset(name for name, is_lost in lost.items() if is_lost)

    async def priorities(self, names: Iterable[str]) -> Mapping[str, int]:
        return await self._each(set(names), self._priority)

    async def _each(self, names: set[str], ask: Callable[[str], Awaitable[V]]) -> dict[str, V]:
        """The answers by name; the first trouble is raised when all have been asked."""

        async def in_turn(name: str) -> V:
            async with self._turn:
                return await ask(name)

        answers: dict[str, V] = {}
        found = await asyncio.gather(*map(in_turn, names), return_exceptions=True)
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
            await self._api.get(NODES.item(name), decode=_Named)
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
