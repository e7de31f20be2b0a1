"""The limits that fail a job: backoffLimit and activeDeadlineSeconds.

backoffLimit bounds the restarts of all replicas together. It counts container restarts by the
kubelet, which are read from the pods, and recreated replicas, which are stored in the status. The
sum never decreases when a pod is replaced.
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from tfjob.k8s import time

_ROUNDING: Final = timedelta(seconds=1)
"""A stored start time is truncated to the second; the job may have started that much later."""


class Restarts(msgspec.Struct, frozen=True):
    """Restarts so far: `in_place` by the kubelet, `stored` by recreating replicas."""

    in_place: int
    stored: int

    @property
    def total(self) -> int:
        return self.in_place + self.stored


def remaining_restarts(limit: int | None, restarts: Restarts) -> int | None:
    """How many replicas may still be recreated; None without a limit."""
    return None if limit is None else max(limit - restarts.total, 0)


def is_backoff_limit_reached(
    limit: int | None,
    restarts: Restarts,
    *,
    is_restart_wanted: bool,
    has_new_failure: bool,
) -> bool:
    """Whether the job fails.

    With a limit of 0, any restart in place or new failure does it. Otherwise, once the limit is
    used up: a restart in place, which the kubelet makes without asking, or a restart that is
    wanted now.
    """
    if limit is None:
        return False
    if limit == 0 and (restarts.in_place > 0 or has_new_failure):
        return True
    if restarts.in_place >= 1 and restarts.total >= limit:
        return True
    return is_restart_wanted and restarts.total >= limit


def deadline(limit: timedelta | None, start: datetime | None) -> datetime | None:
    """When the job has certainly been active for its whole limit.

    None without a limit or before the job has started.
    """
    if limit is None or start is None:
        return None
    return time.add(start, limit + _ROUNDING) if limit else start


def is_deadline_exceeded(limit: timedelta | None, start: datetime | None, *, now: datetime) -> bool:
    end = deadline(limit, start)
    return end is not None and now >= end
