"""Keys mean the same in any letters."""

import pytest

from tfjob.dialects.tensorflow import keys


@pytest.mark.parametrize("key", ["runtimeId", "RuntimeId", "RUNTIMEID", "runtimeid"])
def test_known_keys_get_their_usual_spelling(key: str) -> None:
    assert keys.spelt({key: "x"}, keys.SPEC) == {"RuntimeId": "x"}


def test_usual_spelling_wins() -> None:
    assert keys.spelt({"TFIMAGE": "a", "tfImage": "b"}, keys.SPEC) == {"tfImage": "b"}
    assert keys.spelt({"tfImage": "b", "TFIMAGE": "a"}, keys.SPEC) == {"tfImage": "b"}


def test_null_is_no_value() -> None:
    assert keys.spelt({"tfImage": None, "TFIMAGE": "a"}, keys.SPEC) == {"tfImage": "a"}
    assert keys.spelt({"tfImage": None}, keys.SPEC) == {}


def test_alias_gives_way_to_the_usual_key() -> None:
    assert keys.spelt({"replica_specs": [1]}, keys.SPEC) == {"replicaSpecs": [1]}
    both = {"replica_specs": [1], "replicaSpecs": [2]}
    assert keys.spelt(both, keys.SPEC) == {"replicaSpecs": [2]}


def test_alias_is_one_of_the_spec_alone() -> None:
    assert keys.spelt({"replica_specs": 1}, keys.REPLICA) == {"replica_specs": 1}


def test_unknown_keys_stay_as_they_are() -> None:
    given = {"Other": 1, "other": None, "\u017fpec": 2}
    assert keys.spelt(given, keys.SPEC) == given
