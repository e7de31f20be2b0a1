"""Converts the TensorBoard of a TfJob: log folders on claims go over, others are lost."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from tfjob.dialects.base import BeyondHub, LogFolder
from tfjob.dialects.conversion_base import Fields, Losses, objects

_FOLDER = "/logs"


class _Mounted(NamedTuple):
    """A folder of a claim, and the name of the volume that it is mounted from."""

    folder: LogFolder
    volume: str


def take_log_folders(spec: Fields, losses: Losses) -> list[LogFolder]:
    """Take the TensorBoard of a job; empty if it has none, or if the target cannot have it."""
    path, given = spec.take("tensorboard")
    if given is None:
        return []
    if losses.is_for_hub:
        why = f"{losses.target} has no such field; no TensorBoard is started; run one separately"
        losses.note(path, why)
        return []
    board = spec.enter_item(given, path)
    log_dir, kind = board.take("logDir"), board.take("serviceType")
    mounts, volumes = board.take("volumeMounts"), board.take("volumes")
    found = _folders(str(log_dir.value or ""), mounts=mounts.value, volumes=volumes.value)
    if not found:
        why = f"it is on no claim, from which alone {losses.target} reads logs"
        losses.note(log_dir.path, f"{why}; no TensorBoard is started")
        return []
    losses.drop(kind, same=("", "ClusterIP"), instead="TensorBoard is reached inside the cluster")
    used = {each.volume for each in found}
    for field, kept in ((mounts, len(found)), (volumes, len(used))):
        if len(field.value) > kept:
            losses.note(field.path, f"{losses.target} mounts the logs of TensorBoard alone")
    return [each.folder for each in found]


def tensorboard_of(beyond: BeyondHub) -> dict[str, Any]:
    """The fields of the spec that start a TensorBoard for these folders."""
    folders = beyond.log_folders
    if not folders:
        return {}
    claims = list(dict.fromkeys(each.claim for each in folders))
    mounts = [
        {
            "name": _volume(claims.index(each.claim)),
            "mountPath": _FOLDER if len(folders) == 1 else f"{_FOLDER}/{place}-{each.claim}",
            **({"subPath": each.path} if each.path else {}),
        }
        for place, each in enumerate(folders)
    ]
    volumes = [
        {"name": _volume(place), "persistentVolumeClaim": {"claimName": claim}}
        for place, claim in enumerate(claims)
    ]
    board = {"logDir": _FOLDER, "volumeMounts": mounts, "volumes": volumes}
    return {"tfImage": beyond.tensorboard_image, "tensorboard": board}


def _volume(place: int) -> str:
    return f"logs-{place}"


def _folders(log_dir: str, *, mounts: object, volumes: object) -> list[_Mounted]:
    """The folders of claims that are mounted at, above or below the log folder."""
    claims = {each.get("name"): _claim(each) for _, each in objects(volumes)}
    given = [each for _, each in objects(mounts)]
    around = [each for each in given if _below(log_dir, _path(each)) is not None]
    outer = max(around, key=_depth, default=None)
    found = []
    for mount in given:
        is_inside = mount not in around and _below(_path(mount), log_dir) is not None
        claim = claims.get(mount.get("name"))
        if (is_inside or mount is outer) and claim and "subPathExpr" not in mount:
            below = () if is_inside else _below(log_dir, _path(mount)) or ()
            parts = (*PurePosixPath(str(mount.get("subPath") or "")).parts, *below)
            folder = LogFolder(claim=claim, path=_joined(parts))
            found.append(_Mounted(folder, str(mount.get("name"))))
    return found


def _below(path: str, folder: str) -> tuple[str, ...] | None:
    """The way from a folder to a path in it; None if the path is elsewhere."""
    try:
        return PurePosixPath(path).relative_to(folder).parts
    except ValueError:
        return None


def _path(mount: Mapping[str, Any]) -> str:
    return str(mount.get("mountPath") or "")


def _depth(mount: Mapping[str, Any]) -> int:
    return len(PurePosixPath(_path(mount)).parts)


def _claim(volume: Mapping[str, Any]) -> str:
    source = volume.get("persistentVolumeClaim")
    return str(source.get("claimName") or "") if isinstance(source, Mapping) else ""


def _joined(parts: Sequence[str]) -> str:
    return "/".join(part for part in parts if part not in {"/", "."})
