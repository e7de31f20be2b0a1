"""Folders above what is mounted, for containers that look at several mounts from one place.

Its law: a folder that this machine has itself is never stood in for; any other that leads to a
mount becomes a folder of links to the mounts below it. It must not know what the mounts hold.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from tfjob.local.data_folder import make_folder
from tfjob.local.node.translate import Mount


def views_of(mounts: Sequence[Mount], *, folder: Path) -> tuple[Mount, ...]:
    """The folders above the mounts, made below `folder`."""
    paths = {mount.mount_path.rstrip("/") for mount in mounts}
    found: dict[str, Mount] = {}
    for mount in mounts:
        above = [parent for parent in _missing_parents(mount) if parent not in paths]
        if above and not _is_inside_another(mount, paths):
            _link(folder / mount.mount_path.strip("/"), mount.place)
        found |= {path: Mount(path, str(folder / path.strip("/"))) for path in above}
    return tuple(found.values())


def _missing_parents(mount: Mount) -> Iterator[str]:
    for parent in PurePosixPath(mount.mount_path.rstrip("/")).parents:
        if not Path(parent).exists():
            yield str(parent)


def _is_inside_another(mount: Mount, paths: set[str]) -> bool:
    """Then its path is below a link, and what it would stand for is another's."""
    parents = PurePosixPath(mount.mount_path.rstrip("/")).parents
    return any(str(parent) in paths for parent in parents)


def _link(path: Path, place: str) -> None:
    make_folder(path.parent)
    if path.is_symlink():
        path.unlink()  # an earlier start may have led elsewhere
    path.symlink_to(place)
