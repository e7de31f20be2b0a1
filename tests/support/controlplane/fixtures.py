"""Pytest fixtures and hooks for tests against a real control plane.

There is one control plane per test process, and one namespace per test. Where binaries are missing
the tests are skipped, and the end of the run says so in red.
"""

from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest

from tests.support.controlplane.cluster import ControlPlane, PlaneStarter
from tests.support.controlplane.toolchain import Unavailable
from tests.support.fake_kubelet.driver import FakeKubelet

_BANNER = "NO REAL CONTROL PLANE"
_LOGS = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def control_plane(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[ControlPlane]:
    """etcd, kube-apiserver and kube-controller-manager, shared by the tests of this process."""
    plane = _started(ControlPlane(folder=tmp_path_factory.mktemp("control-plane")))
    request.config.stash[_LOGS] = str(plane.folder)
    yield plane
    plane.stop()


@pytest.fixture
def start_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlaneStarter]:
    """For tests that stop the API server, or need a scheduler, kwok or feature gates."""
    planes: list[ControlPlane] = []

    def start(**wishes: Any) -> ControlPlane:
        plane = ControlPlane(folder=tmp_path_factory.mktemp("control-plane"), **wishes)
        planes.append(_started(plane))
        return plane

    yield start
    for plane in planes:
        plane.stop()


@pytest.fixture
def namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace for one test."""
    name = control_plane.create_namespace()
    yield name
    control_plane.delete_namespace(name)


@pytest.fixture
async def kubelet(control_plane: ControlPlane, namespace: str) -> AsyncIterator[FakeKubelet]:
    """The kubelet of the test's namespace."""
    async with FakeKubelet(control_plane.endpoint, namespace=namespace) as kubelet:
        yield kubelet


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Apply the time limit to the test alone: the first set-up may have to build binaries."""
    for item in items:
        if _uses_control_plane(item):
            item.add_marker(pytest.mark.timeout(func_only=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show where the logs are when a test that used the control plane failed."""
    report = yield
    if report.failed and _uses_control_plane(item) and _LOGS in item.config.stash:
        report.sections.append(("logs of the control plane", item.config.stash[_LOGS]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one prominent line what was not tested, and how to have it tested."""
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    missed = [reason for reason in reasons if _BANNER in reason]
    if missed:
        line = missed[0][missed[0].index(_BANNER) :].rstrip("')")
        terminalreporter.write_line(f"NOT RUN: {len(missed)}. {line}", red=True, bold=True)


def _started(plane: ControlPlane) -> ControlPlane:
    try:
        return plane.start()
    except Unavailable as missing:
        pytest.skip(f"{_BANNER}: {missing}")


def _uses_control_plane(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return "control_plane" in names or "start_control_plane" in names
