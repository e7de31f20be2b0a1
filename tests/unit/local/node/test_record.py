"""What is known of a pod, as values."""

import pytest

from tfjob.local.node.record import ContainerRecord, PodRecord, Running

POD = PodRecord(
    namespace="ns",
    name="p",
    uid="u",
    started_at="2026-01-01T00:00:00Z",
    init=(ContainerRecord(name="i"),),
    containers=(ContainerRecord(name="a"), ContainerRecord(name="b")),
)


@pytest.mark.parametrize("name", ["i", "a", "b"])
def test_one_container_is_replaced_and_the_others_stay(name: str) -> None:
    changed = POD.with_container(ContainerRecord(name=name, state=Running("now"), restarts=2))
    assert changed.container(name).instance == 2
    assert [one.name for one in changed.all_containers] == ["i", "a", "b"]
    others = [one for one in changed.all_containers if one.name != name]
    assert others == [one for one in POD.all_containers if one.name != name]
    assert POD.container(name).restarts == 0
