"""Pytest fixtures for tests of the operator on an API server.

There is one environment of each kind per test process, and one namespace per test. Where binaries
are missing the tests are skipped, and the end of the run says so.
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
    """The local API server with the operator on it."""
    server = ApiServerProcess(tmp_path_factory.mktemp("local-environment"))
    try:
        server.start()
        env = Environment("local", server)
        yield env
        env.close()
    finally:
        server.stop()


@pytest.fixture(params=ENVIRONMENTS)
def env(request: pytest.FixtureRequest) -> Environment:
    """Each environment in turn, with its operator running."""
    found: Environment = request.getfixturevalue(f"{request.param}_env")
    found.operator.start()
    return found


@pytest.fixture
async def fixture(env: Environment) -> AsyncIterator[JobFixture]:
    """A namespace in each environment in turn."""
    async with job_fixture_in(env) as found:
        yield found


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Apply the time limit to the test alone: the first set-up may have to build binaries."""
    for item in items:
        if "env" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(func_only=True))
