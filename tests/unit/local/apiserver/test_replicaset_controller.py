"""The ReplicaSet controller."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.local.apiserver.controlled import ControlledWorld
from tfjob.local.apiserver.replicaset_controller import KEPT_ENDED, RESOURCE

Json = dict[str, Any]
TEMPLATE = {
    "metadata": {"labels": {"x": "y"}},
    "spec": {"containers": [{"name": "a", "image": "b"}]},
}


class World(ControlledWorld):
    """One ReplicaSet, r."""

    def make(self, **spec: Any) -> None:
        whole = {"selector": {"matchLabels": {"x": "y"}}, "template": TEMPLATE, **spec}
        self.create(RESOURCE, {"metadata": {"name": "r"}, "spec": whole})

    def status(self) -> Json:
        return dict(self.get(RESOURCE, "r")["status"])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "objects.sqlite")


def test_pods_are_counted_as_they_become_ready(world: World) -> None:
    world.make(replicas=2)
    none_yet = {"replicas": 2, "fullyLabeledReplicas": 2, "terminatingReplicas": 0}
    assert world.status() == {**none_yet, "observedGeneration": 1}
    world.run_pods()
    both = {**none_yet, "readyReplicas": 2, "availableReplicas": 2}
    assert world.status() == {**both, "observedGeneration": 1}


def test_a_deleted_pod_is_replaced(world: World) -> None:
    world.make()
    name = world.all("pods")[0]["metadata"]["name"]
    world.delete("pods", name)
    (other,) = world.all("pods")
    assert other["metadata"]["name"] != name


def test_an_ended_pod_is_replaced_at_once_and_then_after_growing_delays(world: World) -> None:
    world.make()
    world.finish("Failed")
    assert len(world.pods("Pending")) == 1
    for pause in (10, 20, 40):
        world.finish("Failed")
        world.wait(pause - 1)
        assert world.pods("Pending") == []
        world.wait(1)
        assert len(world.pods("Pending")) == 1
    world.wait(700)
    world.finish("Failed")
    assert len(world.pods("Pending")) == 1


def test_only_the_last_few_ended_pods_are_kept(world: World) -> None:
    world.make()
    for _ in range(KEPT_ENDED + 3):
        world.finish("Failed")
        world.wait(1000)
    assert len(world.pods("Failed")) == KEPT_ENDED


def test_pods_that_are_not_ready_are_deleted_first(world: World) -> None:
    world.make(replicas=1)
    world.run_pods()
    serving = world.all("pods")[0]["metadata"]["name"]
    world.change(RESOURCE, "r", replicas=3)
    world.change(RESOURCE, "r", replicas=1)
    assert [pod["metadata"]["name"] for pod in world.all("pods")] == [serving]


def test_a_pod_is_available_after_min_ready_seconds(world: World) -> None:
    world.make(minReadySeconds=5)
    world.run_pods()
    assert "availableReplicas" not in world.status()
    world.wait(5)
    assert world.status()["availableReplicas"] == 1


def test_repeating_the_decision_changes_nothing(world: World) -> None:
    world.make(replicas=3)
    revision = world.backend.store.revision
    world.look_again()
    assert world.backend.store.revision == revision
