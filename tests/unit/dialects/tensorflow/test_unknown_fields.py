from typing import Any

from hypothesis import given

from tests.unit.k8s.json_values import JSON
from tfjob.dialects.tensorflow.unknown_fields import unknown_fields


def test_keys_that_mean_nothing_are_named_wherever_they_stand() -> None:
    spec = {
        "schedulerName": "other",
        "replicaSpecs": [{"tfPort": 1, "template": {"odd": 1}}, {"restartPolicy": "Never"}],
        "tensorboard": {"logDir": "/logs", "image": "img", "volumes": [{"odd": 1}]},
        "terminationPolicy": {"chief": {"replicaName": "MASTER", "role": 1}, "after": 2},
    }
    assert unknown_fields({"spec": spec}) == [
        "spec.schedulerName",
        "spec.replicaSpecs[1].restartPolicy",
        "spec.tensorboard.image",
        "spec.terminationPolicy.after",
        "spec.terminationPolicy.chief.role",
    ]


def test_other_spellings_are_read_and_null_says_nothing() -> None:
    spec = {"replica_specs": [{"TFPORT": 1}], "tensorBoard": {"logdir": "/logs"}, "odd": None}
    assert unknown_fields({"spec": spec}) == []


@given(JSON)
def test_any_json_is_looked_through(value: Any) -> None:
    assert all(path.startswith("spec.") for path in unknown_fields({"spec": value}))
