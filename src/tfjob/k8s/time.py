"""Kubernetes timestamps as aware UTC datetimes: parsing, rendering and saturating arithmetic.

Parsing never raises: text that is not an RFC 3339 time yields None. Rendering is always in UTC.
This module does not read the clock.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])"
    r"(?:\.([0-9]+))?([Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_MAX_SECONDS = 100 * 365 * 24 * 3600
"""Longer durations are cut to a century, so that sums with them stay valid dates."""
_MAX_LENGTH = 64
"""Longer text is not a time. It is refused before it is cached: a user may write any text."""
_ZONE = len("+00:00")
_STEPS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)


def parse(text: object) -> datetime | None:
    """Parse an RFC 3339 time, truncated to microseconds; None for anything else."""
    return _parsed(text) if isinstance(text, str) and len(text) <= _MAX_LENGTH else None


@lru_cache(maxsize=1024)
def _parsed(text: str) -> datetime | None:
    """Cached, because many objects of a job have the same times."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    date, clock, fraction, zone = match.groups()
    micro = (fraction or "")[:6].ljust(6, "0")
    try:
        return datetime.fromisoformat(f"{date}T{clock}.{micro}{zone.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):  # no such day, or out of range once in UTC
        return None


def render(moment: datetime) -> str:
    """Render as `metav1.Time`: UTC, whole seconds."""
    if moment.tzinfo is UTC:  # the usual case, without a copy
        return f"{moment.isoformat(timespec='seconds')[:-_ZONE]}Z"
    return f"{_utc(moment).isoformat(timespec='seconds')}Z"


def render_micro(moment: datetime) -> str:
    """Render as `metav1.MicroTime`: UTC, six fractional digits."""
    return f"{_utc(moment).isoformat(timespec='microseconds')}Z"


def truncate(moment: datetime) -> datetime:
    """Truncate to whole seconds, as the API server stores it."""
    return moment.replace(microsecond=0)


def add(moment: datetime, duration: timedelta) -> datetime:
    """Add a duration; a result beyond the range of datetime is its first or last moment.

    Stored times may be far out of range, and must not raise.
    """
    try:
        return moment + duration
    except OverflowError:
        return _LATEST if duration > timedelta(0) else _EARLIEST


def duration(seconds: int | None) -> timedelta | None:
    """The duration of a field in seconds, at most a century; None where the field is absent."""
    return None if seconds is None else timedelta(seconds=min(seconds, _MAX_SECONDS))


def _utc(moment: datetime) -> datetime:
    """The moment in UTC, without its zone."""
    if moment.tzinfo is None:  # astimezone would assume the zone of this machine
        raise ValueError(
            f"timestamp: a datetime with a zone is needed, got the naive {moment.isoformat()}; "
            "nothing was rendered"
        )
    return (moment if moment.tzinfo is UTC else moment.astimezone(UTC)).replace(tzinfo=None)


def age(since: datetime, now: datetime) -> str:
    """`5s`, `3m10s`, `2h5m`, `4d`: two units at most, as kubectl shows an age."""
    seconds = max(int((now - since).total_seconds()), 0)
    for place, (size, unit) in enumerate(_STEPS):
        if seconds < size or size == 1:
            continue
        count, rest = divmod(seconds, size)
        smaller, letter = _STEPS[place + 1]
        part = rest // smaller
        return f"{count}{unit}{part}{letter}" if part and count < 10 else f"{count}{unit}"
    return f"{seconds}s"
