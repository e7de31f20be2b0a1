"""Keys are case-insensitive, and unknown ones are listed."""

from typing import Any

import pytest
from hypothesis import given

from tests.unit.k8s.json_values import JSON
from tfjob.dialects.tensorflow import key_aliases
from tfjob.dialects.tensorflow.key_aliases import unknown_fields


@pytest.mark.parametrize("key", ["runtimeId", "RuntimeId", "RUNTIMEID", "runtimeid"])
def test_known_keys_get_their_usual_spelling(key: str) -> None:
    assert key_aliases.normalised({key: "x"}, key_aliases.SPEC) == {"RuntimeId": "x"}


def test_usual_spelling_wins() -> None:
    assert key_aliases.normalised({"TFIMAGE": "a", "tfImage": "b"}, key_aliases.SPEC) == {
        "tfImage": "b"
    }
    assert key_aliases.normalised({"tfImage": "b", "TFIMAGE": "a"}, key_aliases.SPEC) == {
        "tfImage": "b"
    }


def test_null_is_no_value() -> None:
    assert key_aliases.normalised({"tfImage": None, "TFIMAGE": "a"}, key_aliases.SPEC) == {
        "tfImage": "a"
    }
    assert key_aliases.normalised({"tfImage": None}, key_aliases.SPEC) == {}


def test_alias_gives_way_to_the_usual_key() -> None:
    assert key_aliases.normalised({"replica_specs": [1]}, key_aliases.SPEC) == {"replicaSpecs": [1]}
    both = {"replica_specs": [1], "replicaSpecs": [2]}
    assert key_aliases.normalised(both, key_aliases.SPEC) == {"replicaSpecs": [2]}


def test_alias_is_one_of_the_spec_alone() -> None:
    assert key_aliases.normalised({"replica_specs": 1}, key_aliases.REPLICA) == {"replica_specs": 1}


def test_unknown_keys_stay_as_they_are() -> None:
    given = {"Other": 1, "other": None, "\u017fpec": 2}
    assert key_aliases.normalised(given, key_aliases.SPEC) == given


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
