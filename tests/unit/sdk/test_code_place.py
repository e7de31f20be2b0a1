import sys
from pathlib import Path

import pytest

from tfjob.sdk.code_place import CODE_FOLDER, claim_volume, code_place, files_of
from tfjob.sdk.config_map import LIMIT
from tfjob.sdk.errors import TFJobError


def test_on_this_machine_the_folder_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    place = code_place(tmp_path, is_local=True)
    assert place.workdir == str(tmp_path)
    assert place.files() == {}
    assert place.python == sys.executable
    assert place.script(Path("train.py")) == str(tmp_path / "train.py")


def test_a_cluster_gets_a_copy_with_relative_paths(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "train.py").touch()
    place = code_place(tmp_path, is_local=False)
    assert place.workdir == CODE_FOLDER
    assert place.files() == {"sub/train.py": b""}
    assert place.python == "python"
    assert place.script(Path("sub/train.py")) == "sub/train.py"


def test_code_outside_of_the_folder_is_an_error_for_a_cluster(tmp_path: Path) -> None:
    folder, other = tmp_path / "code", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    (other / "train.py").touch()
    place = code_place(folder, is_local=False)
    with pytest.raises(TFJobError, match="outside of the code folder"):
        place.script(other / "train.py")
    with pytest.raises(TFJobError, match="outside of the code folder"):
        place.import_paths(other, what="train")
    here = code_place(folder, is_local=True)
    assert str(other) in here.import_paths(other, what="train")


def test_code_in_the_image_or_on_a_volume_is_taken_as_it_is() -> None:
    image = code_place(None, is_local=False)
    volume = code_place("pvc://claim/project", is_local=False)
    assert (image.workdir, image.files(), image.script(Path("a/b.py"))) == (None, {}, "a/b.py")
    assert (volume.workdir, volume.files()) == (CODE_FOLDER, {})
    assert image.import_paths(Path("/somewhere"), what="train") == []


@pytest.mark.parametrize("code", [None, "pvc://claim", "/nothing/like/this"])
def test_without_a_folder_nothing_runs_on_this_machine(code: str | None) -> None:
    with pytest.raises(TFJobError, match="folder"):
        code_place(code, is_local=True)


def test_a_claim_is_a_volume_and_a_mount() -> None:
    assert claim_volume("/tmp/x", name="v", mount_path="/m") is None  # noqa: S108 - not opened
    volume, mount = claim_volume("pvc://data/a/b", name="v", mount_path="/m") or ({}, {})
    assert volume == {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    assert mount == {"name": "v", "mountPath": "/m", "subPath": "a/b"}


def put(folder: Path, *names: str) -> None:
    for each in names:
        path = folder / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(each)


def test_code_and_data_are_sent_but_no_secrets_caches_and_environments(tmp_path: Path) -> None:
    put(tmp_path, "train.py", "package/model.py", "package/size.json")
    put(tmp_path, ".env", ".git/config", "package/__pycache__/model.pyc")
    put(tmp_path, "venv/pyvenv.cfg", "venv/lib/x.py", "node_modules/x.js")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    assert sorted(files_of(tmp_path)) == ["package/model.py", "package/size.json", "train.py"]


def test_folder_that_is_too_large_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    put(tmp_path, "a.py")
    (tmp_path / "model.bin").write_bytes(b"x" * LIMIT)
    with pytest.raises(TFJobError) as caught:
        files_of(tmp_path)
    assert "model.bin" in caught.value.cause
    assert "nothing was created" in caught.value.cause
    assert "image=" in caught.value.remedy
    assert "pvc://" in caught.value.remedy


def test_a_folder_of_very_many_files_is_not_searched_to_its_end(tmp_path: Path) -> None:
    put(tmp_path, *(f"{number:04}" for number in range(1001)))
    with pytest.raises(TFJobError, match="1001 files"):
        files_of(tmp_path)
