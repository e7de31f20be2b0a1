"""Folders above what is mounted."""

from pathlib import Path

from tests.unit.local.node.fake_api import FakeApi, pod
from tests.unit.local.node.whole_node import finished, log_of
from tfjob.local.node.translate import Mount
from tfjob.local.node.views import views_of


def place(folder: Path, name: str) -> str:
    made = folder / "places" / name
    made.mkdir(parents=True)
    (made / "file").write_text(name)
    return str(made)


def test_mounts_are_found_from_the_folders_above_them(tmp_path: Path) -> None:
    mounts = (
        Mount("/none-such/logs/0-a", place(tmp_path, "a")),
        Mount("/none-such/logs/1-b/", place(tmp_path, "b")),
    )
    for _ in range(2):  # a second start finds the links of the first
        views = views_of(mounts, folder=tmp_path / "view")
    assert {view.mount_path for view in views} == {"/none-such", "/none-such/logs"}
    assert sorted(p.name for p in (tmp_path / "view/none-such/logs").iterdir()) == ["0-a", "1-b"]
    assert (tmp_path / "view/none-such/logs/1-b/file").read_text() == "b"


def test_a_folder_of_this_machine_is_left_alone(tmp_path: Path) -> None:
    mounts = (Mount(str(tmp_path / "data"), place(tmp_path, "a")), Mount("/data-of-none", "/x"))
    assert views_of(mounts, folder=tmp_path / "view") == ()


def test_a_mount_inside_another_stays_where_it_is(tmp_path: Path) -> None:
    outer = place(tmp_path, "outer")
    mounts = (Mount("/none-such/a", outer), Mount("/none-such/a/b/c", place(tmp_path, "inner")))
    views_of(mounts, folder=tmp_path / "view")
    assert sorted(path.name for path in Path(outer).iterdir()) == ["file"]


async def test_a_container_sees_its_mounts_side_by_side(api: FakeApi, tmp_path: Path) -> None:
    api.claims |= {"ns/a": {}, "ns/b": {}}
    claims = [("v0", "a"), ("v1", "b")]
    volumes = [{"name": v, "persistentVolumeClaim": {"claimName": c}} for v, c in claims]
    one = pod("p", "cd /t9k/board && ls", volumes=volumes)
    one["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "v0", "mountPath": "/t9k/board/0-a"},
        {"name": "v1", "mountPath": "/t9k/board/1-b"},
    ]
    api.create(one)
    assert await finished(api) == "Succeeded", log_of(tmp_path, one)
    assert log_of(tmp_path, one).split() == ["0-a", "1-b"]
