"""Pytest fixtures for tests of the operator in a world.

Law: one world of each kind per test process, a namespace of its own per test. Where a world's
binaries cannot be had its tests are skipped, and the end of the run says so. Knows no test.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.controlplane.cluster import ControlPlane
from tests.support.operator_identity import identity_on
from tests.support.own_server import OwnServer
from tests.support.scene import Scene, scene_in
from tests.support.worlds import World

WORLDS = ("kubernetes", "own")
only_kubernetes = pytest.mark.parametrize("world", ["kubernetes"], indirect=True)
"""For what only a real cluster has."""


@pytest.fixture(scope="session")
def kubernetes_world(control_plane: ControlPlane) -> Iterator[World]:
    """A real control plane with the operator on it, under its own ServiceAccount."""
    world = World("kubernetes", control_plane, identity=identity_on(control_plane))
    yield world
    world.close()


@pytest.fixture(scope="session")
def own_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Our own API server with the operator on it."""
    server = OwnServer(tmp_path_factory.mktemp("own-world"))
    try:
        server.start()
        world = World("own", server)
        yield world
        world.close()
    finally:
        server.stop()


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    """Each world in turn, with its operator up."""
    found: World = request.getfixturevalue(f"{request.param}_world")
    found.operator.start()
    return found


@pytest.fixture
async def scene(world: World) -> AsyncIterator[Scene]:
    """A namespace in each world in turn."""
    async with scene_in(world) as found:
        yield found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the limit of seconds bind the test alone: the first set-up may have to build binaries."""
    for item in items:
        if "world" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(func_only=True))
