"""Whatever is stored, reading returns a usable value."""

from typing import Any

import pytest
from hypothesis import given

from tests.support.builders import NOW, at
from tests.unit.k8s.json_values import JSON
from tfjob.core.job import Owner
from tfjob.core.status import PodRecord, RecordCause
from tfjob.dialects import stored_values


@given(JSON)
def test_any_json_has_a_usable_value_of_every_kind(value: Any) -> None:
    assert isinstance(stored_values.text(value), str)
    assert 0 <= stored_values.number(value) < 2**31
    assert all(isinstance(each, dict) for each in stored_values.mappings(value))
    assert all(each.at is not None for each in stored_values.read_records(value))
    found = stored_values.owner_of({"metadata": value}, api_version="v", kind="K")
    assert found.namespace
    assert isinstance(stored_values.is_deleting({"metadata": value}), bool)


@pytest.mark.parametrize(
    ("value", "number"), [(3, 3), (-3, 0), (2**40, 2**31 - 1), (True, 0), (1.5, 0), ("3", 0)]
)
def test_count_is_within_what_an_api_server_holds(value: object, number: int) -> None:
    assert stored_values.number(value) == number


def test_owner_without_a_namespace_is_in_the_default_one() -> None:
    metadata = {"generateName": "j-", "uid": "u"}
    found = stored_values.owner_of({"metadata": metadata}, api_version="g/v1", kind="K")
    assert found == Owner(api_version="g/v1", kind="K", name="j-", namespace="default", uid="u")


def test_restarts_come_back_as_they_were_rendered() -> None:
    records = (
        PodRecord(index=0, uid="a", streak=2, at=NOW),
        PodRecord(index=3, uid="b", streak=0, at=at(-90), cause=RecordCause.REMOVED),
        PodRecord(index=4, uid="c", streak=0, at=NOW, cause=RecordCause.DISRUPTED),
        PodRecord(index=5, uid="d", streak=1, at=NOW, cause=RecordCause.IN_PLACE, in_place=2),
    )
    assert stored_values.read_records(stored_values.render_records(records)) == records


@pytest.mark.parametrize(("streak", "cause"), [(0, RecordCause.REMOVED), (2, RecordCause.FAILED)])
def test_entries_from_before_causes_were_stored_mean_what_they_did(
    streak: int, cause: RecordCause
) -> None:
    former = {"index": 0, "uid": "a", "streak": streak, "time": "2026-01-02T03:04:05Z"}
    assert stored_values.read_records([former]) == (PodRecord(0, "a", streak, NOW, cause),)


@pytest.mark.parametrize("value", [None, 5, "", "SomethingElse"])
def test_limit_that_is_not_known_is_none(value: object) -> None:
    assert stored_values.read_limit(value) is None


def test_restart_without_a_time_is_passed_over() -> None:
    assert stored_values.read_records([{"index": 1, "uid": "a", "streak": 1}, 5]) == ()
