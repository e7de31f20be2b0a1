"""Text for people: tables, ages, indentation. Colours are left to those who ask for them."""

from collections.abc import Sequence
from datetime import datetime

_STEPS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, three blanks apart, as kubectl prints them."""
    lines = [head, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def age(since: datetime | None, now: datetime) -> str:
    """`5s`, `3m10s`, `2h5m`, `4d`: two units at most, as kubectl shows an age."""
    if since is None:
        return "<unknown>"
    seconds = max(int((now - since).total_seconds()), 0)
    for place, (size, unit) in enumerate(_STEPS):
        if seconds < size or size == 1:
            continue
        count, rest = divmod(seconds, size)
        smaller, letter = _STEPS[place + 1]
        part = rest // smaller
        return f"{count}{unit}{part}{letter}" if part and count < 10 else f"{count}{unit}"
    return f"{seconds}s"
