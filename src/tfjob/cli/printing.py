"""Formats text for people: tables, ages, and text that is safe to print on a terminal.

Text from users and programs goes through `plain`, so that it cannot control the terminal.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from tfjob.k8s import time

_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
_REVERSING: Final = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
"""Bidirectional control characters, which make text appear as something else."""
_PLAIN: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: "\N{SYMBOL FOR DELETE}",
    **dict.fromkeys((*range(0x80, 0xA0), *_REVERSING, 0x2028, 0x2029), _REPLACED),
}
_IN_ONE_LINE: Final = {**_PLAIN, **dict.fromkeys(map(ord, "\n\t"), " ")}


def plain(text: str) -> str:
    """The text with control characters made visible; line breaks and tabs stay."""
    return text.translate(_PLAIN)


def plain_line(text: str) -> str:
    """Like `plain`, on one line."""
    return text.translate(_IN_ONE_LINE)


def last_overwrite(line: str) -> str:
    """What a terminal shows of a line that carriage returns overwrite, as progress bars do."""
    return line.rstrip("\r").rpartition("\r")[2]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell, three spaces apart, as kubectl prints them."""
    lines = [head, *([plain_line(cell) for cell in row] for row in rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(head))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def age(since: datetime | None, now: datetime) -> str:
    """`5s`, `3m10s`, `2h5m`, `4d`, as kubectl shows an age."""
    return "<unknown>" if since is None else time.age(since, now)
