"""Limits of the benchmarks, mostly as ratios, and the check of a record against them.

A limit that was not measured, or not at its full size, is reported and fails the check, unless it
is measured on request only. A limit that is out of reach gives its reason and does not fail the
check. Ratios are shown with the ranges of both figures.
"""

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.record import Record, Summary, summary
from benchmarks.suite import FULL, sessions, titles

LIMITS: Final = Path(__file__).parent / "limits.toml"


class Place(msgspec.Struct, frozen=True):
    """The scenario, contestant and name of a figure."""

    scenario: str
    contestant: str
    figure: str

    def found_in(self, record: Record) -> Summary | None:
        return summary(record.runs, self.scenario, self.contestant, self.figure)

    def __str__(self) -> str:
        return f"{self.scenario}/{self.contestant}/{self.figure}"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum of one figure, or of its ratio to another one."""

    name: str
    of: Place
    at_most: float
    to: Place | None = None
    is_on_demand: bool = False
    """Measured only on request."""
    out_of_reach: str = ""
    """Why the limit cannot be met. It is then reported but does not fail the check."""


class Verdict(msgspec.Struct, frozen=True):
    limit: Limit
    of: Summary | None
    to: Summary | None

    @property
    def value(self) -> float | None:
        """The figure or ratio; None if it was not measured."""
        if self.of is None or self.limit.to is None:
            return None if self.of is None else self.of.median
        return self.of.median / self.to.median if self.to and self.to.median else None

    @property
    def holds(self) -> bool:
        return self.value is not None and self.value <= self.limit.at_most

    @property
    def is_failure(self) -> bool:
        if self.value is None:
            return self.of is not None or not self.limit.is_on_demand
        return not (self.holds or self.limit.out_of_reach)

    def __str__(self) -> str:
        limit = self.limit
        if self.value is None:
            word = "NOT MEASURED" if self.is_failure else "not requested"
            missing = limit.of if self.of is None else limit.to
            return f"{word}  {limit.name}: {missing} is missing"
        spread = " over ".join(str(each) for each in (self.of, self.to) if each is not None)
        text = f"{limit.name}: {self.value:.3f}, at most {limit.at_most} ({spread})"
        if not self.holds and limit.out_of_reach:
            return f"BROKEN, and out of reach  {text}: {limit.out_of_reach}"
        return f"{'holds ' if self.holds else 'BROKEN'}  {text}"


def read(path: Path = LIMITS) -> list[Limit]:
    found = tomllib.loads(path.read_text())["limit"]
    return msgspec.convert(found, list[Limit])


def verdicts(record: Record, limits: list[Limit]) -> list[Verdict]:
    record = _of_full_size(record)
    return [
        Verdict(limit, limit.of.found_in(record), limit.to.found_in(record) if limit.to else None)
        for limit in limits
    ]


def _of_full_size(record: Record) -> Record:
    """The record without runs of fewer jobs than the limits apply to."""
    full = titles(sessions(FULL, large=True))
    runs = [run for run in record.runs if full.get(run.scenario) == run.title]
    return msgspec.structs.replace(record, runs=runs)
