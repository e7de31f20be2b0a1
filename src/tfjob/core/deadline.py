"""activeDeadlineSeconds: how long a job may be active, counted from its start time."""

from datetime import datetime, timedelta
from typing import Final

from tfjob.k8s import time

_ROUNDING: Final = timedelta(seconds=1)
"""A stored start is cut to the second: the job may have begun that much later."""


def ends_at(limit: timedelta | None, start: datetime | None) -> datetime | None:
    """The moment the job's time is over for certain; None without a limit or before it started."""
    if limit is None or start is None:
        return None
    return time.add(start, limit + _ROUNDING) if limit else start


def is_hit(limit: timedelta | None, start: datetime | None, *, now: datetime) -> bool:
    end = ends_at(limit, start)
    return end is not None and now >= end
