"""What is asked for on the command line, checked as a whole before anything is measured."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks import record
from benchmarks.contestants import CONTESTANTS
from benchmarks.suite import FULL, LARGE, QUICK, Course, Sizes, courses, titles

_ABOUT: Final = """tfjob beside the Go training-operator, on real control planes.

Contestants take turns, and the whole programme is repeated, so that a busy minute of the machine
does not fall on one of them alone. It ends its own processes and listens on loopback only."""
_ADD: Final = "go on with an earlier or interrupted record; may be repeated"


class Turn(msgspec.Struct, frozen=True):
    repetition: int
    course: Course
    contestant: str


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    turns: list[Turn]
    results: Path
    add: list[Path]
    judge: Path | None
    is_checked: bool

    @property
    def partial(self) -> Path:
        """Where what was measured is kept until all is."""
        return self.results / "partial.json"

    @property
    def titles(self) -> dict[str, str]:
        """The scenarios that are to be measured."""
        return titles(turn.course for turn in self.turns)


def parsed(arguments: Sequence[str] | None) -> Asked:
    """Ends the program with a message where what is asked for makes no sense."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.judge is not None:
        return Asked(turns=[], results=given.results, add=[], judge=given.judge, is_checked=True)
    turns = _turns(parser, given)
    if not turns and not given.add:
        parser.error("nothing is left to be measured, and no record was given with --add")
    if not _can_be_written(given.results):
        parser.error(f"--results {given.results}: nothing can be written there")
    asked = Asked(
        turns=turns, results=given.results, add=given.add, judge=None, is_checked=given.check
    )
    if turns and asked.partial.exists() and asked.partial not in asked.add:
        what = f"{asked.partial} is what an interrupted benchmark has measured"
        parser.error(f"{what}: go on with --add {asked.partial}, or remove it")
    return asked


def scenario_names() -> list[str]:
    """All that `--only` knows: courses, and the steps of those that have several."""
    names = (name for each in courses(FULL, large=True) for name in _names(each))
    return list(dict.fromkeys(names))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=_ABOUT,
        epilog=f"Scenarios: {', '.join(scenario_names())} (5,000 jobs).",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    only: dict[str, Any] = {"choices": scenario_names(), "metavar": "SCENARIO"}
    add("--quick", action="store_true", help="small sizes: a first impression within 5 minutes")
    add("--large", action="store_true", help="5,000 jobs as well")
    add("--fleet", type=_at_least(1), metavar="JOBS", help="how many jobs the fleet has (2,000)")
    add("--only", action="append", help="only this one; may be repeated", **only)
    add("--without", action="append", default=[], choices=list(CONTESTANTS), help="leave one out")
    add("--repeat", type=_at_least(0), metavar="N", help="how often (3; quick: 1; 0: only --add)")
    add("--results", type=Path, default=record.RESULTS, metavar="FOLDER", help="where to write")
    add("--add", type=Path, action="append", default=[], metavar="JSON", help=_ADD)
    add("--check", action="store_true", help="fail when a limit is broken or was not measured")
    add("--judge", type=Path, metavar="JSON", help="measure nothing; judge an earlier record")
    return parser


def _at_least(least: int) -> Any:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least}")
        return int(text)

    return read


def _turns(parser: argparse.ArgumentParser, given: argparse.Namespace) -> list[Turn]:
    """Contestants take turns within a scenario, and scenarios within a repetition."""
    sizes: Sizes = QUICK if given.quick else FULL
    if given.fleet is not None:
        sizes = msgspec.structs.replace(sizes, fleet=given.fleet)
    wanted = given.only or []
    if given.quick and (given.large or LARGE in wanted):
        parser.error("--quick has no large scenario: leave one of them out")
    programme = courses(sizes, large=given.large or LARGE in wanted)
    usual = 1 if given.quick else 3
    return [
        Turn(number, course, name)
        for number in range(usual if given.repeat is None else given.repeat)
        for course in programme
        if not wanted or not set(wanted).isdisjoint(_names(course))
        for name in course.contestants
        if name not in given.without
    ]


def _names(course: Course) -> list[str]:
    return [course.name, *(step.name for step in course.steps)]


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
