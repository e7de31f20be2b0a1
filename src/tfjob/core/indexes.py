"""Sets of replica indexes as compact text, as in `completedIndexes` of a batch Job: `0,2-4`.

The text comes from stored objects, so parsing is lenient and bounded: it drops anything that is
not an index below the bound.
"""

from collections.abc import Iterable
from typing import Final

_MAX_TEXT: Final = 64 * 1024
"""Twice the length of the longest text that `render` returns; the operator wrote no longer one."""


def render(indexes: Iterable[int]) -> str:
    parts: list[str] = []
    run: list[int] = []
    for index in sorted(set(indexes)):
        if run and index == run[-1] + 1:
            run.append(index)
            continue
        parts.extend(_run_text(run))
        run = [index]
    parts.extend(_run_text(run))
    return ",".join(parts)


def parse(text: object, *, below: int) -> frozenset[int]:
    if not isinstance(text, str) or len(text) > _MAX_TEXT:
        return frozenset()
    ranges: list[tuple[int, int]] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first, last = _number(low), _number(high if dash else low)
        if first is not None and last is not None:
            ranges.append((first, min(last + 1, below)))
    found: list[int] = []
    end = 0
    for first, stop in sorted(ranges):
        # Overlapping ranges cost no more than others: each index is added once.
        found.extend(range(max(first, end), stop))
        end = max(end, stop)
    return frozenset(found)


def _run_text(run: list[int]) -> list[str]:
    if not run:
        return []
    return [str(run[0])] if len(run) == 1 else [f"{run[0]}-{run[-1]}"]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
