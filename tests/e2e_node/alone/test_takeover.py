"""Jobs that train under the Go training-operator are handed to ours and back.

The commands are those of the installation page. The last test uninstalls the release.
"""

from collections.abc import Iterator

import pytest

from tests.e2e_node.alone.test_control import identities, operator_pods
from tests.support.helm import EVERY_DIALECT
from tests.support.node import peer
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

FOREVER: tuple[str, ...] = ()
NAMES = ("j-chief-0", "j-worker-0", "j-worker-1")


@pytest.fixture
def manifests(cluster: Cluster) -> Iterator[list[Json]]:
    """The manifests of the Go operator; whatever happens, ours is installed afterwards."""
    yield peer.manifests(cluster)
    peer.restore(cluster)


def hand_over(cluster: Cluster) -> None:
    """Follow the page on installing, and install with every kind of job."""
    *steps, delete_objects, delete_roles = commands_of(
        "### Switching without touching running jobs"
    )
    cluster.follow(steps)
    cluster.install(EVERY_DIALECT)
    cluster.follow([delete_objects, delete_roles])


def go_back(cluster: Cluster, manifests: list[Json]) -> None:
    """Follow the same page back; the manifests are at hand as documents."""
    uninstall, apply, _ = commands_of("### Going back")
    assert " apply " in apply
    cluster.follow([uninstall])
    peer.start(cluster, manifests)


def test_jobs_move_to_our_operator_and_back_while_they_train(
    cluster: Cluster, namespace: Namespace, manifests: list[Json]
) -> None:
    cluster.helm.uninstall(namespace=HOME)
    until("our operator is gone", lambda: not operator_pods(cluster))
    peer.start(cluster, manifests)
    namespace.create(tfjob({"Chief": (1, ("--until", END)), "Worker": (2, FOREVER)}))
    namespace.until_running(*NAMES)
    namespace.until_condition("Running")
    before = identities(namespace)

    hand_over(cluster)
    namespace.create(tfjob({"Worker": (1, ("--seconds", "0.1"))}, name="ours"))
    namespace.until_condition("Succeeded", "ours")
    assert before.items() <= identities(namespace).items()

    go_back(cluster, manifests)
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
    assert cluster.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{peer.CRD}")
    assert namespace.job()["metadata"]["name"] == "j"
    assert identities(namespace) == before
    cluster.follow(commands_of("## Install"))
    namespace.until_condition("Running")
    assert identities(namespace) == before
    cluster.install(EVERY_DIALECT)
