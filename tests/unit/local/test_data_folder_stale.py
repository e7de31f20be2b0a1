"""Stale folders of killed clusters are removed, and nothing else."""

import fcntl
import os
from pathlib import Path

from tfjob.local import data_folder


def folder(parent: Path, name: str, *files: str) -> Path:
    made = parent / name
    made.mkdir()
    for each in files:
        (made / each).write_text("1\n")
    return made


def test_the_folder_of_a_stopped_cluster_is_removed(tmp_path: Path) -> None:
    left = folder(tmp_path, "tfjob-run-a", "format", "lock", "store.db")
    assert data_folder.remove_stale(tmp_path) == 1
    assert not left.exists()


def test_folder_of_a_running_cluster_stays(tmp_path: Path) -> None:
    used = folder(tmp_path, "tfjob-run-a", "format", "lock")
    handle = os.open(used / "lock", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)
    assert data_folder.remove_stale(tmp_path) == 0
    assert used.exists()
    os.close(handle)


def test_unused_foreign_and_linked_folders_stay(tmp_path: Path) -> None:
    others = [
        folder(tmp_path, "tfjob-run-new"),
        folder(tmp_path, "tfjob-run-x", "lock"),
        folder(tmp_path, "mine", "format", "lock"),
    ]
    elsewhere = folder(tmp_path, "elsewhere", "format", "lock")
    link = tmp_path / "tfjob-run-link"
    link.symlink_to(elsewhere)
    assert data_folder.remove_stale(tmp_path) == 0
    assert all(each.exists() for each in (*others, elsewhere, link))
