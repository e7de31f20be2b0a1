"""Reading tensorboardSpec: log sources in both spellings."""

import pytest

from tests.unit.dialects.tensorstack.jobs import DIALECT, Json, training_job
from tfjob.dialects.base import LogFolder
from tfjob.dialects.field_reader import Reader
from tfjob.dialects.schema_check import valid_part
from tfjob.dialects.tensorstack import schema
from tfjob.dialects.tensorstack.tensorboard_spec import Board, read_board

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
