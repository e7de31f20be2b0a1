"""Volumes as folders."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.local.node.fake_api import FakeApi
from tests.unit.local.node.fake_api import pod as running_pod
from tests.unit.local.node.whole_node import finished, log_of
from tfjob.local.node.translate import Mount
from tfjob.local.node.volume_files import FetchedObjects, VolumeError
from tfjob.local.node.volumes import (
    discard,
    mounts_of,
    prepare,
    unsupported,
    views_of,
    volume_references,
)

FOUND = FetchedObjects(
    config_maps={"cfg": {"data": {"a.txt": "A", "b.txt": "B"}, "binaryData": {"bin": "AAE="}}},
    secrets={"sec": {"data": {"key": "Z2VoZWlt"}}, "broken": {"data": {"key": "%"}}},
    allocatable={"cpu": "2"},
)


def pod(*volumes: dict[str, Any], **spec: Any) -> dict[str, Any]:
    named = [{"name": "v", **volume} for volume in volumes]
    meta = {"name": "p", "namespace": "ns", "labels": {"role": "ps"}}
    return {"metadata": meta, "spec": {"volumes": named, **spec}}


def place_of(folder: Path, volume: dict[str, Any], **spec: Any) -> Path:
    places = prepare(
        pod(volume, **spec),
        folder=folder / "pod",
        claims=folder / "claims",
        found=FOUND,
        has_claim={"data": True},
    )
    return Path(places["v"])


def files(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("volume", [{"emptyDir": {}}, {}])
def test_an_empty_dir_is_a_folder_of_the_pod(tmp_path: Path, volume: dict[str, Any]) -> None:
    place = place_of(tmp_path, volume)
    assert place == tmp_path / "pod" / "v"
    assert files(place) == {}


def test_an_empty_dir_keeps_its_files_when_prepared_again(tmp_path: Path) -> None:
    (place_of(tmp_path, {"emptyDir": {}}) / "x").write_text("kept")
    assert files(place_of(tmp_path, {"emptyDir": {}})) == {"x": b"kept"}


def test_a_config_map_becomes_files(tmp_path: Path) -> None:
    place = place_of(tmp_path, {"configMap": {"name": "cfg", "defaultMode": 0o444}})
    assert files(place) == {"a.txt": b"A", "b.txt": b"B", "bin": b"\0\1"}
    assert (place / "a.txt").stat().st_mode & 0o777 == 0o400
    place_of(tmp_path, {"configMap": {"name": "cfg", "defaultMode": 0o755}})
    assert (place / "a.txt").stat().st_mode & 0o777 == 0o700


def test_items_choose_rename_and_set_modes(tmp_path: Path) -> None:
    items = [{"key": "a.txt", "path": "deep/x", "mode": 0o600}]
    place = place_of(tmp_path, {"configMap": {"name": "cfg", "items": items}})
    assert files(place) == {"deep/x": b"A"}
    assert (place / "deep" / "x").stat().st_mode & 0o777 == 0o600


def test_a_secret_is_decoded(tmp_path: Path) -> None:
    assert files(place_of(tmp_path, {"secret": {"secretName": "sec"}})) == {"key": b"geheim"}


def test_projected_sources_are_combined(tmp_path: Path) -> None:
    role = {"path": "role", "fieldRef": {"fieldPath": "metadata.labels['role']"}}
    reference = {"containerName": "c", "resource": "limits.cpu"}
    cpu = {"path": "cpu", "resourceFieldRef": reference}
    sources = [
        {"secret": {"name": "sec"}},
        {"configMap": {"name": "cfg", "items": [{"key": "a.txt", "path": "a"}]}},
        {"downwardAPI": {"items": [role, cpu]}},
    ]
    place = place_of(tmp_path, {"projected": {"sources": sources}}, containers=[{"name": "c"}])
    assert files(place) == {"key": b"geheim", "a": b"A", "role": b"ps", "cpu": b"2"}


def test_a_claim_is_a_folder_that_outlives_pods(tmp_path: Path) -> None:
    place = place_of(tmp_path, {"persistentVolumeClaim": {"claimName": "data"}})
    assert place == tmp_path / "claims" / "ns" / "data"
    discard(tmp_path / "pod")
    assert place.is_dir()


def test_a_host_path_is_used_as_it_is(tmp_path: Path) -> None:
    assert place_of(tmp_path, {"hostPath": {"path": "/etc"}}) == Path("/etc")
    made = {"hostPath": {"path": str(tmp_path / "made"), "type": "DirectoryOrCreate"}}
    assert place_of(tmp_path, made).is_dir()


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "none"}}, 'volume "v": configmap "none" not found'),
        ({"secret": {"secretName": "none"}}, 'volume "v": secret "none" not found'),
        ({"secret": {"secretName": "broken"}}, "not base64"),
        (
            {"configMap": {"name": "cfg", "items": [{"key": "no", "path": "x"}]}},
            "has no key 'no'",
        ),
        (
            {"configMap": {"name": "cfg", "items": [{"key": "a.txt", "path": "../x"}]}},
            "without '..'",
        ),
        (
            {"persistentVolumeClaim": {"claimName": "none"}},
            'volume "v": persistentvolumeclaim "none" not found',
        ),
        ({"hostPath": {"path": "/no/such", "type": "Directory"}}, "is not a Directory"),
        ({"hostPath": {"path": "/a/../b"}}, 'must be absolute and without ".."'),
        ({"projected": {"sources": [{"serviceAccountToken": {}}]}}, "serviceAccountToken is not"),
        (
            {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "spec.no"}}]}},
            "unsupported field 'spec.no'",
        ),
    ],
)
def test_a_volume_that_cannot_be_mounted_is_reported(
    tmp_path: Path, volume: dict[str, Any], message: str
) -> None:
    with pytest.raises(VolumeError, match=message):
        place_of(tmp_path, volume)


@pytest.mark.parametrize(
    "source", [{"configMap": {"name": "none", "optional": True}}, {"secret": {"optional": True}}]
)
def test_optional_sources_may_be_missing(tmp_path: Path, source: dict[str, Any]) -> None:
    assert files(place_of(tmp_path, source)) == {}


def mounted(folder: Path, **mount: Any) -> Mount:
    container = {"volumeMounts": [{"name": "v", "mountPath": "/data", **mount}]}
    (only,) = mounts_of(container, {"v": str(folder)}, {"WHO": "me"})
    return only


def test_a_mount_leads_to_the_folder_or_below_it(tmp_path: Path) -> None:
    assert mounted(tmp_path) == Mount("/data", str(tmp_path))
    assert mounted(tmp_path, subPath="a/b") == Mount("/data", str(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b").is_dir()
    assert mounted(tmp_path, subPathExpr="$(WHO)").place == str(tmp_path / "me")


def test_a_sub_path_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "conf").write_text("x")
    assert mounted(tmp_path, subPath="conf").place == str(tmp_path / "conf")


def test_a_mount_cannot_leave_its_volume(tmp_path: Path) -> None:
    with pytest.raises(VolumeError, match=r"without '\.\.'"):
        mounted(tmp_path, subPathExpr="../x")


def test_a_mount_of_an_unknown_volume_is_named(tmp_path: Path) -> None:
    with pytest.raises(VolumeError, match='volumeMount "v": the pod has no volume'):
        mounts_of({"volumeMounts": [{"name": "v", "mountPath": "/x"}]}, {}, {})


def test_unsupported_volumes_are_reported_before_the_start() -> None:
    container = {"volumeMounts": [{"name": "w", "mountPath": "/w", "subPath": "../up"}]}
    by_type, by_path = unsupported(pod({"nfs": {"server": "s"}}, containers=[container]))
    assert by_type.startswith('volume "v": type nfs is not supported on this machine, only empty')
    assert by_path == "volumeMount \"w\": subPath '../up' leaves its volume"


def test_objects_to_fetch_are_listed() -> None:
    sources = [{"configMap": {"name": "c2"}}, {"secret": {"name": "s2"}}]
    asked = volume_references(
        pod(
            {"configMap": {"name": "c1"}},
            {"secret": {"secretName": "s1"}},
            {"projected": {"sources": sources}},
            {"persistentVolumeClaim": {"claimName": "d"}},
        )
    )
    assert asked.config_maps == {"c1", "c2"}
    assert asked.secrets == {"s1", "s2"}
    assert asked.claims == {"d"}


def test_all_files_of_the_pod_are_removed_even_read_only_ones(tmp_path: Path) -> None:
    deep = tmp_path / "pod" / "v" / "locked"
    deep.mkdir(parents=True)
    (deep / "x").write_text("x")
    deep.chmod(0o500)
    discard(tmp_path / "pod")
    assert not (tmp_path / "pod").exists()
    discard(tmp_path / "pod")


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
    one = running_pod("p", "cd /t9k/board && ls", volumes=volumes)
    one["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "v0", "mountPath": "/t9k/board/0-a"},
        {"name": "v1", "mountPath": "/t9k/board/1-b"},
    ]
    api.create(one)
    assert await finished(api) == "Succeeded", log_of(tmp_path, one)
    assert log_of(tmp_path, one).split() == ["0-a", "1-b"]
