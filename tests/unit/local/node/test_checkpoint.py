"""Records of pods on disk."""

from pathlib import Path

import pytest

from tfjob.local.node.checkpoint import (
    ContainerRecord,
    PodFailure,
    PodRecord,
    Running,
    Terminated,
    container_folder,
    load_all,
    save,
)

RECORD = PodRecord(
    namespace="ns",
    name="p",
    uid="u1",
    started_at="2026-01-01T00:00:00Z",
    containers=(
        ContainerRecord(
            name="c",
            state=Running("2026-01-01T00:00:00Z"),
            last=Terminated(exit_code=1, reason="Error"),
            restarts=1,
            pid=4,
            start_time="5",
        ),
    ),
    gpus=("0",),
    verdict=PodFailure("Evicted", "why"),
)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    save(tmp_path, RECORD)
    assert load_all(tmp_path) == {"u1": RECORD}


def test_an_unreadable_record_is_set_aside(tmp_path: Path) -> None:
    save(tmp_path, RECORD)
    (tmp_path / "u1" / "record.json").write_text("{")
    assert load_all(tmp_path) == {}
    assert (tmp_path / "u1" / "record.unreadable").exists()


def test_a_missing_record_is_none(tmp_path: Path) -> None:
    assert load_all(tmp_path / "none") == {}


def test_only_the_owner_can_read_the_folder_of_a_pod(tmp_path: Path) -> None:
    save(tmp_path, RECORD)
    assert (tmp_path / "u1").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["", "..", ".", "a/b", "../x"])
def test_names_that_lead_elsewhere_are_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="one path segment"):
        container_folder(tmp_path, "u1", name)


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
