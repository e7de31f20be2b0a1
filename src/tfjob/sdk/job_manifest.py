"""Builds the manifest of a job, and of the ConfigMaps that hold its program and code."""

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tfjob.core.job import TRAINING_CONTAINER
from tfjob.dialects.registry import DIALECTS
from tfjob.sdk.code_place import CODE_FOLDER, CodePlace, claim_volume
from tfjob.sdk.config_map import config_map_for, volume_for
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.launcher import REPLICA_OF
from tfjob.sdk.program import LAUNCH_FOLDER, Program
from tfjob.train import CHECKPOINTS

CHECKPOINT_FOLDER: Final = "/tfjob/checkpoints"
_GPU: Final = "nvidia.com/gpu"
_MAX_STEM: Final = 30


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller asks for."""

    name: str | None
    namespace: str | None
    replicas: Mapping[str, int]
    gpus: int
    resources: Mapping[str, str]
    env: Mapping[str, str]
    image: str
    checkpoints: str | Path | None
    restarts: int


def objects_for(wanted: Wanted, program: Program, code: CodePlace) -> list[dict[str, Any]]:
    """The ConfigMaps first, the job last."""
    name = wanted.name or name_for(program.name)
    pod = _Pod(wanted, program, code, name=name)
    policy = {"restartPolicy": "ExitCode" if wanted.restarts else "Never"}
    replicas = {
        kind: {"replicas": count, **policy, "template": pod.template(kind)}
        for kind, count in wanted.replicas.items()
        if count
    }
    metadata = {"name": name, **({"namespace": wanted.namespace} if wanted.namespace else {})}
    if wanted.namespace:
        for each in pod.config_maps:
            each["metadata"]["namespace"] = wanted.namespace
    limit = {"backoffLimit": wanted.restarts} if wanted.restarts else {}
    run_policy = {"cleanPodPolicy": "Running", **limit}
    # All workers run the same program: without a chief, none of them decides for the others.
    success = {} if wanted.replicas.get("Chief") else {"successPolicy": "AllWorkers"}
    hub = DIALECTS[0]
    job = {
        "apiVersion": f"{hub.group}/{hub.version}",
        "kind": hub.kind,
        "metadata": metadata,
        "spec": {"runPolicy": run_policy, **success, "tfReplicaSpecs": replicas},
    }
    return [*pod.config_maps, job]


def name_for(program: str) -> str:
    """A new name for a job that runs this program."""
    stem = re.sub(r"[^a-z0-9]+", "-", program.lower()).strip("-")[:_MAX_STEM].strip("-")
    stem = stem if stem[:1].isalpha() else f"job-{stem}".rstrip("-")
    return f"{stem}-{secrets.token_hex(3)}"


class _Pod:
    """The pod template, which differs between replica types only in its GPUs."""

    def __init__(self, wanted: Wanted, program: Program, code: CodePlace, *, name: str) -> None:
        self._wanted = wanted
        self._program = program
        self._code = code
        self._env = {"PYTHONUNBUFFERED": "1", REPLICA_OF: name} | {
            k: str(v) for k, v in wanted.env.items()
        }
        self._volumes: list[Any] = []
        self._mounts: list[Any] = []
        self.config_maps: list[dict[str, Any]] = []
        self._add_files(program.files, name=f"{name}-launch", mount_path=LAUNCH_FOLDER)
        self._add_files(code.files(), name=f"{name}-code", mount_path=CODE_FOLDER)
        if code.volume:
            self._add_claim(code.volume, name="code", mount_path=CODE_FOLDER)
        if wanted.checkpoints is not None:
            self._add_checkpoints(wanted.checkpoints)

    def template(self, kind: str) -> dict[str, Any]:
        limits = dict(self._wanted.resources)
        if self._wanted.gpus and kind in {"Chief", "Worker"}:
            limits[_GPU] = str(self._wanted.gpus)
        workdir = self._code.workdir
        container = {
            "name": TRAINING_CONTAINER,
            "image": self._wanted.image,
            "command": list(self._program.command),
            **({"workingDir": workdir} if workdir else {}),
            "env": [{"name": key, "value": value} for key, value in self._env.items()],
            **({"resources": {"limits": limits, "requests": limits}} if limits else {}),
            **({"volumeMounts": self._mounts} if self._mounts else {}),
        }
        volumes = {"volumes": self._volumes} if self._volumes else {}
        return {"spec": {"containers": [container], **volumes}}

    def _add_files(self, files: Mapping[str, bytes], *, name: str, mount_path: str) -> None:
        if not files:
            return
        manifest = config_map_for(name, files)
        short = mount_path.rpartition("/")[2]
        self.config_maps.append(manifest)
        self._volumes.append(volume_for(manifest, files, name=short))
        self._mounts.append({"name": short, "mountPath": mount_path, "readOnly": True})

    def _add_checkpoints(self, place: str | Path) -> None:
        if self._add_claim(str(place), name="checkpoints", mount_path=CHECKPOINT_FOLDER):
            self._env[CHECKPOINTS] = CHECKPOINT_FOLDER
            return
        if not self._code.is_local:
            raise TFJobError(
                f"checkpoints={str(place)!r}: replicas on a cluster do not see a folder of this"
                " machine",
                remedy="name a volume with checkpoints='pvc://CLAIM/FOLDER'",
            )
        folder = Path(place).expanduser().resolve()
        folder.mkdir(parents=True, exist_ok=True)
        self._env[CHECKPOINTS] = str(folder)

    def _add_claim(self, place: str, *, name: str, mount_path: str) -> bool:
        found = claim_volume(place, name=name, mount_path=mount_path)
        if found is None:
            return False
        self._volumes.append(found[0])
        self._mounts.append(found[1])
        return True
