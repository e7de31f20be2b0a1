"""Pytest fixtures for tests of the operator in a world.

Law: one world of each kind per test process, a namespace of its own per test. Where a world's
binaries cannot be had its tests are skipped, and the end of the run says so. Knows no test.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.controlplane.cluster import ControlPlane
from tests.support.environments import Environment
from tests.support.job_fixture import JobFixture, job_fixture_in
from tests.support.local_apiserver.process import ApiServerProcess
from tests.support.operator_identity import identity_on

ENVIRONMENTS = ("kubernetes", "local")
only_kubernetes = pytest.mark.parametrize("env", ["kubernetes"], indirect=True)
"""For what only a real cluster has."""


@pytest.fixture(scope="session")
def kubernetes_env(control_plane: ControlPlane) -> Iterator[Environment]:
    """A real control plane with the operator on it, under its own ServiceAccount."""
    env = Environment("kubernetes", control_plane, identity=identity_on(control_plane))
    yield env
    env.close()


@pytest.fixture(scope="session")
def local_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """Our own API server with the operator on it."""
    server = ApiServerProcess(tmp_path_factory.mktemp("own-world"))
    try:
        server.start()
        env = Environment("local", server)
        yield env
        env.close()
    finally:
        server.stop()


@pytest.fixture(params=ENVIRONMENTS)
def env(request: pytest.FixtureRequest) -> Environment:
    """Each world in turn, with its operator up."""
    found: Environment = request.getfixturevalue(f"{request.param}_env")
    found.operator.start()
    return found


@pytest.fixture
async def fixture(env: Environment) -> AsyncIterator[JobFixture]:
    """A namespace in each world in turn."""
    async with job_fixture_in(env) as found:
        yield found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the limit of seconds bind the test alone: the first set-up may have to build binaries."""
    for item in items:
        if "env" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(func_only=True))
