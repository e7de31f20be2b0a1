from pathlib import Path
from typing import Any

import pytest

from tfjob.sdk.code_place import code_place
from tfjob.sdk.errors import TFJobError
from tfjob.sdk.job import TFJob
from tfjob.sdk.job_manifest import Wanted, name_for, objects_for
from tfjob.sdk.program import program_for


def made(folder: Path, *, is_local: bool = False, **fields: Any) -> list[dict[str, Any]]:
    (folder / "train.py").write_text("print(1)\n")
    known: dict[str, Any] = {
        "name": "mnist",
        "namespace": None,
        "replicas": {"Chief": 1, "PS": 1, "Worker": 2, "Evaluator": 0},
        "gpus": 0,
        "resources": {},
        "env": {},
        "image": "image:1",
        "checkpoints": None,
        "restarts": 0,
    }
    place = code_place(fields.pop("code", folder), is_local=is_local)
    program = program_for("train.py", (), place)
    return objects_for(Wanted(**{**known, **fields}), program, place)


def replicas_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = objects[-1]["spec"]["tfReplicaSpecs"]
    return found


def container_of(objects: list[dict[str, Any]], kind: str = "Worker") -> dict[str, Any]:
    spec: dict[str, Any] = replicas_of(objects)[kind]["template"]["spec"]["containers"][0]
    return spec


def test_a_cluster_gets_the_code_in_a_config_map(tmp_path: Path) -> None:
    code, job = made(tmp_path, namespace="team")
    assert code["data"] == {"train.py": "print(1)\n"}
    assert code["metadata"]["namespace"] == job["metadata"]["namespace"] == "team"
    container = container_of([job])
    assert container["workingDir"] == "/tfjob/code"
    assert container["command"] == ["python", "train.py"]
    assert container["volumeMounts"] == [
        {"name": "code", "mountPath": "/tfjob/code", "readOnly": True}
    ]
    assert {kind: each["replicas"] for kind, each in replicas_of([job]).items()} == {
        "Chief": 1,
        "PS": 1,
        "Worker": 2,
    }
    TFJob([code, job])  # raises its faults


def test_gpus_are_for_the_chief_and_workers_and_resources_for_all(tmp_path: Path) -> None:
    objects = made(tmp_path, gpus=2, resources={"memory": "1Gi"})
    limits = {kind: container_of(objects, kind)["resources"] for kind in ("Chief", "PS", "Worker")}
    both = {"memory": "1Gi", "nvidia.com/gpu": "2"}
    assert limits["Chief"] == limits["Worker"] == {"limits": both, "requests": both}
    assert limits["PS"]["limits"] == {"memory": "1Gi"}


@pytest.mark.parametrize(("restarts", "policy"), [(0, "Never"), (3, "ExitCode")])
def test_restarts_are_a_policy_and_a_limit(tmp_path: Path, restarts: int, policy: str) -> None:
    objects = made(tmp_path, restarts=restarts)
    assert replicas_of(objects)["Worker"]["restartPolicy"] == policy
    assert objects[-1]["spec"]["runPolicy"].get("backoffLimit", 0) == restarts


@pytest.mark.parametrize(("chiefs", "policy"), [(1, None), (0, "AllWorkers")])
def test_without_a_chief_every_worker_must_succeed(
    tmp_path: Path, chiefs: int, policy: str | None
) -> None:
    objects = made(tmp_path, replicas={"Chief": chiefs, "Worker": 2})
    assert objects[-1]["spec"].get("successPolicy") == policy


def test_checkpoints_are_a_folder_here_and_a_volume_on_a_cluster(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "checkpoints"
    here = container_of(made(tmp_path, is_local=True, checkpoints=folder))
    assert {"name": "TFJOB_CHECKPOINTS", "value": str(folder)} in here["env"]
    assert folder.is_dir()
    there = container_of(made(tmp_path, checkpoints="pvc://claim/run-1"))
    assert {"name": "TFJOB_CHECKPOINTS", "value": "/tfjob/checkpoints"} in there["env"]
    assert there["volumeMounts"][-1]["subPath"] == "run-1"
    with pytest.raises(TFJobError, match="do not see a folder of this machine"):
        made(tmp_path, checkpoints=folder)


def test_code_on_a_volume_is_mounted(tmp_path: Path) -> None:
    (job,) = made(tmp_path, code="pvc://claim/project")
    assert container_of([job])["volumeMounts"] == [
        {"name": "code", "mountPath": "/tfjob/code", "subPath": "project"}
    ]


def test_what_the_caller_sets_wins(tmp_path: Path) -> None:
    env = container_of(made(tmp_path, env={"PYTHONUNBUFFERED": "0", "STEPS": 3}))["env"]
    assert env == [
        {"name": "PYTHONUNBUFFERED", "value": "0"},
        {"name": "TFJOB_REPLICA_OF", "value": "mnist"},
        {"name": "STEPS", "value": "3"},
    ]


@pytest.mark.parametrize("program", ["train", "Train_Model", "3d", "<lambda>", "ä", "x" * 99])
def test_every_program_gives_a_valid_name_and_a_new_one(program: str, tmp_path: Path) -> None:
    names = {name_for(program) for _ in range(9)}
    assert len(names) == 9
    for each in names:
        TFJob(made(tmp_path, name=each))
