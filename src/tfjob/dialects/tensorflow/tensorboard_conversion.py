"""Converts the TensorBoard of a TfJob: a log folder on a claim goes over, any other is lost."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from tfjob.dialects.base import BeyondHub, LogFolder
from tfjob.dialects.conversion_base import Fields, Losses, objects

_FOLDER = "/logs"


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
    found = _folder(str(log_dir.value or ""), mounts=mounts.value, volumes=volumes.value)
    if found is None:
        why = f"it is on no claim, from which alone {losses.target} reads logs"
        losses.note(log_dir.path, f"{why}; no TensorBoard is started")
        return []
    losses.drop(kind, same=("", "ClusterIP"), instead="TensorBoard is reached inside the cluster")
    for field in (mounts, volumes):
        if len(field.value) > 1:
            losses.note(field.path, f"{losses.target} mounts the logs of TensorBoard alone")
    return [found]


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


def _folder(log_dir: str, *, mounts: object, volumes: object) -> LogFolder | None:
    """The folder of a claim that is mounted at, or above, the log folder."""
    claims = {each.get("name"): _claim(each) for _, each in objects(volumes)}
    for mount in sorted((each for _, each in objects(mounts)), key=_depth, reverse=True):
        try:
            below = PurePosixPath(log_dir).relative_to(str(mount.get("mountPath") or ""))
        except ValueError:
            continue
        claim = claims.get(mount.get("name"))
        if not claim or "subPathExpr" in mount:
            return None
        parts = (*PurePosixPath(str(mount.get("subPath") or "")).parts, *below.parts)
        return LogFolder(claim=claim, path=_joined(parts))
    return None


def _depth(mount: Mapping[str, Any]) -> int:
    return len(PurePosixPath(str(mount.get("mountPath") or "")).parts)


def _claim(volume: Mapping[str, Any]) -> str:
    source = volume.get("persistentVolumeClaim")
    return str(source.get("claimName") or "") if isinstance(source, Mapping) else ""


def _joined(parts: Sequence[str]) -> str:
    return "/".join(part for part in parts if part not in {"/", "."})
