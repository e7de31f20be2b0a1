"""The ReplicaSet controller."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.local.apiserver.controlled import ControlledCluster
from tfjob.local.apiserver.replicaset_controller import KEPT_ENDED, RESOURCE

Json = dict[str, Any]
TEMPLATE = {
    "metadata": {"labels": {"x": "y"}},
    "spec": {"containers": [{"name": "a", "image": "b"}]},
}


class Cluster(ControlledCluster):
    """One ReplicaSet, r."""

    def make(self, **spec: Any) -> None:
        whole = {"selector": {"matchLabels": {"x": "y"}}, "template": TEMPLATE, **spec}
        self.create(RESOURCE, {"metadata": {"name": "r"}, "spec": whole})

    def status(self) -> Json:
        return dict(self.get(RESOURCE, "r")["status"])


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "objects.sqlite")


def test_pods_are_counted_as_they_become_ready(cluster: Cluster) -> None:
    cluster.make(replicas=2)
    none_yet = {"replicas": 2, "fullyLabeledReplicas": 2, "terminatingReplicas": 0}
    assert cluster.status() == {**none_yet, "observedGeneration": 1}
    cluster.run_pods()
    both = {**none_yet, "readyReplicas": 2, "availableReplicas": 2}
    assert cluster.status() == {**both, "observedGeneration": 1}


def test_a_deleted_pod_is_replaced(cluster: Cluster) -> None:
    cluster.make()
    name = cluster.all("pods")[0]["metadata"]["name"]
    cluster.delete("pods", name)
    (other,) = cluster.all("pods")
    assert other["metadata"]["name"] != name


def test_an_ended_pod_is_replaced_at_once_and_then_after_growing_delays(cluster: Cluster) -> None:
    cluster.make()
    cluster.finish("Failed")
    assert len(cluster.pods("Pending")) == 1
    for pause in (10, 20, 40):
        cluster.finish("Failed")
        cluster.wait(pause - 1)
        assert cluster.pods("Pending") == []
        cluster.wait(1)
        assert len(cluster.pods("Pending")) == 1
    cluster.wait(700)
    cluster.finish("Failed")
    assert len(cluster.pods("Pending")) == 1


def test_only_the_last_few_ended_pods_are_kept(cluster: Cluster) -> None:
    cluster.make()
    for _ in range(KEPT_ENDED + 3):
        cluster.finish("Failed")
        cluster.wait(1000)
    assert len(cluster.pods("Failed")) == KEPT_ENDED


def test_pods_that_are_not_ready_are_deleted_first(cluster: Cluster) -> None:
    cluster.make(replicas=1)
    cluster.run_pods()
    serving = cluster.all("pods")[0]["metadata"]["name"]
    cluster.change(RESOURCE, "r", replicas=3)
    cluster.change(RESOURCE, "r", replicas=1)
    assert [pod["metadata"]["name"] for pod in cluster.all("pods")] == [serving]


def test_a_pod_is_available_after_min_ready_seconds(cluster: Cluster) -> None:
    cluster.make(minReadySeconds=5)
    cluster.run_pods()
    assert "availableReplicas" not in cluster.status()
    cluster.wait(5)
    assert cluster.status()["availableReplicas"] == 1


def test_repeating_the_decision_changes_nothing(cluster: Cluster) -> None:
    cluster.make(replicas=3)
    revision = cluster.backend.store.revision
    cluster.look_again()
    assert cluster.backend.store.revision == revision
