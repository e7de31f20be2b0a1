"""tensorboardSpec: log sources in both spellings, as folders of claims, and back."""

import pytest

from tests.unit.dialects.tensorstack.jobs import DIALECT, Json, training_job
from tfjob.dialects.base import BeyondHub, LogFolder
from tfjob.dialects.conversion_base import Fields, Losses
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.schema_check import valid_part
from tfjob.dialects.tensorstack import schema
from tfjob.dialects.tensorstack.tensorboard_spec import (
    Board,
    read_board,
    take_tensorboard,
    tensorboard_of,
)

BOARD = schema.board()
PATH = "spec.tensorboardSpec"


def read(**fields: object) -> Board:
    reader = Reader()
    found = read_board(valid_part(reader, {"image": "i", **fields}, BOARD, PATH))
    assert reader.faults == []
    assert found is not None
    return found


def test_no_block_is_no_tensorboard() -> None:
    assert read_board(None) is None


@pytest.mark.parametrize(
    ("fileset", "source"),
    [
        ("t9k://pvc/p", LogFolder("p", "")),
        ("t9k://pvc/p/", LogFolder("p", "")),
        ("t9k://pvc/p/log", LogFolder("p", "log")),
        ("t9k://pvc/a.b-c/x/y/", LogFolder("a.b-c", "x/y")),
    ],
)
def test_volume_of_a_fileset(fileset: str, source: LogFolder) -> None:
    assert read(trainingLogFilesets=[fileset]).sources == [source]


def test_volumes_of_log_folders_come_after_filesets() -> None:
    board = read(
        trainingLogFilesets=["t9k://pvc/p/a"],
        logDir={"pvc": [{"name": "q", "subPath": ["b", "c"]}, {"name": "r"}]},
    )
    assert board.sources == [
        LogFolder("p", "a"),
        LogFolder("q", "b"),
        LogFolder("q", "c"),
        LogFolder("r", ""),
    ]
    assert board.elsewhere == []


def test_places_that_are_no_volumes() -> None:
    board = read(
        trainingLogFilesets=["t9k://minio/s/b"],
        logDir={"s3": {"uri": ["s3://b"]}, "http": {"url": ["http://example.invalid"]}},
    )
    assert board.sources == []
    assert board.elsewhere == ["t9k://minio/s/b", "s3://b", "http://example.invalid"]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"image": ""}, "image"),
        ({"image": 3}, "image"),
        ({"trainingLogFilesets": "t9k://pvc/p"}, "trainingLogFilesets"),
        ({"trainingLogFilesets": [3]}, "trainingLogFilesets[0]"),
        ({"trainingLogFilesets": ["t9k://pvc/P"]}, "trainingLogFilesets[0]"),
        ({"trainingLogFilesets": ["t9k://pvc/p\n"]}, "trainingLogFilesets[0]"),
        ({"logDir": {"pvc": [{"subPath": ["a"]}]}}, "logDir.pvc[0].name"),
        ({"logDir": {"pvc": [{"name": "p", "subPath": "a"}]}}, "logDir.pvc[0].subPath"),
        ({"logDir": {"s3": {"uri": [1]}}}, "logDir.s3.uri[0]"),
        ({"suspend": "no"}, "suspend"),
        ({"scheduler": {"t9kScheduler": {"queue": 1}}}, "scheduler.t9kScheduler.queue"),
        ({"resources": []}, "resources"),
    ],
)
def test_wrong_value_is_named_by_its_path(fields: Json, path: str) -> None:
    job = training_job(tensorboardSpec={"image": "i", **fields})
    assert f"{PATH}.{path}" in {fault.path for fault in DIALECT.validate(job)}


OTHER = "tensorflow.org/v1alpha1"
LOGS = "t9k://pvc/claim/log"


def taken(board: Json, *, target: str = OTHER) -> tuple[list[LogFolder], list[str]]:
    """The folders, and the paths of the losses."""
    losses = Losses(target)
    spec = Fields({"tensorboardSpec": board}, "spec")
    found = take_tensorboard(spec, losses)
    losses.drop_unconverted(spec)
    return list(found.sources) if found else [], [each.path for each in losses.found]


def test_folders_of_claims_go_over_in_both_spellings() -> None:
    given = {
        "image": "tb",
        "trainingLogFilesets": [LOGS],
        "logDir": {"pvc": [{"name": "q", "subPath": ["a"]}]},
    }
    assert taken(given) == ([LogFolder("claim", "log"), LogFolder("q", "a")], [])


@pytest.mark.parametrize(
    ("fields", "lost"),
    [
        ({"suspend": True}, "suspend"),
        ({"suspend": False}, None),
        ({"scheduler": {"t9kScheduler": {"queue": "q"}}}, "scheduler"),
        ({"resources": {"limits": {"cpu": 1}}}, "resources"),
        ({"surprise": 1}, "surprise"),
        ({"trainingLogFilesets": [LOGS, "t9k://minio/s/b"]}, "trainingLogFilesets"),
        ({"logDir": {"s3": {"uri": ["s3://b"]}}}, "trainingLogFilesets"),
    ],
)
def test_what_a_claim_cannot_say_is_lost(fields: Json, lost: str | None) -> None:
    found, losses = taken({"image": "tb", "trainingLogFilesets": [LOGS], **fields})
    assert found == [LogFolder("claim", "log")]
    assert losses == ([f"spec.tensorboardSpec.{lost}"] if lost else [])


def test_tensorboard_without_a_claim_is_lost() -> None:
    given = {"image": "tb", "logDir": {"http": {"url": ["http://h"]}}}
    assert taken(given) == ([], ["spec.tensorboardSpec.logDir"])


@pytest.mark.parametrize(("given", "lost"), [({"image": "tb"}, True), ({}, False)])
def test_hub_has_no_tensorboard(given: Json, lost: bool) -> None:
    expected = ["spec.tensorboardSpec"] if lost else []
    assert taken(given, target="kubeflow.org/v1beta1") == ([], expected)


def test_folders_become_filesets() -> None:
    folders = [LogFolder("a", ""), LogFolder("b", "x/y")]
    made = tensorboard_of(BeyondHub(log_folders=folders, tensorboard_image="tb"))
    assert made == {
        "image": "tb",
        "trainingLogFilesets": ["t9k://pvc/a", "t9k://pvc/b/x/y"],
    }
    assert taken(made) == (folders, [])
