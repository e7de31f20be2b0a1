"""The rules for conditions, and queries on a status."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from tests.support.builders import NOW, at, conditions_of
from tfjob.core.status import (
    Condition,
    JobStatus,
    PodRecord,
    ReplicaStatus,
    with_condition,
    with_condition_false,
)


def a_condition(
    kind: str, status: str = "True", *, reason: str = "R", message: str = "m", now: datetime = NOW
) -> Condition:
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_update=now,
        last_transition=now,
    )


def a_status(*conditions: Condition) -> JobStatus:
    return JobStatus(conditions=conditions)


def test_a_failed_job_keeps_its_conditions_for_ever() -> None:
    status = a_status(a_condition("Created"), a_condition("Failed"))
    for kind in ("Succeeded", "Running", "Failed", "Suspended"):
        assert with_condition(status, a_condition(kind, reason="other", now=at(1))) is status


def test_a_false_failed_condition_does_not_freeze_the_others() -> None:
    status = a_status(a_condition("Failed", "False"))
    assert conditions_of(with_condition(status, a_condition("Running"))) == ["Failed=F", "Running"]


def test_the_same_status_and_reason_change_nothing_at_all() -> None:
    status = a_status(a_condition("Running"))
    again = a_condition("Running", message="another", now=at(9))
    assert with_condition(status, again) is status


@pytest.mark.parametrize(
    ("status", "reason", "transition"),
    [
        pytest.param("True", "other", NOW, id="another-reason-keeps-the-transition"),
        pytest.param("False", "R", at(9), id="another-status-is-a-transition"),
        pytest.param("False", "other", at(9), id="both"),
    ],
)
def test_a_changed_condition_moves_to_the_end(
    status: str, reason: str, transition: datetime
) -> None:
    before = a_status(a_condition("Suspended"), a_condition("Created"))
    new = a_condition("Suspended", status, reason=reason, message="new", now=at(9))
    after = with_condition(before, new).conditions
    assert [each.type for each in after] == ["Created", "Suspended"]
    last = after[-1]
    assert (last.status, last.reason, last.message) == (status, reason, "new")
    assert (last.last_update, last.last_transition) == (at(9), transition)


@pytest.mark.parametrize(("new", "old"), [("Running", "Restarting"), ("Restarting", "Running")])
@pytest.mark.parametrize("status", ["True", "False"])
def test_running_and_restarting_exclude_each_other(new: str, old: str, status: str) -> None:
    before = a_status(a_condition("Created"), a_condition(old, status))
    assert conditions_of(with_condition(before, a_condition(new))) == ["Created", new]


def test_other_conditions_stay_where_they_are() -> None:
    before = a_status(a_condition("Created"), a_condition("Running"))
    after = with_condition(before, a_condition("Suspended"))
    assert conditions_of(after) == ["Created", "Running", "Suspended"]
    assert after.conditions[:2] == before.conditions


@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
@pytest.mark.parametrize("busy", ["Running", "Restarting"])
def test_an_end_turns_what_was_in_progress_false_in_place(end: str, busy: str) -> None:
    before = a_status(
        a_condition(busy, reason="why", message="text"), a_condition("Suspended", "False")
    )
    after = with_condition(before, a_condition(end, now=at(5)))
    assert conditions_of(after) == [f"{busy}=F", "Suspended=F", end]
    turned = after.conditions[0]
    assert (turned.reason, turned.message) == ("why", "text")
    assert (turned.last_update, turned.last_transition) == (at(5), at(5))
    assert after.conditions[1] == before.conditions[1]


def test_an_end_leaves_what_is_already_false_untouched() -> None:
    before = a_status(a_condition("Running", "False"))
    after = with_condition(before, a_condition("Succeeded", now=at(5)))
    assert after.conditions[0] == before.conditions[0]


def test_an_end_leaves_created_true() -> None:
    after = with_condition(a_status(a_condition("Created")), a_condition("Failed", now=at(5)))
    assert conditions_of(after) == ["Created", "Failed"]
    assert after.conditions[0].last_update == NOW


def test_a_condition_is_turned_false_where_it_stands() -> None:
    before = a_status(a_condition("Restarting"), a_condition("Created"))
    after = with_condition_false(before, "Restarting", now=at(3))
    assert conditions_of(after) == ["Restarting=F", "Created"]
    assert after.conditions[0].last_update == at(3)
    assert after.conditions[0].last_transition == at(3)


@pytest.mark.parametrize("conditions", [[], [a_condition("Restarting", "False")]])
def test_turning_false_what_is_not_true_changes_nothing(conditions: list[Condition]) -> None:
    before = a_status(*conditions)
    assert with_condition_false(before, "Restarting", now=at(3)) is before


def test_a_condition_holds_only_when_its_status_is_true() -> None:
    status = a_status(a_condition("Running", "Unknown"))
    assert status.condition("Running") is not None
    assert not status.is_true("Running")
    assert not status.is_true("Failed")
    assert status.condition("Failed") is None


@pytest.mark.parametrize(
    ("kind", "status", "is_finished"),
    [
        ("Succeeded", "True", True),
        ("Failed", "True", True),
        ("Succeeded", "False", False),
        ("Failed", "Unknown", False),
        ("Suspended", "True", False),
    ],
)
def test_a_job_is_finished_by_a_true_end_alone(kind: str, status: str, is_finished: bool) -> None:
    assert a_status(a_condition(kind, status)).is_finished is is_finished


def test_restarts_are_summed_over_all_types() -> None:
    status = JobStatus(
        replicas={"PS": ReplicaStatus(restarts=2), "Worker": ReplicaStatus(restarts=3)}
    )
    assert status.restarts == 5
    assert status.of("Worker").restarts == 3
    assert status.of("Chief") == ReplicaStatus()


def test_the_recent_restart_of_an_index_is_found_by_its_index() -> None:
    first, second = (PodRecord(index=index, uid="u", streak=1, at=NOW) for index in (3, 0))
    found = ReplicaStatus(records=(first, second))
    assert (found.record_of(0), found.record_of(3), found.record_of(1)) == (second, first, None)


def test_all_replicas_together_read_the_record_of_restarts_once() -> None:
    read: list[str] = []

    class Watched(tuple[PodRecord, ...]):
        def __iter__(self) -> Iterator[PodRecord]:
            read.append("forwards")
            return super().__iter__()

        def __reversed__(self) -> Iterator[PodRecord]:
            read.append("backwards")
            return reversed(list(super().__iter__()))

    entries = [PodRecord(index=index, uid="u", streak=1, at=NOW) for index in range(100)]
    found = ReplicaStatus(records=Watched(entries))
    assert [found.record_of(index) for index in range(100)] == entries
    assert read == ["backwards"]


def test_of_two_records_of_one_index_the_first_counts() -> None:
    first, second = (PodRecord(index=0, uid=uid, streak=1, at=NOW) for uid in "ab")
    assert ReplicaStatus(records=(first, second)).record_of(0) == first
