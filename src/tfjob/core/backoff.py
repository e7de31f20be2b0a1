"""backoffLimit: how many restarts a job may have, all replicas together.

Two kinds count: containers the kubelet started again in place (seen on the pods) and replicas
that were made again (stored in the status). The sum never falls when a pod is replaced.
"""

import msgspec


class Restarts(msgspec.Struct, frozen=True):
    """Restarts so far: `in_place` by the kubelet, `stored` by making replicas again."""

    in_place: int
    stored: int

    @property
    def total(self) -> int:
        return self.in_place + self.stored


def remaining(limit: int | None, restarts: Restarts) -> int | None:
    """How many replicas may still be made again; None where there is no limit."""
    return None if limit is None else max(limit - restarts.total, 0)


def is_hit(
    limit: int | None,
    restarts: Restarts,
    *,
    is_restart_wanted: bool,
    has_new_failure: bool,
) -> bool:
    if limit is None:
        return False
    if limit == 0 and (restarts.in_place > 0 or has_new_failure):
        return True
    if restarts.in_place >= 1 and restarts.total >= limit:
        return True
    return is_restart_wanted and restarts.total >= limit
