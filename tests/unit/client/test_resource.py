"""Paths of API resources."""

from typing import TypeVar

import msgspec
import pytest

from tfjob.client.errors import Forbidden, NotFound
from tfjob.client.resource import LEASES, PODS, Resource, is_served, served_version

T = TypeVar("T")

NODES = Resource("", "v1", "nodes", namespaced=False)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.collection(), "/api/v1/pods"),
        (PODS.collection("ns"), "/api/v1/namespaces/ns/pods"),
        (PODS.item("p", "ns"), "/api/v1/namespaces/ns/pods/p"),
        (PODS.item("p", "ns", subresource="log"), "/api/v1/namespaces/ns/pods/p/log"),
        (
            LEASES.item("l", "ns"),
            "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l",
        ),
        (NODES.item("n"), "/api/v1/nodes/n"),
        (NODES.collection("ignored"), "/api/v1/nodes"),
    ],
)
def test_paths_follow_the_rules_of_kubernetes(path: str, expected: str) -> None:
    assert path == expected


def test_a_name_cannot_lead_to_another_path() -> None:
    assert PODS.item("a/../b?x=1", "n#s") == "/api/v1/namespaces/n%23s/pods/a%2F..%2Fb%3Fx%3D1"


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_is_a_step_in_a_path_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        PODS.item(name, "ns")


def test_a_namespaced_object_needs_its_namespace() -> None:
    with pytest.raises(ValueError, match="a namespace is required"):
        PODS.item("p")


class Discovery:
    """Serves coordination.k8s.io/v1 with leases, and refuses one group."""

    async def get(self, path: str, *, decode: type[T]) -> T:
        if path == "/apis/secret/v1":
            raise Forbidden("no")
        if path != "/apis/coordination.k8s.io/v1":
            raise NotFound("no such group")
        return msgspec.convert({"resources": [{"name": "leases"}]}, decode)


async def test_a_resource_is_served_when_discovery_lists_it() -> None:
    other = Resource("coordination.k8s.io", "v1", "others")
    assert await is_served(Discovery(), LEASES)
    assert not await is_served(Discovery(), other)
    assert not await is_served(Discovery(), Resource("kubeflow.org", "v1", "tfjobs"))


async def test_discovery_that_fails_is_not_taken_for_absence() -> None:
    with pytest.raises(Forbidden):
        await is_served(Discovery(), Resource("secret", "v1", "things"))


class TwoVersions:
    """A server that prefers a version without PodGroups."""

    async def get(self, path: str, *, decode: type[T]) -> T:
        answers = {
            "/apis/scheduling.k8s.io": {"versions": [{"version": "v1"}, {"version": "v1beta1"}]},
            "/apis/scheduling.k8s.io/v1": {"resources": [{"name": "priorityclasses"}]},
            "/apis/scheduling.k8s.io/v1beta1": {"resources": [{"name": "podgroups"}]},
        }
        if path not in answers:
            raise NotFound("no such group")
        return msgspec.convert(answers[path], decode)


async def test_the_version_is_the_first_that_serves_the_resource() -> None:
    group = "scheduling.k8s.io"
    assert await served_version(TwoVersions(), group=group, plural="podgroups") == "v1beta1"
    assert await served_version(TwoVersions(), group=group, plural="others") is None
    assert await served_version(TwoVersions(), group="nothing", plural="podgroups") is None
