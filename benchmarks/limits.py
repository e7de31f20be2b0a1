"""Limits as ratios: what a benchmark must show, and whether one did.

Law: a limit that was not measured is told as such and is no success, unless it is measured on
demand only. One that is out of reach says why, and is shown all the same.
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
    is_on_demand: bool = False
    """Measured only where it was asked for."""
    out_of_reach: str = ""
    """Why it cannot be kept, where that was found out: it is told then, and fails nothing."""


class Verdict(msgspec.Struct, frozen=True):
    limit: Limit
    value: float | None
    was_asked: bool = True
    """Whether the figure itself was measured, if not what it is compared with."""

    @property
    def holds(self) -> bool:
        return self.value is not None and self.value <= self.limit.at_most

    @property
    def is_failure(self) -> bool:
        if self.value is None:
            return self.was_asked or not self.limit.is_on_demand
        return not (self.holds or self.limit.out_of_reach)

    def __str__(self) -> str:
        limit = self.limit
        if self.value is None:
            word = "NOT MEASURED" if self.is_failure else "not asked for"
            return f"{word}  {limit.name}: {limit.of} or {limit.to} is missing"
        said = f"{limit.name}: {self.value:.3f}, at most {limit.at_most}"
        if not self.holds and limit.out_of_reach:
            return f"BROKEN, and out of reach  {said}: {limit.out_of_reach}"
        return f"{'holds ' if self.holds else 'BROKEN'}  {said}"


def read(path: Path = LIMITS) -> list[Limit]:
    found = tomllib.loads(path.read_text())["limit"]
    return msgspec.convert(found, list[Limit])


def verdicts(record: Record, limits: list[Limit]) -> list[Verdict]:
    return [
        Verdict(limit, _value(record, limit), limit.of.median(record) is not None)
        for limit in limits
    ]


def _value(record: Record, limit: Limit) -> float | None:
    ours = limit.of.median(record)
    if limit.to is None or ours is None:
        return ours
    theirs = limit.to.median(record)
    return ours / theirs if theirs else None
