"""activeDeadlineSeconds: how long a job may be active, counted from its start time."""

from datetime import datetime, timedelta

from tfjob.core.moments import shifted


def ends_at(limit: timedelta | None, start: datetime | None) -> datetime | None:
    """The moment the job's time is over; None without a limit or before it started."""
    return None if limit is None or start is None else shifted(start, limit)


def is_hit(limit: timedelta | None, start: datetime | None, *, now: datetime) -> bool:
    end = ends_at(limit, start)
    return end is not None and now >= end
