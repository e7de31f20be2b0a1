"""The Deployment controller."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.local.apiserver.controlled import ControlledCluster
from tfjob.local.apiserver.deployment_controller import HASH, RESOURCE, REVISION
from tfjob.local.apiserver.replicaset_controller import RESOURCE as SETS

Json = dict[str, Any]


class Cluster(ControlledCluster):
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
        """Size of each ReplicaSet, by the image of its template."""
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
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "objects.sqlite")


def test_a_deployment_has_one_replica_set_with_its_pods(cluster: Cluster) -> None:
    cluster.make(replicas=2)
    (one,) = cluster.all(SETS)
    mark = one["metadata"]["labels"][HASH]
    assert one["metadata"]["name"] == f"d-{mark}"
    assert one["spec"]["selector"] == {"matchLabels": {"x": "y", HASH: mark}}
    assert all(name.startswith(f"d-{mark}-") for name in cluster.names())
    labels = [pod["metadata"]["labels"] for pod in cluster.all("pods")]
    assert labels == [{"x": "y", HASH: mark}] * 2
    assert one["metadata"]["ownerReferences"][0]["uid"] == cluster.deployment()["metadata"]["uid"]


def test_a_deployment_is_available_when_its_pods_are_ready(cluster: Cluster) -> None:
    cluster.make()
    assert cluster.reasons() == {
        "Available": "MinimumReplicasUnavailable",
        "Progressing": "ReplicaSetUpdated",
    }
    cluster.run_pods()
    assert cluster.counts() == {
        "observedGeneration": 1,
        "replicas": 1,
        "updatedReplicas": 1,
        "readyReplicas": 1,
        "availableReplicas": 1,
        "terminatingReplicas": 0,
    }
    assert cluster.reasons() == {
        "Available": "MinimumReplicasAvailable",
        "Progressing": "NewReplicaSetAvailable",
    }


def test_a_deployment_scales_to_zero_and_back(cluster: Cluster) -> None:
    cluster.make()
    cluster.run_pods()
    cluster.alter(replicas=0)
    assert cluster.all("pods") == []
    assert cluster.counts() == {"observedGeneration": 2, "terminatingReplicas": 0}
    cluster.alter(replicas=3)
    assert len(cluster.pods("Pending")) == 3
    assert len(cluster.all(SETS)) == 1


def test_a_changed_template_gets_new_pods_when_the_old_are_gone(cluster: Cluster) -> None:
    cluster.make()
    pod = cluster.all("pods")[0]
    pod["spec"]["nodeName"] = "n"  # a node needs some time to end it
    cluster.put_pod(pod, phase="Running")
    cluster.alter(template=template("two"))
    assert cluster.sizes() == {"one": 0, "two": 0}
    assert cluster.deployment()["status"]["terminatingReplicas"] == 1
    pod = cluster.all("pods")[0]
    pod["metadata"]["deletionGracePeriodSeconds"] = 0
    cluster.put_pod(pod, phase="Failed")
    cluster.delete("pods", pod["metadata"]["name"])
    assert cluster.sizes() == {"one": 0, "two": 1}
    assert [one["spec"]["containers"][0]["image"] for one in cluster.all("pods")] == ["two"]


def test_a_rollback_uses_the_old_replica_set_with_a_new_revision(cluster: Cluster) -> None:
    cluster.make()
    first = cluster.deployment()["spec"]["template"]
    cluster.alter(template=template("two"))
    assert cluster.deployment()["metadata"]["annotations"][REVISION] == "2"
    cluster.alter(template=first)
    assert cluster.sizes() == {"one": 1, "two": 0}
    assert cluster.deployment()["metadata"]["annotations"][REVISION] == "3"


def test_old_replica_sets_beyond_the_history_limit_are_deleted(cluster: Cluster) -> None:
    cluster.make(revisionHistoryLimit=1)
    for image in ("two", "three", "four"):
        cluster.alter(template=template(image))
    assert cluster.sizes() == {"three": 0, "four": 1}


def test_a_paused_deployment_is_scaled_but_not_rolled_out(cluster: Cluster) -> None:
    cluster.make()
    cluster.alter(paused=True, template=template("two"), replicas=2)
    assert cluster.sizes() == {"one": 2}
    cluster.alter(paused=False)
    assert cluster.sizes() == {"one": 0, "two": 2}


def test_replaced_pods_do_not_restart_the_rollout(cluster: Cluster) -> None:
    cluster.make()
    cluster.run_pods()
    cluster.delete("pods", cluster.names()[0])
    assert cluster.reasons() == {
        "Available": "MinimumReplicasUnavailable",
        "Progressing": "NewReplicaSetAvailable",
    }


def test_a_quarter_of_four_pods_may_be_missing(cluster: Cluster) -> None:
    cluster.make(replicas=4)
    cluster.run_pods()
    cluster.delete("pods", cluster.names()[0])
    assert cluster.counts()["availableReplicas"] == 3
    assert cluster.reasons()["Available"] == "MinimumReplicasAvailable"


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_deleted_deployment_deletes_its_replica_sets_and_pods(
    cluster: Cluster, policy: str
) -> None:
    cluster.make(replicas=2)
    cluster.delete(RESOURCE, "d", policy=policy)
    assert (cluster.all(RESOURCE), cluster.all(SETS), cluster.all("pods")) == ([], [], [])


def test_a_replica_set_of_another_owner_is_left_alone(cluster: Cluster) -> None:
    cluster.make()
    name = cluster.all(SETS)[0]["metadata"]["name"]
    cluster.delete(RESOURCE, "d")
    foreign = {"replicas": 0, "selector": {"matchLabels": {"x": "y"}}, "template": template("own")}
    cluster.create(SETS, {"metadata": {"name": name}, "spec": foreign})
    cluster.make()
    assert (cluster.sizes(), cluster.all("pods")) == ({"own": 0}, [])


def test_scaling_is_reported(cluster: Cluster) -> None:
    cluster.make()
    name = cluster.all(SETS)[0]["metadata"]["name"]
    messages = [
        e["message"] for e in cluster.all("events") if e["involvedObject"]["kind"] == "Deployment"
    ]
    assert messages == [f"Scaled up replica set {name} from 0 to 1"]


def test_repeating_the_decision_changes_nothing(cluster: Cluster) -> None:
    cluster.make(replicas=2)
    cluster.run_pods()
    cluster.alter(template=template("two"))
    cluster.run_pods()
    revision = cluster.backend.store.revision
    cluster.look_again()
    assert cluster.backend.store.revision == revision
