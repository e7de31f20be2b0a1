"""The cluster of one node, the operator installed in it, and a namespace for each test.

`make e2e` runs these tests inside the cluster's namespaces. Elsewhere they are skipped.
"""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.helm import EVERY_DIALECT
from tests.support.node.client import HOME, Cluster, Namespace, this_cluster
from tests.support.node.machine import ADDRESS, folders


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Limit the time of the test itself; the first one also installs the operator."""
    for item in items:
        item.add_marker(pytest.mark.timeout(1200, func_only=True))


@pytest.fixture(scope="session")
def bare_cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The cluster, whatever is installed in it."""
    if not _is_inside():
        pytest.skip("NO CLUSTER: `make e2e` runs these tests, inside the cluster's namespaces")
    return this_cluster(tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def cluster(bare_cluster: Cluster) -> Cluster:
    """The cluster with the operator, which serves every kind of job."""
    with (folders().run / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if "tfjob" not in bare_cluster.helm("list", "--short", "--namespace", HOME):
            restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
            body = {"metadata": {"name": HOME, "labels": restricted}}
            if bare_cluster.found(f"/api/v1/namespaces/{HOME}") is None:
                bare_cluster.endpoint.request("POST", "/api/v1/namespaces", body)
            bare_cluster.install(EVERY_DIALECT)
    return bare_cluster


@pytest.fixture
def bare_namespace(bare_cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Namespace]:
    """A namespace of its own; it stays for a look at it if KEEP is set and the test fails."""
    words = request.node.originalname.removeprefix("test_").split("_")
    found = bare_cluster.new_namespace("-".join(words[:4])[:40].strip("-"))
    failures = request.session.testsfailed
    yield found
    if not (os.environ.get("KEEP") and request.session.testsfailed > failures):
        found.delete()


@pytest.fixture
def namespace(cluster: Cluster, bare_namespace: Namespace) -> Namespace:
    """A namespace of its own, in which the operator serves jobs."""
    return bare_namespace


def _is_inside() -> bool:
    place = folders()
    if not Path(place.is_ready).exists():
        return False
    done = subprocess.run(["ip", "-o", "address"], capture_output=True, text=True, check=False)
    return ADDRESS in done.stdout
