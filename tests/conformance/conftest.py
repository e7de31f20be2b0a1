"""A control plane for the chart, Helm for it, and a namespace for each release."""

from collections.abc import Iterator

import pytest

from tests.support.environments import Environment
from tests.support.helm import ChartPlane, Helm, hand_over, helm_at, started


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChartPlane]:
    """A control plane that has never seen a TFJob."""
    made = started(ChartPlane(folder=tmp_path_factory.mktemp("chart-plane")))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def helm(plane: ChartPlane, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    return helm_at(tmp_path_factory.mktemp("helm"), plane)


@pytest.fixture(scope="module")
def chart_env(plane: ChartPlane, helm: Helm) -> Iterator[Environment]:
    made = Environment("chart", plane)
    yield made
    made.close()


@pytest.fixture
def home(plane: ChartPlane, helm: Helm) -> Iterator[str]:
    """The namespace of a release. It owns the CRDs, and only restricted pods may run in it."""
    name = plane.create_namespace("release-")
    hand_over(plane, namespace=name)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    plane.endpoint.request("PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": labels}})
    yield name
    helm.uninstall(namespace=name)
    plane.delete_namespace(name)
