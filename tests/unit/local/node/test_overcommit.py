"""Resources that a node assigns more than once."""

from pathlib import Path

import pytest

from tfjob.k8s.quantity import Quantity
from tfjob.local.node.machine import NodeSettings
from tfjob.local.node.overcommit import Overcommit

NOTHING, GPUS, ALL = Overcommit(), Overcommit(gpus=True), Overcommit(requests=True)


def shortages(how: Overcommit, *, cpu: str = "1", gpus: int, used: dict[str, str]) -> set[str]:
    resources = {"limits": {"cpu": cpu, "nvidia.com/gpu": gpus}}
    pod = {"spec": {"containers": [{"name": "c", "resources": resources}]}}

    def amounts(texts: dict[str, str]) -> dict[str, Quantity]:
        return NodeSettings(data=Path(), workdir=Path(), allocatable=texts).amounts

    return set(
        how.shortages(
            pod,
            used=amounts(used),
            allocatable=amounts({"cpu": "2", "pods": "2", "nvidia.com/gpu": "2"}),
        )
    )


@pytest.mark.parametrize(
    ("how", "expected"),
    [(NOTHING, {"cpu", "nvidia.com/gpu"}), (GPUS, {"cpu"}), (ALL, set())],
)
def test_resources_in_use_count_unless_they_are_shared(how: Overcommit, expected: set[str]) -> None:
    assert shortages(how, gpus=1, used={"cpu": "2", "nvidia.com/gpu": "2"}) == expected


def test_sharing_does_not_allow_more_gpus_than_the_machine_has() -> None:
    assert shortages(GPUS, gpus=3, used={}) == {"nvidia.com/gpu"}
    assert shortages(ALL, gpus=3, used={}) == set()


def test_the_number_of_pods_stays_limited() -> None:
    assert shortages(ALL, gpus=0, used={"pods": "2"}) == {"pods"}


@pytest.mark.parametrize(
    ("how", "count", "expected"),
    [
        (NOTHING, 2, None),
        (NOTHING, 1, ("b",)),
        (GPUS, 2, ("b", "a")),
        (GPUS, 3, None),
        (ALL, 3, ("b", "a")),
        (ALL, 0, ()),
    ],
)
def test_the_gpu_with_the_fewest_users_comes_first(
    how: Overcommit, count: int, expected: tuple[str, ...] | None
) -> None:
    assert how.gpus_for(count, every=["a", "b"], taken=["a"]) == expected


def test_a_machine_without_gpus_assigns_none() -> None:
    assert ALL.gpus_for(8, every=[], taken=[]) == ()
    assert GPUS.gpus_for(1, every=[], taken=[]) is None
