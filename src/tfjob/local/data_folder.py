"""The data folder of a local cluster: private to one user, used by one process.

A folder that another user owns or can write to is refused before anything in it is read: its token
would let that user run commands as this user. Files and folders are created for their owner alone,
whatever the umask says.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Final

RUN_PREFIX: Final = "tfjob-run-"
"""The prefix of folders for one run; folders that users name are never removed."""
KUBECONFIG: Final = "kubeconfig"
"""The file with which clients connect."""
FORMAT: Final = 1
"""The layout of the data folder; a newer one is left untouched."""
_SECRETS: Final = ("token", "apiserver.key")
_FILES: Final = (
    *_SECRETS,
    "apiserver.crt",
    "format",
    KUBECONFIG,
    "lock",
    "node",
    "objects.sqlite",
    "objects.sqlite-shm",
    "objects.sqlite-wal",
    "tfjob.log",
    "up.log",
)
_GROUP_OR_OTHER_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_GROUP_OR_OTHER: Final = stat.S_IRWXG | stat.S_IRWXO


class DataFolderError(Exception):
    """The data folder cannot be used; the message says why and what to do."""


def state_folder() -> Path:
    """Where tfjob keeps what outlives its processes, for this user."""
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser() / "tfjob"


def default_folder() -> Path:
    """The data folder of the user's local cluster."""
    return state_folder() / "local"


def down_command(folder: Path) -> str:
    """The command that stops the cluster on this folder."""
    place = "" if folder == default_folder() else f" --data {quote(str(folder))}"
    return f"tfjob local down{place}"


def export_line(kubeconfig: Path) -> str:
    """The line for a shell whose commands shall use this cluster."""
    return f"export KUBECONFIG={quote(str(kubeconfig))}"


def prepare(folder: Path) -> None:
    """Create the folder, or refuse one that is not ours alone or that a newer tfjob wrote."""
    try:
        make_folder(folder)
        check(folder)
        _check_format(folder)
        for path, found in _existing(folder):
            _tighten(path, found)
    except OSError as error:
        raise DataFolderError(
            f"{folder}: cannot be used as data folder: {error.strerror}"
        ) from error


def check(folder: Path) -> None:
    """Refuse a folder whose content another user may have written."""
    _check_owner(folder, folder.lstat())  # the link itself, if it is one
    _check_access(folder, folder.stat())
    for path, found in _existing(folder):
        if stat.S_ISLNK(found.st_mode):
            raise DataFolderError(
                f"{path}: is a symbolic link, which is not followed; "
                "remove it, or choose another folder with --data"
            )
        _check_access(path, found)


def _existing(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in (folder / name for name in _FILES):
        with contextlib.suppress(FileNotFoundError):
            yield path, path.lstat()


def _check_access(path: Path, found: os.stat_result) -> None:
    _check_owner(path, found)
    if found.st_mode & _GROUP_OR_OTHER_WRITE:
        raise DataFolderError(
            f"{path}: other users can write to it (mode {stat.S_IMODE(found.st_mode):04o}); "
            f"if you trust it, run `chmod go-w {quote(str(path))}`; "
            "else choose another folder with --data"
        )


def _check_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise DataFolderError(
            f"{path}: belongs to another user (uid {found.st_uid}, not {os.geteuid()}), who could "
            "run commands through it; choose another folder with --data"
        )


def _tighten(path: Path, found: os.stat_result) -> None:
    """Remove other users' access to a file; an exposed secret is deleted and created again."""
    if not found.st_mode & _GROUP_OR_OTHER:
        return
    if path.name in _SECRETS:
        path.unlink()
    else:
        path.chmod(stat.S_IMODE(found.st_mode) & ~_GROUP_OR_OTHER)


def _check_format(folder: Path) -> None:
    try:
        text = (folder / "format").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return
    if text and (not text.isdigit() or int(text) > FORMAT):
        raise DataFolderError(
            f"{folder}: was written by a newer tfjob (format {text}, this one knows {FORMAT}); "
            "use that version, or choose another folder with --data. Nothing was changed"
        )


def lock(folder: Path) -> int:
    """Lock the folder for this process; raises DataFolderError if another process has locked it."""
    handle = open_file(folder / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        pid = os.read(handle, 32).decode(errors="replace").strip()
        os.close(handle)
        raise DataFolderError(
            f"{folder}: a cluster already runs on this folder (process {pid or 'unknown'}); "
            f"end it with `{down_command(folder)}`, or choose another folder with --data"
        ) from error
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()}\n".encode())
    return handle


def lock_holder(folder: Path) -> int | None:
    """The process that runs a cluster on the folder; None if the lock is free."""
    if not folder.exists():
        return None
    check(folder)
    try:
        handle = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        text = os.read(handle, 32).decode(errors="replace").strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(handle)
    return None


def make_folder(path: Path) -> None:
    """Create the folder and its missing parents, open to their owner only."""
    try:
        path.mkdir(mode=0o700)
    except FileNotFoundError:
        make_folder(path.parent)
        make_folder(path)
    except FileExistsError:
        if not path.is_dir():
            raise
    else:
        path.chmod(0o700)  # the umask may have removed owner rights


def open_file(path: Path, flags: int) -> int:
    """Open, or create, a file that its owner alone can read; links are not followed."""
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "it belongs to another user", str(path))
        os.fchmod(handle, 0o600)
    except OSError:
        os.close(handle)
        raise
    return handle


def write_file(path: Path, content: bytes) -> None:
    """Replace the file in one step; its owner alone can read it."""
    draft = path.with_name(f"{path.name}.new")
    try:
        with os.fdopen(open_file(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(content)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):  # the first error matters
            draft.unlink()
        raise


def remove_stale(parent: Path) -> int:
    """Remove folders of runs that were killed before they could clean up; returns how many.

    A folder is removed only if it belongs to this user, a cluster has used it, and its lock is
    free.
    """
    return sum(_remove_if_stale(each) for each in parent.glob(f"{RUN_PREFIX}*"))


def _remove_if_stale(folder: Path) -> bool:
    with contextlib.suppress(OSError):  # Another run removed it first, or it is not ours.
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
