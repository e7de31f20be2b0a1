"""activeDeadlineSeconds, counted from the start."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.support.builders import NOW, at
from tfjob.core import deadline

TWO = timedelta(seconds=2)


def test_a_job_that_has_not_started_or_has_no_limit_has_no_end() -> None:
    assert deadline.ends_at(None, NOW) is None
    assert deadline.ends_at(TWO, None) is None
    assert deadline.ends_at(TWO, NOW) == at(2)


@pytest.mark.parametrize(("seconds", "expected"), [(1.999, False), (2, True), (3, True)])
def test_the_deadline_is_hit_when_the_whole_time_is_over(seconds: float, expected: bool) -> None:
    assert deadline.is_hit(TWO, NOW, now=at(seconds)) is expected


def test_without_limit_or_start_nothing_is_hit() -> None:
    assert not deadline.is_hit(None, NOW, now=at(999))
    assert not deadline.is_hit(TWO, None, now=at(999))


def test_a_start_at_the_end_of_the_calendar_is_no_error() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert deadline.ends_at(TWO, last) == last
