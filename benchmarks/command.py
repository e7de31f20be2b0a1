"""The command line of the benchmarks, checked completely before anything is measured."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks import record
from benchmarks.contestants import CONTESTANTS
from benchmarks.suite import FULL, LARGE, QUICK, Session, Sizes, sessions, titles

_ABOUT: Final = """Compares tfjob with the Go training-operator on real control planes.

Contestants alternate and the suite is repeated, so that other load on the machine does not affect
only one of them. All processes are stopped at the end and listen on loopback only."""
_ADD: Final = "continue an earlier or interrupted record; repeatable"


class PlannedRun(msgspec.Struct, frozen=True):
    repetition: int
    session: Session
    contestant: str


class Options(msgspec.Struct, frozen=True, kw_only=True):
    runs: list[PlannedRun]
    results: Path
    add: list[Path]
    judge: Path | None
    is_checked: bool

    @property
    def partial(self) -> Path:
        """The file that keeps the results until the benchmark is complete."""
        return self.results / "partial.json"

    @property
    def titles(self) -> dict[str, str]:
        """The scenarios to measure."""
        return titles(run.session for run in self.runs)


def parse_options(arguments: Sequence[str] | None) -> Options:
    """Parse the arguments; exits with a message if they are invalid."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.judge is not None:
        return Options(runs=[], results=given.results, add=[], judge=given.judge, is_checked=True)
    runs = _planned_runs(parser, given)
    if not runs and not given.add:
        parser.error("nothing to measure, and no record was given with --add")
    if not _can_be_written(given.results):
        parser.error(f"--results {given.results}: the directory is not writable")
    options = Options(
        runs=runs, results=given.results, add=given.add, judge=None, is_checked=given.check
    )
    if runs and options.partial.exists() and options.partial not in options.add:
        what = f"{options.partial} holds the results of an interrupted benchmark"
        parser.error(f"{what}: continue with --add {options.partial}, or remove it")
    return options


def scenario_names() -> list[str]:
    """The values of `--only`: sessions, and the steps of those that have several."""
    names = (name for each in sessions(FULL, large=True) for name in _names(each))
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
    add("--quick", action="store_true", help="small sizes: a short run within 5 minutes")
    add("--large", action="store_true", help="also run the scenario of 5,000 jobs")
    add("--fleet", type=_at_least(1), metavar="JOBS", help="number of jobs in the fleet (2,000)")
    add("--only", action="append", help="run only this scenario; repeatable", **only)
    add("--without", action="append", default=[], choices=list(CONTESTANTS), help="skip this one")
    add("--repeat", type=_at_least(0), metavar="N", help="repetitions (3; quick: 1; 0: only --add)")
    add("--results", type=Path, default=record.RESULTS, metavar="DIR", help="output directory")
    add("--add", type=Path, action="append", default=[], metavar="JSON", help=_ADD)
    add("--check", action="store_true", help="fail if a limit is exceeded or was not measured")
    add("--judge", type=Path, metavar="JSON", help="only check an earlier record")
    return parser


def _at_least(least: int) -> Any:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return read


def _planned_runs(parser: argparse.ArgumentParser, given: argparse.Namespace) -> list[PlannedRun]:
    """Contestants alternate within a session, and sessions within a repetition."""
    sizes: Sizes = QUICK if given.quick else FULL
    if given.fleet is not None:
        sizes = msgspec.structs.replace(sizes, fleet=given.fleet)
    wanted = given.only or []
    if given.quick and (given.large or LARGE in wanted):
        parser.error("--quick has no large scenario: remove one of the two")
    planned = sessions(sizes, large=given.large or LARGE in wanted)
    usual = 1 if given.quick else 3
    return [
        PlannedRun(number, session, name)
        for number in range(usual if given.repeat is None else given.repeat)
        for session in planned
        if not wanted or not set(wanted).isdisjoint(_names(session))
        for name in session.contestants
        if name not in given.without
    ]


def _names(session: Session) -> list[str]:
    return [session.name, *(step.name for step in session.steps)]


def _can_be_written(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
