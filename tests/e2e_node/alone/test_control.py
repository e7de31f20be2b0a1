"""Parts of the cluster go away while jobs train; no pod of a job is touched."""

import time

from tests.support.helm import EVERY_DIALECT
from tests.support.node.client import HOME, Cluster, Json, Namespace, conditions_of, tfjob, until
from tests.support.node.machine import NODE

FOREVER: tuple[str, ...] = ()
NAMES = ("j-chief-0", "j-worker-0", "j-worker-1")


def train(namespace: Namespace) -> dict[str, tuple[str, int]]:
    """Start a job with a chief and two workers; identity and restarts of its pods."""
    namespace.create(tfjob({"Chief": (1, FOREVER), "Worker": (2, FOREVER)}))
    namespace.until_running(*NAMES)
    namespace.until_condition("Running")
    return identities(namespace)


def identities(namespace: Namespace) -> dict[str, tuple[str, int]]:
    return {
        name: (pod["metadata"]["uid"], sum(each["restartCount"] for each in _containers(pod)))
        for name, pod in namespace.pods().items()
    }


def _containers(pod: Json) -> list[Json]:
    found: list[Json] = pod["status"].get("containerStatuses", [])
    return found


def operator_pods(cluster: Cluster) -> list[str]:
    query = "labelSelector=control-plane%3Dkubeflow-training-operator"
    items = cluster.get(f"/api/v1/namespaces/{HOME}/pods?{query}")["items"]
    return [each["metadata"]["name"] for each in items]


def works_again(cluster: Cluster, namespace: Namespace) -> None:
    """A new job succeeds, which shows that the operator leads and watches."""
    name = f"new-{len(namespace.pods())}"
    namespace.create(tfjob({"Worker": (1, ("--seconds", "0.1"))}, name=name))
    namespace.until_condition("Succeeded", name)


def test_killed_operator_comes_back_and_touches_nothing(
    cluster: Cluster, namespace: Namespace
) -> None:
    before = train(namespace)
    for name in operator_pods(cluster):
        path = f"/api/v1/namespaces/{HOME}/pods/{name}?gracePeriodSeconds=0"
        cluster.endpoint.request("DELETE", path)
    works_again(cluster, namespace)
    assert before.items() <= identities(namespace).items()


def test_upgraded_operator_touches_nothing(cluster: Cluster, namespace: Namespace) -> None:
    before = train(namespace)
    old = operator_pods(cluster)
    cluster.install(EVERY_DIALECT, "logging.level=debug")
    until("the old pod is gone", lambda: not set(old) & set(operator_pods(cluster)))
    works_again(cluster, namespace)
    assert before.items() <= identities(namespace).items()


def test_api_server_that_was_away_finds_every_pod_as_it_was(
    cluster: Cluster, namespace: Namespace
) -> None:
    before = train(namespace)
    with cluster.without("kube-apiserver"):
        time.sleep(20)
    works_again(cluster, namespace)
    assert before.items() <= identities(namespace).items()


def test_kubelet_that_was_away_finds_every_pod_as_it_was(
    cluster: Cluster, namespace: Namespace
) -> None:
    before = train(namespace)
    with cluster.without("kubelet"):
        time.sleep(10)
    works_again(cluster, namespace)
    assert before.items() <= identities(namespace).items()


def test_drained_node_gets_its_replicas_back(cluster: Cluster, namespace: Namespace) -> None:
    namespace.create(tfjob({"Chief": (1, FOREVER), "Worker": (2, ("--on-term", "0"))}))
    pods = namespace.until_running(*NAMES)
    words = ("--pod-selector=training.kubeflow.org/job-name=j", "--force", "--timeout=90s")
    try:
        cluster.kubectl("drain", NODE, "--delete-emptydir-data", *words)
        until("the replicas wait for a node", lambda: _are_waiting(namespace))
    finally:
        cluster.kubectl("uncordon", NODE)
    for name in NAMES:
        namespace.until_replaced(name, pods[name]["metadata"]["uid"])
    job = namespace.until_condition("Running")
    assert "Succeeded" not in conditions_of(job)


def _are_waiting(namespace: Namespace) -> bool:
    pods = namespace.pods()
    return all(name in pods and "nodeName" not in pods[name]["spec"] for name in NAMES)
