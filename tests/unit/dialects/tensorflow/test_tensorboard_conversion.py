"""The TensorBoard of a TfJob as folders of claims, and back."""

from typing import Any

import pytest

from tests.support.tfjobs import Json
from tfjob.dialects.base import BeyondHub, LogFolder
from tfjob.dialects.conversion_base import Fields, Losses
from tfjob.dialects.tensorflow.tensorboard_conversion import take_log_folders, tensorboard_of

OTHER = "batch.tensorstack.dev/v1beta1"
CLAIM = {"name": "v", "persistentVolumeClaim": {"claimName": "logs"}}


def taken(board: Json, *, target: str = OTHER) -> tuple[list[LogFolder], list[str]]:
    """The folders, and the paths of the losses."""
    losses = Losses(target)
    spec = Fields({"tensorBoard": board}, "spec", folds_case=True)
    found = take_log_folders(spec, losses)
    losses.drop_unconverted(spec)
    return found, [each.path for each in losses.found]


def board(log_dir: str, *mounts: Json, volumes: tuple[Json, ...] = (CLAIM,)) -> Json:
    return {"logDir": log_dir, "volumeMounts": list(mounts), "volumes": list(volumes)}


@pytest.mark.parametrize(
    ("log_dir", "mount", "path"),
    [
        ("/data", {"mountPath": "/data"}, ""),
        ("/data/run/1/", {"mountPath": "/data/"}, "run/1"),
        ("/data/run", {"mountPath": "/data", "subPath": "team"}, "team/run"),
        ("/data", {"mountPath": "/"}, "data"),
    ],
)
def test_folder_on_a_claim_goes_over(log_dir: str, mount: Json, path: str) -> None:
    assert taken(board(log_dir, {"name": "v", **mount})) == ([LogFolder("logs", path)], [])


def test_deepest_mount_counts() -> None:
    volumes = (CLAIM, {"name": "w", "persistentVolumeClaim": {"claimName": "inner"}})
    mounts = ({"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a/b"})
    found, losses = taken(board("/a/b/c", *mounts, volumes=volumes))
    assert found == [LogFolder("inner", "c")]
    assert losses == ["spec.tensorBoard.volumeMounts", "spec.tensorBoard.volumes"]


def test_claims_at_and_below_the_log_folder_are_shown_together() -> None:
    volumes = (CLAIM, {"name": "w", "persistentVolumeClaim": {"claimName": "inner"}})
    mounts = (
        {"name": "w", "mountPath": "/a/b/c", "subPath": "s"},
        {"name": "v", "mountPath": "/a"},
    )
    found = taken(board("/a/b", *mounts, volumes=volumes))
    assert found == ([LogFolder("inner", "s"), LogFolder("logs", "b")], [])


@pytest.mark.parametrize(
    "other",
    [
        {"name": "w", "mountPath": "/a"},
        {"name": "w", "mountPath": "/a/c"},
        {"name": "w", "mountPath": "/elsewhere"},
    ],
)
def test_what_is_not_on_a_claim_is_lost_beside_what_is(other: Json) -> None:
    volumes = (CLAIM, {"name": "w", "emptyDir": {}})
    mounts = ({"name": "v", "mountPath": "/a/b"}, other)
    found, losses = taken(board("/a", *mounts, volumes=volumes))
    assert found == [LogFolder("logs", "")]
    assert losses == ["spec.tensorBoard.volumeMounts", "spec.tensorBoard.volumes"]


@pytest.mark.parametrize(
    "given",
    [
        board("gs://bucket/logs"),
        board("/elsewhere", {"name": "v", "mountPath": "/data"}),
        board("/data", {"name": "v", "mountPath": "/data"}, volumes=({"name": "v"},)),
        board("/data", {"name": "v", "mountPath": "/data", "subPathExpr": "$(POD)"}),
    ],
)
def test_folder_on_no_claim_is_lost(given: Json) -> None:
    assert taken(given) == ([], ["spec.tensorBoard.logDir"])


def test_type_of_the_service_and_unknown_fields_are_lost() -> None:
    given = {**board("/d", {"name": "v", "mountPath": "/d"}), "serviceType": "NodePort", "x": 1}
    assert taken(given)[1] == ["spec.tensorBoard.serviceType", "spec.tensorBoard.x"]


def test_hub_has_no_tensorboard() -> None:
    given = board("/d", {"name": "v", "mountPath": "/d"})
    assert taken(given, target="kubeflow.org/v1") == ([], ["spec.tensorBoard"])


def test_job_without_tensorboard_has_none() -> None:
    assert tensorboard_of(BeyondHub()) == {}
    assert take_log_folders(Fields({}, "spec"), Losses(OTHER)) == []


@pytest.mark.parametrize(
    "folders",
    [
        [LogFolder("logs", "")],
        [LogFolder("logs", "a/b")],
        [LogFolder("a", ""), LogFolder("b", "x"), LogFolder("a", "y")],
        [LogFolder("z", ""), LogFolder("a", "")],
    ],
)
def test_folders_come_back_as_they_went(folders: list[LogFolder]) -> None:
    made = tensorboard_of(BeyondHub(log_folders=folders, tensorboard_image="tb"))
    assert made["tfImage"] == "tb"
    assert taken(made["tensorboard"]) == (folders, [])


def test_several_folders_are_mounted_below_one() -> None:
    folders = [LogFolder("a", ""), LogFolder("b", "x"), LogFolder("a", "y")]
    made: dict[str, Any] = tensorboard_of(BeyondHub(log_folders=folders, tensorboard_image="tb"))
    mounts = made["tensorboard"]["volumeMounts"]
    assert [(each["name"], each["mountPath"], each.get("subPath")) for each in mounts] == [
        ("logs-0", "/logs/0-a", None),
        ("logs-1", "/logs/1-b", "x"),
        ("logs-0", "/logs/2-a", "y"),
    ]
    assert len(made["tensorboard"]["volumes"]) == 2
