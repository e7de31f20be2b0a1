"""The Deployment controller."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.local.apiserver.controlled import ControlledWorld
from tfjob.local.apiserver.deployment_controller import HASH, RESOURCE, REVISION
from tfjob.local.apiserver.replicaset_controller import RESOURCE as SETS

Json = dict[str, Any]


class World(ControlledWorld):
    """One Deployment, d."""

    def make(self, **spec: Any) -> None:
        whole = {"selector": {"matchLabels": {"x": "y"}}, "template": template("one"), **spec}
        self.create(RESOURCE, {"metadata": {"name": "d"}, "spec": whole})

    def alter(self, **spec: Any) -> None:
        self.change(RESOURCE, "d", **spec)

    def deployment(self) -> Json:
        return self.get(RESOURCE, "d")

    def counts(self) -> Json:
        return {k: v for k, v in self.deployment()["status"].items() if isinstance(v, int)}

    def reasons(self) -> dict[str, str]:
        found = self.deployment()["status"].get("conditions") or ()
        return {condition["type"]: condition["reason"] for condition in found}

    def sizes(self) -> dict[str, int]:
        """Size of each set, by the image of its template."""
        return {
            one["spec"]["template"]["spec"]["containers"][0]["image"]: one["spec"]["replicas"]
            for one in self.all(SETS)
        }

    def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.all("pods")]


def template(image: str) -> Json:
    labels = {"metadata": {"labels": {"x": "y"}}}
    return {**labels, "spec": {"containers": [{"name": "a", "image": image}]}}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "objects.sqlite")


def test_a_deployment_has_one_replica_set_with_its_pods(world: World) -> None:
    world.make(replicas=2)
    (one,) = world.all(SETS)
    mark = one["metadata"]["labels"][HASH]
    assert one["metadata"]["name"] == f"d-{mark}"
    assert one["spec"]["selector"] == {"matchLabels": {"x": "y", HASH: mark}}
    assert all(name.startswith(f"d-{mark}-") for name in world.names())
    assert [pod["metadata"]["labels"] for pod in world.all("pods")] == [{"x": "y", HASH: mark}] * 2
    assert one["metadata"]["ownerReferences"][0]["uid"] == world.deployment()["metadata"]["uid"]


def test_a_deployment_is_available_when_its_pods_are_ready(world: World) -> None:
    world.make()
    assert world.reasons() == {
        "Available": "MinimumReplicasUnavailable",
        "Progressing": "ReplicaSetUpdated",
    }
    world.run_pods()
    assert world.counts() == {
        "observedGeneration": 1,
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "terminatingReplicas": 0,
    }
    assert world.reasons() == {
        "Available": "MinimumReplicasAvailable",
        "Progressing": "NewReplicaSetAvailable",
    }


def test_a_deployment_scales_to_zero_and_back(world: World) -> None:
    world.make()
    world.run_pods()
    world.alter(replicas=0)
    assert world.all("pods") == []
    assert world.counts() == {"observedGeneration": 2, "terminatingReplicas": 0}
    world.alter(replicas=3)
    assert len(world.pods("Pending")) == 3
    assert len(world.all(SETS)) == 1


def test_a_changed_template_gets_new_pods_when_the_old_are_gone(world: World) -> None:
    world.make()
    pod = world.all("pods")[0]
    pod["spec"]["nodeName"] = "n"  # a node takes its time to end it
    world.put_pod(pod, phase="Running")
    world.alter(template=template("two"))
    assert world.sizes() == {"one": 0, "two": 0}
    assert world.deployment()["status"]["terminatingReplicas"] == 1
    pod = world.all("pods")[0]
    pod["metadata"]["deletionGracePeriodSeconds"] = 0
    world.put_pod(pod, phase="Failed")
    world.delete("pods", pod["metadata"]["name"])
    assert world.sizes() == {"one": 0, "two": 1}
    assert [one["spec"]["containers"][0]["image"] for one in world.all("pods")] == ["two"]


def test_a_rollback_uses_the_old_replica_set_with_a_new_revision(world: World) -> None:
    world.make()
    first = world.deployment()["spec"]["template"]
    world.alter(template=template("two"))
    assert world.deployment()["metadata"]["annotations"][REVISION] == "2"
    world.alter(template=first)
    assert world.sizes() == {"one": 1, "two": 0}
    assert world.deployment()["metadata"]["annotations"][REVISION] == "3"


def test_old_replica_sets_beyond_the_history_limit_are_deleted(world: World) -> None:
    world.make(revisionHistoryLimit=1)
    for image in ("two", "three", "four"):
        world.alter(template=template(image))
    assert world.sizes() == {"three": 0, "four": 1}


def test_a_paused_deployment_is_scaled_but_not_rolled_out(world: World) -> None:
    world.make()
    world.alter(paused=True, template=template("two"), replicas=2)
    assert world.sizes() == {"one": 2}
    world.alter(paused=False)
    assert world.sizes() == {"one": 0, "two": 2}


def test_replaced_pods_do_not_restart_the_rollout(world: World) -> None:
    world.make()
    world.run_pods()
    world.delete("pods", world.names()[0])
    assert world.reasons() == {
        "Available": "MinimumReplicasUnavailable",
        "Progressing": "NewReplicaSetAvailable",
    }


def test_a_quarter_of_four_pods_may_be_missing(world: World) -> None:
    world.make(replicas=4)
    world.run_pods()
    world.delete("pods", world.names()[0])
    assert world.counts()["availableReplicas"] == 3
    assert world.reasons()["Available"] == "MinimumReplicasAvailable"


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_deleted_deployment_deletes_its_replica_sets_and_pods(world: World, policy: str) -> None:
    world.make(replicas=2)
    world.delete(RESOURCE, "d", policy=policy)
    assert (world.all(RESOURCE), world.all(SETS), world.all("pods")) == ([], [], [])


def test_a_replica_set_of_another_owner_is_left_alone(world: World) -> None:
    world.make()
    name = world.all(SETS)[0]["metadata"]["name"]
    world.delete(RESOURCE, "d")
    foreign = {"replicas": 0, "selector": {"matchLabels": {"x": "y"}}, "template": template("own")}
    world.create(SETS, {"metadata": {"name": name}, "spec": foreign})
    world.make()
    assert (world.sizes(), world.all("pods")) == ({"own": 0}, [])


def test_scaling_is_reported(world: World) -> None:
    world.make()
    name = world.all(SETS)[0]["metadata"]["name"]
    told = [
        e["message"] for e in world.all("events") if e["involvedObject"]["kind"] == "Deployment"
    ]
    assert told == [f"Scaled up replica set {name} from 0 to 1"]


def test_repeating_the_decision_changes_nothing(world: World) -> None:
    world.make(replicas=2)
    world.run_pods()
    world.alter(template=template("two"))
    world.run_pods()
    revision = world.backend.store.revision
    world.look_again()
    assert world.backend.store.revision == revision
