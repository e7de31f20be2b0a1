"""Removes folders of local clusters that were killed before they could clean up.

A folder is removed only if it belongs to this user, a cluster has used it, and its lock is free.
"""

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "tfjob-run-"
"""The prefix of folders for one run; folders that users name are never touched."""


def remove(parent: Path) -> int:
    """Remove stale folders from a folder for temporary files; returns how many there were."""
    return sum(_remove_one(each) for each in parent.glob(f"{PREFIX}*"))


def _remove_one(folder: Path) -> bool:
    with suppress(OSError):  # Another run removed it first, or it is not ours.
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        if not (folder / "format").is_file():
            return False
        handle = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        finally:
            os.close(handle)
        return True
    return False
