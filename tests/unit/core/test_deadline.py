"""activeDeadlineSeconds, counted from the start."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.builders import NOW, at
from tfjob.core import deadline
from tfjob.k8s import time

TWO = timedelta(seconds=2)


def test_a_job_that_has_not_started_or_has_no_limit_has_no_end() -> None:
    assert deadline.ends_at(None, NOW) is None
    assert deadline.ends_at(TWO, None) is None
    assert deadline.ends_at(TWO, NOW) == at(3)


@pytest.mark.parametrize(("seconds", "expected"), [(2.999, False), (3, True), (4, True)])
def test_the_deadline_is_hit_when_the_whole_time_is_over(seconds: float, expected: bool) -> None:
    assert deadline.is_hit(TWO, NOW, now=at(seconds)) is expected


@pytest.mark.parametrize("begun", [0, 0.3, 0.999])
def test_a_deadline_is_never_early_for_a_start_that_is_stored_in_whole_seconds(
    begun: float,
) -> None:
    stored = time.truncate(at(begun))
    assert not deadline.is_hit(TWO, stored, now=at(begun + 1.999))
    assert deadline.is_hit(TWO, stored, now=at(begun + 3))


def test_a_deadline_of_0_is_over_at_once() -> None:
    assert deadline.is_hit(timedelta(0), NOW, now=NOW)


def test_without_limit_or_start_nothing_is_hit() -> None:
    assert not deadline.is_hit(None, NOW, now=at(999))
    assert not deadline.is_hit(TWO, None, now=at(999))


def test_a_start_at_the_end_of_the_calendar_is_no_error() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert deadline.ends_at(TWO, last) == last
