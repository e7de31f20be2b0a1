"""Volumes as folders of this machine, and the mounts of containers.

emptyDir, ConfigMap, Secret and similar volumes live in the pod's folder and are removed with it;
folders of claims and host paths stay. No path leads out of its volume. `readOnly` is not enforced.
"""

import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from tfjob.local.data_folder import make_folder, write_file
from tfjob.local.node.checkpoint import safe_name
from tfjob.local.node.environment import expand
from tfjob.local.node.translate import Mount
from tfjob.local.node.volume_files import (
    FetchedObjects,
    FileSource,
    VolumeError,
    checked_path,
    files_of,
)

Json = Mapping[str, Any]
FILE_VOLUMES = ("configMap", "secret", "downwardAPI", "projected")
SUPPORTED = ("emptyDir", "hostPath", "persistentVolumeClaim", *FILE_VOLUMES)


class VolumeReferences(msgspec.Struct, frozen=True):
    """Names of the objects that a pod's volumes refer to."""

    config_maps: frozenset[str]
    secrets: frozenset[str]
    claims: frozenset[str]


def kind_of(volume: Json) -> str:
    """The type of a volume; emptyDir if it has none."""
    return next((key for key in volume if key != "name"), "emptyDir")


def volumes_of(pod: Json) -> list[Json]:
    return list((pod.get("spec") or {}).get("volumes") or ())


def unsupported(pod: Json) -> list[str]:
    """Why the pod's volumes can never work here."""
    faults = [
        f'volume "{volume.get("name")}": type {kind_of(volume)} is not supported on this machine, '
        f"only {', '.join(SUPPORTED)}"
        for volume in volumes_of(pod)
        if kind_of(volume) not in SUPPORTED
    ]
    spec = pod.get("spec") or {}
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        for mount in container.get("volumeMounts") or ():
            path = str(mount.get("subPath") or mount.get("subPathExpr") or "")
            if ".." in PurePosixPath(path).parts or path.startswith("/"):
                faults.append(
                    f'volumeMount "{mount.get("name")}": subPath {path!r} leaves its volume'
                )
    return faults


def volume_references(pod: Json) -> VolumeReferences:
    """The objects to fetch before the volumes can be made."""
    maps, secrets, claims = set(), set(), set()
    for volume in volumes_of(pod):
        for source in sources_of(volume):
            maps.add((source.get("configMap") or {}).get("name"))
            secret = source.get("secret") or {}
            secrets.add(secret.get("secretName") or secret.get("name"))
        claims.add((volume.get("persistentVolumeClaim") or {}).get("claimName"))
    named = [frozenset(str(name) for name in names if name) for names in (maps, secrets, claims)]
    return VolumeReferences(*named)


def sources_of(volume: Json) -> Iterator[Json]:
    """The volume itself, or its projected sources."""
    projected = volume.get("projected")
    yield from [volume] if projected is None else (projected.get("sources") or ())


def prepare(
    pod: Json, *, folder: Path, claims: Path, found: FetchedObjects, has_claim: Mapping[str, bool]
) -> dict[str, str]:
    """Create the pod's volumes; returns their local paths by name."""
    places = {}
    for volume in volumes_of(pod):
        name = safe_name(str(volume.get("name")))
        kind = kind_of(volume)
        if kind == "hostPath":
            place = _host_path(name, volume["hostPath"])
        elif kind == "persistentVolumeClaim":
            place = _claim(name, volume[kind], root=claims / _namespace(pod), known=has_claim)
        else:
            place = folder / name
            make_folder(place)
            if kind in FILE_VOLUMES:
                _write_files(volume, pod=pod, place=place, found=found)
        places[name] = str(place)
    return places


def mounts_of(
    container: Json, places: Mapping[str, str], variables: Mapping[str, str]
) -> tuple[Mount, ...]:
    """The container's mounts as local paths."""
    mounts = []
    for mount in container.get("volumeMounts") or ():
        name = str(mount.get("name"))
        if name not in places:
            raise VolumeError(f'volumeMount "{name}": the pod has no volume of this name')
        path = str(mount.get("subPath") or expand(str(mount.get("subPathExpr") or ""), variables))
        place = Path(places[name])
        if path:
            place = place / checked_path(path)
            if not place.exists():
                make_folder(place)
        mounts.append(Mount(str(mount.get("mountPath")), str(place)))
    return tuple(mounts)


def discard(folder: Path) -> None:
    """Remove the folder with its content; it may be gone already."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except PermissionError:
        _make_removable(folder)
        shutil.rmtree(folder)


def _make_removable(folder: Path) -> None:
    """Give the owner write access again, which a job may have removed."""
    folder.chmod(0o700)
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            _make_removable(entry)


def _namespace(pod: Json) -> str:
    return safe_name(str(pod["metadata"].get("namespace") or "default"))


def _host_path(name: str, source: Json) -> Path:
    place, kind = Path(str(source.get("path"))), str(source.get("type") or "")
    if not place.is_absolute() or ".." in place.parts:
        raise VolumeError(f'volume "{name}": hostPath {place} must be absolute and without ".."')
    if kind == "DirectoryOrCreate":
        place.mkdir(parents=True, exist_ok=True)
    if kind == "FileOrCreate":
        place.touch()
    if (kind.startswith("Directory") and not place.is_dir()) or (
        kind.startswith("File") and not place.is_file()
    ):
        raise VolumeError(f'volume "{name}": hostPath type check failed: {place} is not a {kind}')
    return place


def _claim(name: str, source: Json, *, root: Path, known: Mapping[str, bool]) -> Path:
    claim = safe_name(str(source.get("claimName")))
    if not known.get(claim):
        raise VolumeError(f'volume "{name}": persistentvolumeclaim "{claim}" not found')
    place = root / claim
    make_folder(place)
    return place


def _write_files(volume: Json, *, pod: Json, place: Path, found: FetchedObjects) -> None:
    kind = kind_of(volume)
    default_mode = (volume.get(kind) or {}).get("defaultMode")
    source = FileSource(
        name=str(volume.get("name")), pod=pod, found=found, mode=default_mode or 0o644
    )
    for part in sources_of(volume):
        for path, (data, mode) in files_of(part, source).items():
            target = place / path
            make_folder(target.parent)
            write_file(target, data)
            target.chmod(mode & stat.S_IRWXU)  # pods run as this user only


def views_of(mounts: Sequence[Mount], *, folder: Path) -> tuple[Mount, ...]:
    """Folders of links above several mounts, made below `folder`.

    They let a container reach several mounts from their common parent. A folder that this machine
    has itself is never replaced.
    """
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
    """Whether the path is below another mount, which then provides it."""
    parents = PurePosixPath(mount.mount_path.rstrip("/")).parents
    return any(str(parent) in paths for parent in parents)


def _link(path: Path, place: str) -> None:
    make_folder(path.parent)
    if path.is_symlink():
        path.unlink()  # an earlier start may have linked elsewhere
    path.symlink_to(place)
