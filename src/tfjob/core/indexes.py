"""Sets of replica indexes as compact text, as in `completedIndexes` of a batch Job: `0,2-4`.

The text comes from stored objects, so parsing is lenient and bounded: it drops anything that is
not an index below the bound.
"""

from collections.abc import Iterable, Iterator
from typing import Final

_MAX_TEXT: Final = 64 * 1024
"""Twice the length of the longest text that `render` returns; a longer one is not ours."""


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
    ranges = [range(first, min(last, below - 1) + 1) for first, last in _bounds(text)]
    # Overlapping ranges cost no more than others: each only fills a slice.
    found = bytearray(max((each.stop for each in ranges), default=0))
    for each in ranges:
        found[each.start : each.start + len(each)] = b"\1" * len(each)
    return frozenset(_positions(found))


def _bounds(text: str) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first, last = _number(low), _number(high if dash else low)
        if first is not None and last is not None:
            yield first, last


def _positions(found: bytearray) -> Iterator[int]:
    """The indexes of the bytes that are set, without looking at the others one by one."""
    place = found.find(1)
    while place >= 0:
        yield place
        place = found.find(1, place + 1)


def _run_text(run: list[int]) -> list[str]:
    if not run:
        return []
    return [str(run[0])] if len(run) == 1 else [f"{run[0]}-{run[-1]}"]


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else None
