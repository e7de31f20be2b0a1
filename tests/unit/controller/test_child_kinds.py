"""The API resources of children, and their nouns in messages."""

import pytest

from tests.support.builders import a_job
from tfjob.controller.child_kinds import Kinds
from tfjob.dialects.base import ChildApi, Settings

BOARD = ChildApi("Board", "toy.example", "v1", "boards")
GROUP = ChildApi("PodGroup", "toy.example", "v1", "podgroups")


@pytest.mark.parametrize(
    ("name", "path", "noun"),
    [
        ("Pod", "/api/v1/namespaces/n/pods", "pod"),
        ("Service", "/api/v1/namespaces/n/services", "service"),
        ("Job", "/apis/batch/v1/namespaces/n/jobs", "job"),
        ("Board", "/apis/toy.example/v1/namespaces/n/boards", "board"),
        ("PodGroup", "/apis/toy.example/v1/namespaces/n/podgroups", "PodGroup"),
    ],
)
def test_kind_has_a_resource_and_a_noun(name: str, path: str, noun: str) -> None:
    found = Kinds([BOARD, GROUP]).of(name, a_job())
    assert (found.resource.collection("n"), found.noun) == (path, noun)


@pytest.mark.parametrize(
    ("scheduler", "group"),
    [
        ("volcano", "scheduling.volcano.sh/v1beta1"),
        ("scheduler-plugins-scheduler", "scheduling.x-k8s.io/v1alpha1"),
    ],
)
def test_api_of_a_pod_group_depends_on_its_scheduler(scheduler: str, group: str) -> None:
    job = a_job("W2", Settings(gang_scheduler_name=scheduler))
    path = Kinds().of("PodGroup", job).resource.collection("n")
    assert path == f"/apis/{group}/namespaces/n/podgroups"
