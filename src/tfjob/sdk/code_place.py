"""Where the replicas find the user's code: in a folder of this machine, or in a cluster.

On this machine, the folder is used in place. A cluster gets a copy of it in a ConfigMap, unless the
code is already in the image or on a volume, which cannot be checked from here. Hidden files, caches
and virtual environments are not copied.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from tfjob.sdk.config_map import LIMIT
from tfjob.sdk.errors import TFJobError

CODE_FOLDER: Final = "/tfjob/code"
"""Where replicas on a cluster find the code."""
_CLAIM: Final = "pvc://"
_CACHES: Final = frozenset({"__pycache__", "node_modules", "site-packages"})
_MAX_FILES: Final = 1000
_REMEDY: Final = (
    "name an image that contains the code with image=… and code=None, or a volume with"
    " code='pvc://CLAIM/FOLDER', or choose a smaller folder with code=…"
)


class CodePlace(msgspec.Struct, frozen=True, kw_only=True):
    is_local: bool
    folder: Path | None = None
    """The folder of this machine; None if the code is elsewhere."""
    volume: str = ""
    """`pvc://CLAIM/FOLDER` if the code is on a volume."""

    @property
    def workdir(self) -> str | None:
        """The working directory of the replicas; None for that of the image."""
        if self.is_local:
            return str(self.folder)
        return CODE_FOLDER if self.folder is not None or self.volume else None

    @property
    def python(self) -> str:
        """The command that starts Python; on this machine that of the caller."""
        return sys.executable if self.is_local else "python"

    def files(self) -> dict[str, bytes]:
        """The files to copy to the cluster, by path."""
        if self.is_local or self.folder is None:
            return {}
        return files_of(self.folder)

    def script(self, path: Path) -> str:
        """The path of a script for the replicas, which start in the working directory."""
        if self.folder is None:
            return str(path)
        found = next((each for each in (self.folder / path, path) if each.is_file()), None)
        if found is None:
            raise TFJobError(
                f"no script {str(path)!r} in {self.folder}", remedy="set code=… to its folder"
            )
        return self._seen_by_replicas(found.resolve(), what=str(path))

    def import_paths(self, root: Path | None, *, what: str) -> list[str]:
        """Folders that replicas must add to `sys.path`; `root` is that of the function's module."""
        if self.folder is None:
            return []
        roots = [Path(each or ".").resolve() for each in sys.path]
        roots = [each for each in roots if each.is_dir() and not _is_installed(each)]
        if self.is_local:
            return [str(each) for each in dict.fromkeys([*([root] if root else []), *roots])]
        if root is not None and not _is_installed(root):
            self._seen_by_replicas(root, what=what)
        inside = [each for each in roots if each.is_relative_to(self.folder)]
        return [each.relative_to(self.folder).as_posix() for each in dict.fromkeys(inside)]

    def _seen_by_replicas(self, path: Path, *, what: str) -> str:
        if self.is_local or self.folder is None:
            return str(path)
        if not path.is_relative_to(self.folder):
            raise TFJobError(
                f"{what} is in {path}, outside of the code folder {self.folder}, so the cluster"
                " would not get it",
                remedy="set code=… to a folder that contains both",
            )
        return path.relative_to(self.folder).as_posix()


def code_place(code: str | Path | None, *, is_local: bool) -> CodePlace:
    text = str(code)
    if code is None or text.startswith(_CLAIM):
        if is_local:
            raise TFJobError(
                f"code={code!r}: on this machine the code is in a folder",
                remedy="set code=… to that folder",
            )
        return CodePlace(is_local=False, volume="" if code is None else text)
    folder = Path(text).expanduser().resolve()
    if not folder.is_dir():
        raise TFJobError(f"code={text!r}: {folder} is not a folder", remedy="create it")
    return CodePlace(is_local=is_local, folder=folder)


def claim_volume(place: str, *, name: str, mount_path: str) -> tuple[Any, Any] | None:
    """The volume and the mount of `pvc://CLAIM/FOLDER`; None if the text is something else."""
    if not place.startswith(_CLAIM):
        return None
    claim, _, subpath = place.removeprefix(_CLAIM).partition("/")
    mount = {"name": name, "mountPath": mount_path}
    volume = {"name": name, "persistentVolumeClaim": {"claimName": claim}}
    return volume, {**mount, "subPath": subpath} if subpath else mount


def _is_installed(folder: Path) -> bool:
    """Whether the folder belongs to a Python installation."""
    prefixes = {Path(each).resolve() for each in (sys.prefix, sys.base_prefix)}
    own = [each / "lib" for each in prefixes]
    return any(folder.is_relative_to(each) for each in own)


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of all files by their path below the folder.

    Raises as soon as the limit is exceeded, so that a home directory given by mistake is not read
    to its end.
    """
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
    """The files in sorted order, so that a folder always gives the same files or the same error."""
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
