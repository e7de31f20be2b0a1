"""The files of a folder with code, as they are sent to a cluster.

Hidden files, caches and virtual environments stay here. The search stops as soon as the limit is
exceeded, so that a home directory by mistake costs no time.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tfjob.sdk.config_map import LIMIT
from tfjob.sdk.errors import TFJobError

_CACHES: Final = frozenset({"__pycache__", "node_modules", "site-packages"})
_MAX_FILES: Final = 1000
_REMEDY: Final = (
    "name an image that contains the code with image=… and code=None, or a volume with"
    " code='pvc://CLAIM/FOLDER', or choose a smaller folder with code=…"
)


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of all files by their path below the folder."""
    found: dict[str, bytes] = {}
    size = 0
    for path in _paths(folder):
        name = path.relative_to(folder).as_posix()
        size += path.stat().st_size
        if size > LIMIT or len(found) == _MAX_FILES:
            raise TFJobError(
                f"{folder}: the code does not fit into a ConfigMap of {LIMIT} bytes and"
                f" {_MAX_FILES} files (at {name}, {len(found) + 1} files and {size} bytes so far);"
                " nothing was created",
                remedy=_REMEDY,
            )
        found[name] = path.read_bytes()
    return found


def _paths(folder: Path) -> Iterator[Path]:
    """Sorted, so that the same folder always gives the same files and the same error."""
    for root, folders, files in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(each for each in folders if _is_code(here / each))
        for each in sorted(files):
            path = here / each
            if not each.startswith(".") and path.is_file():
                yield path


def _is_code(folder: Path) -> bool:
    is_left_out = folder.name.startswith(".") or folder.name in _CACHES
    return not is_left_out and not (folder / "pyvenv.cfg").exists()
