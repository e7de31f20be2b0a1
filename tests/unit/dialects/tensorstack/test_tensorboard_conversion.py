"""tensorboardSpec as folders of claims, and back."""

import pytest

from tests.support.tfjobs import Json
from tfjob.dialects.base import BeyondHub, LogFolder
from tfjob.dialects.conversion_base import Fields, Losses
from tfjob.dialects.tensorstack.tensorboard_conversion import take_tensorboard, tensorboard_of

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
