"""Durations as `kubectl get` prints them: 45s, 3m20s, 5h, 12d, 2y10d."""

from datetime import datetime

from tfjob.k8s import time

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def since(text: object, now: datetime) -> str:
    """The age of a timestamp."""
    moment = time.parse(text)
    if moment is None:
        return UNKNOWN
    return short((now - moment).total_seconds())


def short(length: float) -> str:  # noqa: PLR0911 - one answer per order of magnitude
    """Two units if the smaller one is significant, else one."""
    seconds = int(length)
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    minutes = seconds // _MINUTE
    if minutes < 10:
        return _pair(minutes, "m", seconds % _MINUTE, "s")
    if minutes < 180:
        return f"{minutes}m"
    hours = seconds // _HOUR
    if hours < 8:
        return _pair(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _pair(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    years = days // 365
    if years < 8:
        return _pair(years, "y", days % 365, "d")
    return f"{years}y"


def _pair(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"
