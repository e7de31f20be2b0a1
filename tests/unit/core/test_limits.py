"""backoffLimit and activeDeadlineSeconds as arithmetic."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.builders import NOW, at
from tfjob.core import limits
from tfjob.core.limits import Restarts
from tfjob.k8s import time

TWO = timedelta(seconds=2)


def is_hit(
    limit: int | None, in_place: int, stored: int, *, wanted: bool = False, failed: bool = False
) -> bool:
    restarts = Restarts(in_place=in_place, stored=stored)
    return limits.is_backoff_limit_reached(
        limit, restarts, is_restart_wanted=wanted, has_new_failure=failed
    )


def test_without_a_limit_nothing_is_reached() -> None:
    assert not is_hit(None, 1000, 1000, wanted=True, failed=True)
    assert limits.remaining_restarts(None, Restarts(in_place=9, stored=9)) is None


@pytest.mark.parametrize(
    ("in_place", "failed", "expected"),
    [(0, False, False), (1, False, True), (0, True, True), (1, True, True)],
)
def test_a_limit_of_0_is_hit_by_any_restart_in_place_and_any_new_failure(
    in_place: int, failed: bool, expected: bool
) -> None:
    assert is_hit(0, in_place, 0, failed=failed) is expected


def test_a_new_failure_alone_does_not_hit_a_higher_limit() -> None:
    assert not is_hit(1, 0, 0, failed=True)


@pytest.mark.parametrize(
    ("limit", "in_place", "stored", "expected"),
    [
        (3, 3, 0, True),
        (3, 2, 0, False),
        (3, 1, 2, True),
        (3, 1, 1, False),
        (3, 0, 3, False),
        (4, 4, 0, True),
    ],
)
def test_restarts_in_place_hit_the_limit_together_with_stored_ones(
    limit: int, in_place: int, stored: int, expected: bool
) -> None:
    assert is_hit(limit, in_place, stored) is expected


@pytest.mark.parametrize(("stored", "expected"), [(0, False), (1, False), (2, True), (3, True)])
def test_wanted_restart_reaches_a_limit_that_is_used_up(stored: int, expected: bool) -> None:
    assert is_hit(2, 0, stored, wanted=True) is expected
    assert not is_hit(2, 0, stored, wanted=False)


def test_a_restart_wanted_under_limit_0_hits_it() -> None:
    assert is_hit(0, 0, 0, wanted=True)


@pytest.mark.parametrize(
    ("limit", "in_place", "stored", "left"),
    [(3, 0, 0, 3), (3, 1, 1, 1), (3, 2, 2, 0), (0, 0, 0, 0)],
)
def test_remaining_restarts_are_never_negative(
    limit: int, in_place: int, stored: int, left: int
) -> None:
    assert limits.remaining_restarts(limit, Restarts(in_place=in_place, stored=stored)) == left


def test_a_job_that_has_not_started_or_has_no_limit_has_no_end() -> None:
    assert limits.deadline(None, NOW) is None
    assert limits.deadline(TWO, None) is None
    assert limits.deadline(TWO, NOW) == at(3)


@pytest.mark.parametrize(("seconds", "expected"), [(2.999, False), (3, True), (4, True)])
def test_the_deadline_is_hit_when_the_whole_time_is_over(seconds: float, expected: bool) -> None:
    assert limits.is_deadline_exceeded(TWO, NOW, now=at(seconds)) is expected


@pytest.mark.parametrize("begun", [0, 0.3, 0.999])
def test_a_deadline_is_never_early_for_a_start_that_is_stored_in_whole_seconds(
    begun: float,
) -> None:
    stored = time.truncate(at(begun))
    assert not limits.is_deadline_exceeded(TWO, stored, now=at(begun + 1.999))
    assert limits.is_deadline_exceeded(TWO, stored, now=at(begun + 3))


def test_a_deadline_of_0_is_over_at_once() -> None:
    assert limits.is_deadline_exceeded(timedelta(0), NOW, now=NOW)


def test_without_limit_or_start_nothing_is_hit() -> None:
    assert not limits.is_deadline_exceeded(None, NOW, now=at(999))
    assert not limits.is_deadline_exceeded(TWO, None, now=at(999))


def test_start_at_the_latest_possible_time_is_no_error() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert limits.deadline(TWO, last) == last
