"""The spec stored before the first child: defaults and a runtime id."""

import itertools
from collections.abc import Iterator

import pytest

from tests.unit.dialects.tensorflow.jobs import (
    DIALECT,
    SETTINGS,
    Json,
    built,
    decoded,
    entry,
    example,
    set_up,
    stored,
    template,
    tfjob,
)
from tfjob.dialects.base import Settings


def words() -> Iterator[str]:
    return (f"tok{number}" for number in itertools.count())


def completed(
    given: Json, settings: Settings = SETTINGS, *, taken: tuple[str, ...] = ()
) -> Json | None:
    return DIALECT.defaulted_spec(given, settings, tokens=words(), is_taken=taken.__contains__)


def test_runtime_id_is_drawn() -> None:
    spec = completed(tfjob(entry()))
    assert spec is not None
    assert spec["RuntimeId"] == "tok0"


def test_taken_runtime_ids_are_drawn_again() -> None:
    spec = completed(tfjob(entry("WORKER", 0), entry()), taken=("master-tok0-0", "master-tok1-0"))
    assert spec is not None
    assert spec["RuntimeId"] == "tok2"


def test_taken_names_are_those_that_the_children_will_have() -> None:
    settings = set_up(has_job_in_names=True)
    spec = completed(tfjob(entry()), settings, taken=("master-tok0-0", "j-master-tok0-0"))
    assert spec is not None
    assert spec["RuntimeId"] == "tok1"


def test_drawing_ends_after_ten_times() -> None:
    spec = DIALECT.defaulted_spec(tfjob(entry()), SETTINGS, tokens=words(), is_taken=lambda _: True)
    assert spec is not None
    assert spec["RuntimeId"] == "tok9"


@pytest.mark.scenario("A-26")
def test_job_with_its_runtime_id_keeps_it() -> None:
    given = stored(example())
    assert completed(given) is None
    assert {name for _, name in built(given)} >= {"master-76no-0", "cm-ps-76no"}


def test_user_s_own_runtime_id_is_kept_and_defaults_hold_all_the_same() -> None:
    given = tfjob({"template": template()}, {"tfReplicaType": "PS"}, RuntimeId="mine")
    assert completed(given) is None
    assert set(built(given)) == {
        ("ConfigMap", "cm-ps-mine"),
        *((kind, f"{role}-mine-0") for kind in ("Job", "Service") for role in ("master", "ps")),
    }


def test_runtime_id_in_other_letters_is_stored_in_the_usual_ones() -> None:
    spec = completed(tfjob(entry(), runtimeid="mine"))
    assert spec is not None
    assert spec["RuntimeId"] == spec["runtimeid"] == "mine"


def test_runtime_id_and_image_are_stored_beside_what_the_user_wrote() -> None:
    given = tfjob({"template": template()}, {"tfReplicaType": "PS"})
    assert completed(given) == {
        **given["spec"],
        "RuntimeId": "tok0",
        "tfImage": "tensorflow/tensorflow:1.3.0",
    }


def test_older_spellings_are_stored_as_written() -> None:
    given = tfjob()
    given["spec"] = {"replica_specs": [entry()], "tensorBoard": {"LogDir": "d"}, "tfimage": "own"}
    spec = completed(given)
    assert spec == {**given["spec"], "RuntimeId": "tok0", "tfImage": "own"}


def test_image_is_the_job_s_then_the_admin_s() -> None:
    settings = set_up(tf_image="admins")
    spec = completed(tfjob(entry(), {"tfReplicaType": "PS"}), settings)
    assert spec is not None
    assert spec["tfImage"] == "admins"
    own = completed(tfjob(entry(), tfImage="own"), settings)
    assert own is not None
    assert own["tfImage"] == "own"


def test_what_nobody_knows_is_stored_as_it_was_written() -> None:
    spec = completed(tfjob(entry(foo=1), schedulerName="x", tensorBoard={"logdir": "d", "y": 2}))
    assert spec is not None
    assert spec["schedulerName"] == "x"
    assert spec["replicaSpecs"][0]["foo"] == 1
    assert spec["tensorBoard"] == {"logdir": "d", "y": 2}


def test_exported_job_can_be_created_again() -> None:
    spec = stored(example())["spec"]
    again = {**example(), "spec": {key: spec[key] for key in spec if key != "RuntimeId"}}
    assert built(again) == built(example())
    assert stored(again) == stored(example())


@pytest.mark.parametrize("phase", ["Done", "Failed"])
def test_job_that_is_over_is_not_completed(phase: str) -> None:
    assert completed({**tfjob(entry()), "status": {"phase": phase}}) is None


def test_job_that_is_being_deleted_is_not_completed() -> None:
    given = tfjob(entry())
    given["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    assert completed(given) is None


def test_job_without_an_id_is_shown_with_a_stand_in() -> None:
    (replica,) = decoded(tfjob(entry())).replicas
    assert replica.name(0) == "master-xxxx-0"


def test_completing_changes_nothing_of_the_given_job() -> None:
    given = example()
    stored(given)
    assert given == example()
