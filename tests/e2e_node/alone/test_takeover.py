"""Jobs that train under the Go training-operator are handed to ours and back.

The commands are those of the installation page. The last test uninstalls the release.
"""

import os
from collections.abc import Iterator

import pytest
import yaml

from tests.e2e_node.alone.test_control import identities, operator_pods
from tests.support.controlplane.endpoint import ApiError
from tests.support.controlplane.toolchain import Toolchain
from tests.support.helm import EVERY_DIALECT
from tests.support.node.client import (
    END,
    HOME,
    Cluster,
    Json,
    Namespace,
    commands_of,
    tfjob,
    until,
)
from tests.support.node.images import PEER

FOREVER: tuple[str, ...] = ()
NAMES = ("j-chief-0", "j-worker-0", "j-worker-1")
CRD = "tfjobs.kubeflow.org"


@pytest.fixture
def peer(cluster: Cluster) -> Iterator[list[Json]]:
    """The manifests of the Go operator, from its own repository; ours is uninstalled meanwhile."""
    folder = Toolchain(os.environ).module_folder("training-operator", "manifests")
    text = cluster.kubectl("kustomize", str(folder / "overlays" / "standalone"))
    documents = [each for each in yaml.safe_load_all(text) if each]
    for each in documents:
        if each["kind"] == "Deployment":
            each["spec"]["template"]["spec"]["containers"][0]["image"] = PEER
    yield documents
    relax(cluster, "restricted")


def relax(cluster: Cluster, level: str) -> None:
    """Set the level of Pod Security of the operators' namespace; the peer needs a low one."""
    label = f"pod-security.kubernetes.io/enforce={level}"
    cluster.kubectl("label", "namespace", HOME, label, "--overwrite")


def apply(cluster: Cluster, documents: list[Json]) -> None:
    text = yaml.safe_dump_all(documents)
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text=text)


def start_peer(cluster: Cluster, documents: list[Json]) -> None:
    relax(cluster, "privileged")
    apply(cluster, documents)
    place = ("-n", HOME)
    cluster.kubectl("scale", *place, "deployment/training-operator", "--replicas=1")
    cluster.kubectl("rollout", "status", *place, "deployment/training-operator", "--timeout=110s")
    until("its webhook answers", lambda: _is_accepted(cluster))


def _is_accepted(cluster: Cluster) -> bool:
    """Whether a job could be created; the webhook's Service has an endpoint a moment later."""
    path = "/apis/kubeflow.org/v1/namespaces/default/tfjobs?dryRun=All"
    try:
        cluster.endpoint.request("POST", path, tfjob({"Worker": (1, FOREVER)}))
    except ApiError as refusal:
        if refusal.status != 500:
            raise
        return False
    return True


def hand_over(cluster: Cluster) -> None:
    """Follow the page on installing, and install with every kind of job."""
    *steps, delete_objects, delete_roles = commands_of(
        "### Switching without touching running jobs"
    )
    cluster.follow(steps)
    cluster.install(EVERY_DIALECT)
    cluster.follow([delete_objects, delete_roles])


def test_jobs_move_to_our_operator_and_back_while_they_train(
    cluster: Cluster, namespace: Namespace, peer: list[Json]
) -> None:
    cluster.helm.uninstall(namespace=HOME)
    until("our operator is gone", lambda: not operator_pods(cluster))
    start_peer(cluster, peer)
    namespace.create(tfjob({"Chief": (1, ("--until", END)), "Worker": (2, FOREVER)}))
    namespace.until_running(*NAMES)
    namespace.until_condition("Running")
    before = identities(namespace)

    hand_over(cluster)
    namespace.create(tfjob({"Worker": (1, ("--seconds", "0.1"))}, name="ours"))
    namespace.until_condition("Succeeded", "ours")
    assert before.items() <= identities(namespace).items()

    cluster.helm.uninstall(namespace=HOME)
    start_peer(cluster, peer)
    namespace.create(tfjob({"Worker": (1, ("--seconds", "0.1"))}, name="theirs"))
    namespace.until_condition("Succeeded", "theirs")
    assert before.items() <= identities(namespace).items()

    hand_over(cluster)
    namespace.end_pod("j-chief-0")
    namespace.until_condition("Succeeded")
    assert before["j-chief-0"] == identities(namespace)["j-chief-0"]


def test_uninstalled_release_leaves_jobs_pods_and_definitions(
    cluster: Cluster, namespace: Namespace
) -> None:
    namespace.create(tfjob({"Worker": (1, FOREVER)}))
    namespace.until_running("j-worker-0")
    before = identities(namespace)
    cluster.follow(commands_of("## Uninstall")[:1])
    until("our operator is gone", lambda: not operator_pods(cluster))
    assert cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}")
    assert namespace.job()["metadata"]["name"] == "j"
    assert identities(namespace) == before
    cluster.follow(commands_of("## Install")[:1])
    namespace.until_condition("Running")
    assert identities(namespace) == before
    cluster.install(EVERY_DIALECT)
