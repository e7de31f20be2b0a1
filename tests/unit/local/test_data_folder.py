import asyncio
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster_in_process import cluster_on
from tests.unit.local.node.fake_api import until
from tfjob.client.http import PartialObjectMetadata
from tfjob.local.apiserver.server import ApiServer
from tfjob.local.data_folder import DataFolderError, lock_holder, make_folder, prepare, write_file

NOBODY = 65534
SECRETS = "/api/v1/namespaces/default/secrets"
PODS = "/api/v1/namespaces/default/pods"
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture(params=[0o000, 0o022, 0o277])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """Everything below the folder to which users other than its owner have any access."""
    found = [each for each in [folder, *folder.rglob("*")] if not each.is_symlink()]
    return [str(each) for each in found if each.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]


def hand_over(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


@only_root
async def test_a_folder_of_another_user_is_rejected_before_its_token_is_read(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "token").write_text("known\n")
    hand_over(data)
    for use in (prepare, cluster_on, lock_holder):
        with pytest.raises(DataFolderError, match=f"{data}: belongs to another user .uid {NOBODY}"):
            use(data)
    with pytest.raises(DataFolderError, match="choose another folder with --data"):
        await ApiServer(data).start()
    assert sorted(each.name for each in data.iterdir()) == ["token"]


@only_root
@pytest.mark.parametrize("name", ["token", "objects.sqlite", "lock", "kubeconfig", "node"])
def test_a_file_of_another_user_in_our_folder_is_rejected(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("theirs")
    hand_over(tmp_path / name)
    with pytest.raises(DataFolderError, match=f"{tmp_path / name}: belongs to another user"):
        prepare(tmp_path)


@only_root
def test_a_link_of_another_user_to_our_folder_is_rejected(tmp_path: Path) -> None:
    prepare(tmp_path / "data")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    hand_over(tmp_path / "link")
    with pytest.raises(DataFolderError, match="link: belongs to another user"):
        prepare(tmp_path / "link")


@only_root
def test_another_user_cannot_look_into_our_folder() -> None:
    program = (
        f"import os, sys; os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "try: print(os.listdir(sys.argv[1]))\n"
        "except PermissionError: print('refused')"
    )
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        data = Path(parent) / "data"
        asyncio.run(_started_and_stopped(data))
        words = [sys.executable, "-c", program, str(data)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"


async def _started_and_stopped(data: Path) -> None:
    async with ApiServer(data):
        pass


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_folder_that_others_can_write_to_is_rejected(tmp_path: Path, mode: int) -> None:
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(mode)
    with pytest.raises(DataFolderError) as error:
        prepare(data)
    assert f"{data}: other users can write to it (mode {mode:04o})" in str(error.value)
    assert f"chmod go-w {data}" in str(error.value)


def test_our_own_link_to_our_own_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    prepare(tmp_path / "link")


@pytest.mark.parametrize("name", ["token", "objects.sqlite", "tfjob.log", "format", "node"])
def test_a_link_inside_the_folder_is_rejected(tmp_path: Path, name: str) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (tmp_path / "elsewhere").write_text("kept")
    (data / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataFolderError, match=f"{data / name}: is a symbolic link"):
        prepare(data)
    assert (tmp_path / "elsewhere").read_text() == "kept"


def test_a_folder_that_cannot_be_made_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(tmp_path / "missing")
    (tmp_path / "file").touch()
    for folder in (tmp_path / "data", tmp_path / "file" / "data"):
        with pytest.raises(DataFolderError, match=f"{folder}: cannot be used as data folder"):
            prepare(folder)


async def test_a_token_that_others_could_read_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("known\n")
    (tmp_path / "token").chmod(0o644)
    async with ApiServer(tmp_path, tls=False) as server:
        assert "known" not in server.token
        assert len(server.token) > 30


async def test_files_of_an_earlier_version_are_closed_to_others(tmp_path: Path) -> None:
    async with ApiServer(tmp_path, tls=False):
        pass
    for path in (tmp_path / "objects.sqlite", tmp_path / "kubeconfig"):
        path.chmod(0o644)
    async with ApiServer(tmp_path, tls=False):
        assert open_to_others(tmp_path) == []


async def test_nothing_in_the_folder_is_open_to_others(tmp_path: Path, umask: int) -> None:
    data = tmp_path / "a" / "data"
    async with cluster_on(data, {"PATH": os.environ["PATH"]}) as up:
        secret = {"metadata": {"name": "s"}, "data": {"key": "cGFzcw=="}}
        await up.api.create(SECRETS, secret, decode=PartialObjectMetadata)
        await up.api.create(PODS, _pod(), decode=PartialObjectMetadata)
        await until(lambda: list(data.glob("node/pods/*/containers/main/0.log")), "the pod's log")
        names = {each.name for each in data.rglob("*")}
        assert {"objects.sqlite-wal", "token", "kubeconfig", "record.json", "key"} <= names
        assert open_to_others(tmp_path / "a") == []
    assert open_to_others(tmp_path / "a") == []


def _pod() -> dict[str, object]:
    mounts = [
        {"name": "secret", "mountPath": "/secret"},
        {"name": "scratch", "mountPath": "/scratch", "subPath": "deep/er"},
    ]
    container = {
        "name": "main",
        "image": "none",
        "command": ["sh", "-c", "cat /secret/key; sleep 60"],
        "volumeMounts": mounts,
    }
    volumes = [
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "scratch", "emptyDir": {}},
    ]
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], "volumes": volumes}}


def test_missing_parents_are_closed_to_others_too(tmp_path: Path, umask: int) -> None:
    make_folder(tmp_path / "a" / "b" / "c")
    write_file(tmp_path / "a" / "b" / "file", b"text")
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a" / "b" / "file").stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "other").touch()
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path / "file", b"secret")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
