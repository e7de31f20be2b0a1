"""Where cases run: a real control plane with a scheduler, or a local cluster.

A few cases run at a time, each in its own namespace.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

from tests.support.causes.case import Case, Scene
from tests.support.controlplane.api import Api
from tests.support.controlplane.cluster import ControlPlane
from tests.support.controlplane.endpoint import Endpoint
from tests.support.fake_kubelet.driver import FakeKubelet

AT_ONCE = 6
T = TypeVar("T")
Play = Callable[[Case, Scene], Awaitable[T]]


async def played_on_cluster(
    plane: ControlPlane, cases: Iterable[Case], play: Play[T], *, at_once: int = AT_ONCE
) -> list[T]:
    """The result of each case in a namespace of a control plane."""

    async def one(case: Case) -> T:
        namespace = await asyncio.to_thread(plane.create_namespace, "cause-")
        try:
            async with (
                FakeKubelet(
                    plane.endpoint, namespace=namespace, deletions=case.deletions
                ) as kubelet,
                _scene(plane.endpoint, namespace, kubelet) as scene,
            ):
                found = await play(case, scene)
                await scene.call("DELETE", scene.jobs)
                return found
        finally:
            await asyncio.to_thread(plane.delete_namespace, namespace)

    return await _at_once(cases, one, at_once)


async def played_locally(
    endpoint: Endpoint, cases: Iterable[Case], play: Play[T], *, at_once: int = AT_ONCE
) -> list[T]:
    """The result of each case in a namespace of a local cluster."""

    async def one(case: Case) -> T:
        body = {"metadata": {"generateName": "cause-"}}
        made = await asyncio.to_thread(endpoint.request, "POST", "/api/v1/namespaces", body)
        async with _scene(endpoint, made["metadata"]["name"], None) as scene:
            found = await play(case, scene)
            await scene.call("DELETE", scene.jobs)
            return found

    return await _at_once(cases, one, at_once)


@asynccontextmanager
async def _scene(
    endpoint: Endpoint, namespace: str, kubelet: FakeKubelet | None
) -> AsyncIterator[Scene]:
    async with Api(endpoint) as api:
        scene = Scene(endpoint, api, namespace=namespace, kubelet=kubelet)
        async with scene.resources:
            yield scene


async def _at_once(
    cases: Iterable[Case], one: Callable[[Case], Awaitable[T]], limit: int
) -> list[T]:
    turns = asyncio.Semaphore(limit)

    async def in_turn(case: Case) -> T:
        async with turns:
            return await one(case)

    return list(await asyncio.gather(*map(in_turn, cases)))
