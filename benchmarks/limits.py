"""Limits as ratios: what a benchmark must show, and whether one did.

Law: a limit that was not measured is told as such and is no success.
"""

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.record import Record, summary

LIMITS: Final = Path(__file__).parent / "limits.toml"


class Place(msgspec.Struct, frozen=True):
    """Where a figure stands."""

    scenario: str
    contestant: str
    figure: str

    def median(self, record: Record) -> float | None:
        found = summary(record.runs, self.scenario, self.contestant, self.figure)
        return None if found is None else found.median

    def __str__(self) -> str:
        return f"{self.scenario}/{self.contestant}/{self.figure}"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """One figure is at most so much, or so many times another one."""

    name: str
    of: Place
    at_most: float
    to: Place | None = None


class Verdict(msgspec.Struct, frozen=True):
    limit: Limit
    value: float | None

    @property
    def holds(self) -> bool:
        return self.value is not None and self.value <= self.limit.at_most

    def __str__(self) -> str:
        limit = self.limit
        if self.value is None:
            return f"NOT MEASURED  {limit.name}: {limit.of} or {limit.to} is missing"
        word = "holds " if self.holds else "BROKEN"
        return f"{word}  {limit.name}: {self.value:.3f}, at most {limit.at_most}"


def read(path: Path = LIMITS) -> list[Limit]:
    found = tomllib.loads(path.read_text())["limit"]
    return msgspec.convert(found, list[Limit])


def verdicts(record: Record, limits: list[Limit]) -> list[Verdict]:
    return [Verdict(limit, _value(record, limit)) for limit in limits]


def _value(record: Record, limit: Limit) -> float | None:
    ours = limit.of.median(record)
    if limit.to is None or ours is None:
        return ours
    theirs = limit.to.median(record)
    return ours / theirs if theirs else None
