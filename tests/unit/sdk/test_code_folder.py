from pathlib import Path

import pytest

from tfjob.sdk.code_folder import files_of
from tfjob.sdk.config_map import LIMIT
from tfjob.sdk.errors import TFJobError


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


def test_a_folder_that_is_too_large_is_told_with_what_helps(tmp_path: Path) -> None:
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
