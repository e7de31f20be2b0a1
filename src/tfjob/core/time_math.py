"""Sums of moments and spans that stay within the calendar.

A stored time may be absurd: a sum that falls off the calendar is its last moment, never an error.
"""

from datetime import UTC, datetime, timedelta

_LONGEST = 100 * 365 * 24 * 3600
"""A century of seconds is as good as for ever, and still a date."""
_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


def span(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=min(seconds, _LONGEST))


def shifted(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:
        return _LAST if by > timedelta(0) else _FIRST
