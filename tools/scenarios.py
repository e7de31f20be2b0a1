"""Generates the page that maps the scenarios of the contract to the tests that cover them.

docs/scenarios.toml lists the scenarios; tests are marked with those they cover. A scenario that
needs no API server must have a test, and a test may only name existing scenarios.
"""

import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tools import promises
from tools.scenario_marks import Marks, Number, Shown, marks_under

SOURCE = "docs/scenarios.toml"
SHAPE = "expected { claim = TEXT } with either offline = true or needs = TEXT"


class Scenario(NamedTuple):
    """One scenario. `needs` is empty if it can be tested without an API server."""

    number: Number
    claim: str
    needs: str


class Group(NamedTuple):
    """Scenarios under one title."""

    title: str
    scenarios: tuple[Scenario, ...]


class ScenarioListError(ValueError):
    """The list of scenarios is invalid."""


def groups_of(text: str) -> tuple[Group, ...]:
    """The scenarios of the list, in order. Raises ScenarioListError."""
    raw = tomllib.loads(text)
    groups = tuple(
        Group(each["title"], tuple(_scenario(*item) for item in each["scenarios"].items()))
        for each in raw["group"]
    )
    numbers = [scenario.number for group in groups for scenario in group.scenarios]
    if twice := sorted({str(each) for each in numbers if numbers.count(each) > 1}):
        raise ScenarioListError(f"{SOURCE}: listed more than once: {', '.join(twice)}")
    return groups


def _scenario(key: str, row: Mapping[str, Any]) -> Scenario:
    number: Number = int(key) if key.isdigit() else key
    match row:
        case {"claim": str(claim), "offline": True, **rest} if not rest:
            return Scenario(number, claim, "")
        case {"claim": str(claim), "needs": str(needs), **rest} if needs and not rest:
            return Scenario(number, claim, needs)
        case _:
            raise ScenarioListError(f"{SOURCE}: scenario {key}: {SHAPE}; got {row}")


def faults(groups: Iterable[Group], marks: Marks) -> list[str]:
    """Unreadable marks, unknown scenarios, and scenarios without a test."""
    known = {each.number: each for group in groups for each in group.scenarios}
    shown = {each.number for each in marks.shown}
    unknown = [
        f"{each.path}::{each.test}: no scenario {each.number!r} in {SOURCE}"
        for each in marks.shown
        if each.number not in known
    ]
    missing = [
        f"scenario {each.number} is offline but no test shows it: {each.claim}"
        for each in known.values()
        if not each.needs and each.number not in shown
    ]
    return [*marks.faults, *unknown, *missing]


def page_of(groups: Iterable[Group], shown: Iterable[Shown]) -> str:
    """The map as a page."""
    tests: dict[Number, list[str]] = {}
    for each in shown:
        tests.setdefault(each.number, []).append(f"`{each.path}::{each.test}`")
    return "\n".join(_lines(list(groups), tests)) + "\n"


def _lines(groups: list[Group], tests: Mapping[Number, list[str]]) -> Iterator[str]:
    everything = [scenario for group in groups for scenario in group.scenarios]
    count = sum(1 for each in everything if each.number in tests)
    yield "# Scenarios and the tests that show them"
    yield ""
    yield f"Made from `{SOURCE}` and the marks of the tests by `make generate`; not edited by hand."
    yield f"Of {len(everything)} scenarios {count} are shown by a test."
    for group in groups:
        yield from ("", f"## {group.title}", "", "| # | claim | shown by |", "|---|---|---|")
        for each in group.scenarios:
            cell = "<br>".join(tests.get(each.number, [])) or _why_not(each)
            claim = each.claim.replace("|", r"\|")
            yield f"| {each.number} | {claim} | {cell} |"


def _why_not(scenario: Scenario) -> str:
    return f"not yet: needs {scenario.needs}" if scenario.needs else "**missing**"


def _read(root: Path) -> tuple[tuple[Group, ...], Marks]:
    return groups_of((root / SOURCE).read_text("utf-8")), marks_under(root)


def page(root: Path) -> str:
    """The map of a checkout as a page."""
    groups, marks = _read(root)
    return page_of(groups, marks.shown)


def main(root: Path) -> int:
    """Print the faults; return 1 if there are any."""
    groups, marks = _read(root)
    listed = promises.read(root)
    found = faults(groups, promises.without(listed, marks)) + promises.faults(listed, marks.shown)
    print("\n".join(found) or "scenarios: every offline scenario is shown by a test")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
