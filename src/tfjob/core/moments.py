"""Sums of moments and spans that stay within the calendar.

A stored time may be absurd: a sum that falls off the calendar is its last moment, never an error.
"""

from datetime import UTC, datetime, timedelta

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


def shifted(moment: datetime, by: timedelta) -> datetime:
    try:
        return moment + by
    except OverflowError:
        return _LAST if by > timedelta(0) else _FIRST
