"""Sums that stay within the calendar."""

from datetime import UTC, datetime, timedelta

from tests.support.builders import NOW, at
from tfjob.core.time_math import shifted, span

FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)


def test_a_moment_is_shifted_both_ways() -> None:
    assert shifted(NOW, timedelta(seconds=3)) == at(3)
    assert shifted(NOW, timedelta(seconds=-3)) == at(-3)


def test_a_sum_beyond_the_calendar_is_its_end() -> None:
    assert shifted(LAST, timedelta(seconds=1)) == LAST
    assert shifted(FIRST, timedelta(seconds=-1)) == FIRST


def test_a_span_is_never_longer_than_a_century() -> None:
    assert span(None) is None
    assert span(90) == timedelta(seconds=90)
    assert span(2**63 - 1) == timedelta(days=36500)
