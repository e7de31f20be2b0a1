"""Real mount paths for one process, in a user and mount namespace of its own.

The root becomes a read-only copy of the machine's root in which the missing folders exist: every
other folder is the machine's own. Every supervisor process may import this module, so it uses only
cheap parts of the standard library.
"""

from __future__ import annotations

import ctypes
import os

TYPE_CHECKING = False  # avoids the cost of importing typing in every supervisor
if TYPE_CHECKING:
    from collections.abc import Callable

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT = 1, 2, 4, 32
MS_BIND, MS_REC, MS_SLAVE = 4096, 16384, 1 << 19
MNT_DETACH = 2


def can_be_mounted(path: str) -> bool:
    """Whether a process can have something at this path that it does not have now.

    A path that the machine has itself is left alone, and so is one below a folder in which this
    user can create files: whatever a program writes there must stay on the machine. So is one that
    leads over a link.
    """
    path = path.rstrip("/")
    if os.path.lexists(path) or os.path.realpath(path) != path:
        return False
    folder = _existing_parent(path)
    while not os.access(folder, os.W_OK):
        if folder == "/":
            return True
        folder = os.path.dirname(folder)  # noqa: PTH120 - plain strings keep this start-up cheap
    return False


def enter(libc: ctypes.CDLL, *, root: str, mounts: list[list[str]]) -> None:
    """Move this process into namespaces where each path leads to its place.

    `root` is an empty folder. After an error, which is an OSError, the process must not go on.
    """
    wanted = sorted((path.rstrip("/"), place) for path, place in mounts)
    _unshare(libc)
    # Later mounts of the machine appear here, too; those made here stay here.
    _mount(libc, None, "/", flags=MS_REC | MS_SLAVE)
    _mount(libc, "tmpfs", root, kind="tmpfs", flags=MS_NOSUID | MS_NODEV)
    _copy(libc, "", root=root, missing=[path for path, _ in wanted])
    for path, place in wanted:
        _make_target(root + path, place)
        _mount(libc, place, root + path, flags=MS_BIND | MS_REC)
    old = f"{root}/.old"
    os.mkdir(old)  # noqa: PTH102 - plain strings keep this start-up cheap
    _call(libc.pivot_root, root.encode(), old.encode())
    os.chdir("/")
    _call(libc.umount2, b"/.old", MNT_DETACH)
    os.rmdir("/.old")  # noqa: PTH106 - as above
    _mount(libc, None, "/", flags=MS_REMOUNT | MS_BIND | MS_RDONLY)


class Namespaces:
    """The namespaces of another process, for a child of this one to join."""

    def __init__(self, pid: int) -> None:
        """Raises OSError if the process is gone or belongs to another user."""
        self._handles = {
            kind: os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
            for name, kind in (("user", CLONE_NEWUSER), ("mnt", CLONE_NEWNS))
            if os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")  # noqa: PTH115
        }

    def __bool__(self) -> bool:
        return bool(self._handles)

    def join(self, folder: str) -> None:
        """Move this process, which has one thread, into them and into a folder there."""
        libc = ctypes.CDLL(None, use_errno=True)
        for kind, handle in self._handles.items():
            _call(libc.setns, handle, kind)
        os.chdir(folder)

    def close(self) -> None:
        for handle in self._handles.values():
            os.close(handle)


def _unshare(libc: ctypes.CDLL) -> None:
    uid, gid = os.getuid(), os.getgid()
    _call(libc.unshare, CLONE_NEWNS | CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        handle = os.open(f"/proc/self/{name}", os.O_WRONLY)
        try:
            os.write(handle, text.encode())
        finally:
            os.close(handle)


def _copy(libc: ctypes.CDLL, folder: str, *, root: str, missing: list[str]) -> None:
    """Fill the copy of a folder; one above a missing path is copied, too, others are mounted."""
    for name in os.listdir(folder or "/"):  # noqa: PTH208 - as above
        source = f"{folder}/{name}"
        target = root + source
        if os.path.islink(source):  # noqa: PTH114 - as above
            os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211 - as above
        elif any(path.startswith(f"{source}/") for path in missing):
            os.mkdir(target)  # noqa: PTH102 - as above
            _copy(libc, source, root=root, missing=missing)
        else:
            _make_target(target, source)
            _mount(libc, source, target, flags=MS_BIND | MS_REC)


def _make_target(target: str, source: str) -> None:
    """What a mount needs to be put on: a folder or a file, as its source is."""
    if os.path.isdir(source):  # noqa: PTH112 - as above
        os.makedirs(target, exist_ok=True)  # noqa: PTH103 - as above
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120 - as above
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600))


def _existing_parent(path: str) -> str:
    while not os.path.lexists(path):
        path = os.path.dirname(path)  # noqa: PTH120 - as above
    return path


def _mount(
    libc: ctypes.CDLL, source: str | None, target: str, *, kind: str | None = None, flags: int
) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    _call(libc.mount, *words, ctypes.c_ulong(flags), None)


def _call(function: Callable[..., int], *arguments: object) -> None:
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
