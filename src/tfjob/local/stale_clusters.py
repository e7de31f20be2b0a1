"""Folders of local clusters that were killed before they could take theirs away.

Only what is certainly nobody's is touched: a folder of this user that a cluster has used, and whose
lock nobody holds.
"""

import fcntl
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

PREFIX: Final = "tfjob-run-"
"""How folders for one run begin; those that users name themselves are never looked at."""


def remove(parent: Path) -> int:
    """Remove what is left behind in a folder for temporary files; how many there were."""
    return sum(_remove_one(each) for each in parent.glob(f"{PREFIX}*"))


def _remove_one(folder: Path) -> bool:
    with suppress(OSError):  # Another run is quicker, or it is not ours to touch.
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
