"""Kubernetes' timestamps as aware UTC datetimes, and back.

Reading never raises: what is not an RFC 3339 time is no time. Writing is always UTC. What time it
is now is unknown here.
"""

import re
from datetime import UTC, datetime

_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])"
    r"(?:\.([0-9]+))?([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


def parse(text: object) -> datetime | None:
    """The moment that an RFC 3339 text names, cut to microseconds; None for anything else."""
    match = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    date, clock, fraction, zone = match.groups()
    micro = (fraction or "")[:6].ljust(6, "0")
    try:
        return datetime.fromisoformat(f"{date}T{clock}.{micro}{zone.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or out of range once in UTC
        return None


def render(moment: datetime) -> str:
    """The form of `metav1.Time`: UTC, whole seconds."""
    return f"{_utc(moment).isoformat(timespec='seconds')}Z"


def render_micro(moment: datetime) -> str:
    """The form of `metav1.MicroTime`: UTC, six digits of fraction."""
    return f"{_utc(moment).isoformat(timespec='microseconds')}Z"


def whole(moment: datetime) -> datetime:
    """The same moment cut to the second, as the API server will store it."""
    return moment.replace(microsecond=0)


def _utc(moment: datetime) -> datetime:
    """The moment in UTC, bare of its zone."""
    if moment.tzinfo is None:  # it would silently mean this machine's zone
        raise ValueError(
            f"timestamp: a datetime with a zone is needed, got the naive {moment.isoformat()}; "
            "nothing was rendered"
        )
    return moment.astimezone(UTC).replace(tzinfo=None)
