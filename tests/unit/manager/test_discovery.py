"""Discovery retries until it knows whether an API is served, and waits for missing ones."""

import asyncio

from tests.support.fake_dialect import GROUP, PLURAL, VERSION, FakeDialect
from tests.support.local_apiserver.in_memory import DEFINITIONS, InMemoryApiServer
from tests.support.simulation import virtual_time
from tfjob.client.errors import ApiError, Forbidden, NotFound, Unreachable
from tfjob.client.request import Request
from tfjob.client.resource import Resource
from tfjob.manager.discovery import Discovery

TOYS = Resource(GROUP, VERSION, PLURAL)


def discovery(server: InMemoryApiServer, max_interval: float = 15.0) -> Discovery:
    return Discovery(server.api, timing=virtual_time.timing(lambda: 0.5), max_interval=max_interval)


def test_api_is_served_or_not() -> None:
    async def act() -> None:
        async with InMemoryApiServer(clock=virtual_time.now) as server:
            assert not await discovery(server).is_served(TOYS)
            await server.ask("POST", DEFINITIONS, FakeDialect().crd())
            assert await discovery(server).is_served(TOYS)
            assert not await discovery(server).is_served(Resource(GROUP, "v2", PLURAL))
            assert not await discovery(server).is_served(Resource(GROUP, VERSION, "others"))

    virtual_time.run(act())


def test_api_counts_as_served_without_permission_for_discovery() -> None:
    async def act() -> None:
        async with InMemoryApiServer(clock=virtual_time.now) as server:
            server.refuse = lambda _: Forbidden("no")
            assert await discovery(server).is_served(TOYS)

    virtual_time.run(act())


def test_api_that_may_not_be_listed_is_served_but_not_usable() -> None:
    async def act() -> None:
        async with InMemoryApiServer(clock=virtual_time.now) as server:
            found = discovery(server)
            assert not await found.is_usable(TOYS, namespace=None)
            await server.ask("POST", DEFINITIONS, FakeDialect().crd())
            server.refuse = lambda request: Forbidden("no") if request.verb == "list" else None
            assert await found.is_served(TOYS)
            assert not await found.is_usable(TOYS, namespace=None)
            waiting = asyncio.create_task(found.wait_until_usable(TOYS, namespace=None))
            await asyncio.sleep(100)
            assert not waiting.done()
            server.refuse = lambda request: Unreachable("down") if request.verb == "list" else None
            await waiting

    virtual_time.run(act())


def test_api_that_disappears_after_discovery_is_not_usable() -> None:
    async def act() -> None:
        async with InMemoryApiServer(clock=virtual_time.now) as server:
            await server.ask("POST", DEFINITIONS, FakeDialect().crd())
            server.refuse = lambda request: NotFound("gone") if request.verb == "list" else None
            assert not await discovery(server).is_usable(TOYS, namespace="default")

    virtual_time.run(act())


def test_failed_discovery_is_retried() -> None:
    async def act() -> None:
        async with InMemoryApiServer(clock=virtual_time.now) as server:
            await server.ask("POST", DEFINITIONS, FakeDialect().crd())

            def refuse(_: Request) -> ApiError | None:
                is_down = asyncio.get_running_loop().time() < 100
                return Unreachable("down") if is_down else None

            server.refuse = refuse
            assert await discovery(server).is_served(TOYS)
            assert 100 <= asyncio.get_running_loop().time() <= 130

    virtual_time.run(act())


def test_missing_api_is_reported_once_and_found_soon_after_it_is_installed() -> None:
    async def act() -> None:
        told: list[float] = []
        loop = asyncio.get_running_loop()
        async with InMemoryApiServer(clock=virtual_time.now) as server:
            wait = discovery(server).wait_until_served(
                TOYS, on_missing=lambda: told.append(loop.time())
            )
            waiting = asyncio.create_task(wait)
            await asyncio.sleep(1000)
            assert (len(told), waiting.done()) == (1, False)
            await server.ask("POST", DEFINITIONS, FakeDialect().crd())
            await waiting
            assert loop.time() <= 1000 + 16
            await discovery(server).wait_until_served(
                TOYS, on_missing=lambda: told.append(loop.time())
            )
            assert len(told) == 1

    virtual_time.run(act())
