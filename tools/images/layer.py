"""Layers of an image: what a step added to a file system, as a tar file with its digest.

A layer is the upper folder of an overlay mount. The same files give the same bytes: entries are
sorted, belong to root and keep their times, against which Python checks its bytecode.
"""

import hashlib
import os
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path

_OPAQUE = "trusted.overlay.opaque"


@dataclass(frozen=True)
class Layer:
    """An uncompressed tar file; its digest names it in image and configuration alike."""

    path: Path
    digest: str

    @property
    def size(self) -> int:
        return self.path.stat().st_size


def layer_of(archive: Path) -> Layer:
    """The layer in a tar file; its digest is computed once and kept beside it."""
    note = archive.with_name(f"{archive.name}.sha256")
    if not note.exists():
        note.write_text(_digest(archive))
    return Layer(archive, note.read_text())


def pack(changes: Path, archive: Path) -> None:
    """Write the upper folder of an overlay as a layer, deletions included."""
    draft = archive.with_suffix(f".{os.getpid()}")
    with tarfile.open(draft, "w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(changes.rglob("*")):
            _add(tar, path, path.relative_to(changes).as_posix())
    draft.rename(archive)


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    status = path.lstat()
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
        deleted = Path(name)
        tar.addfile(tarfile.TarInfo(str(deleted.with_name(f".wh.{deleted.name}"))))
        return
    found = tar.gettarinfo(path, name)
    entry = found.replace(uid=0, gid=0, uname="root", gname="root", deep=False)
    if entry.isreg() or entry.islnk():
        # Not a hard link: the file that it leads to may be in a lower layer.
        entry.type, entry.size = tarfile.REGTYPE, status.st_size
        with path.open("rb") as content:
            tar.addfile(entry, content)
    else:
        tar.addfile(entry)
    if entry.isdir() and _is_opaque(path):
        tar.addfile(tarfile.TarInfo(f"{name}/.wh..wh..opq"))


def _is_opaque(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE) == b"y"
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"
