"""Benchmark records: raw results as JSON, summarised by medians.

All results are kept, and a figure is always shown with its range.
"""

import os
import platform
import shlex
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.contestants import CONTESTANTS

RESULTS: Final = Path(__file__).parent / "results"
_FILES: Final = ("--add", "--results")


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario, done once by one contestant.

    `load` is that of the machine before it, `at` when it ended, `commit` the code that ran it.
    """

    scenario: str
    title: str
    contestant: str
    repetition: int
    figures: dict[str, float]
    requests: dict[str, int] = {}
    load: float = 0.0
    commit: str = ""
    at: str = ""


class Machine(msgspec.Struct, frozen=True):
    cores: int
    system: str
    python: str


class Record(msgspec.Struct):
    """A whole benchmark."""

    command: str
    machine: Machine
    runs: list[Run]


class Summary(msgspec.Struct, frozen=True):
    """The repetitions of one figure."""

    median: float
    least: float
    most: float
    count: int

    def __str__(self) -> str:
        if self.count == 1:
            return f"{self.median:.3g} once"
        return f"{self.least:.3g} to {self.most:.3g}"


class RecordError(Exception):
    """A record is invalid or cannot be combined with others; the message says why."""


def commit() -> str:
    """The commit, with a plus if there are local changes; empty outside a repository."""
    here = Path(__file__).parent
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip()


def command(arguments: Sequence[str]) -> str:
    """The command line without file paths."""
    options, is_file = list[str](), False
    for each in arguments:
        name, _, value = each.partition("=")
        if not is_file and name not in _FILES:
            options.append(each)
        is_file = name in _FILES and not value
    return shlex.join(["python", "-m", "benchmarks", *options])


def joined(records: Sequence[Record], *, planned: Mapping[str, str]) -> Record:
    """One record of all; only what was measured on one machine and in one size is comparable,
    and nothing counts twice.

    `planned` are the titles of scenarios that are still to be measured.
    """
    machines = {each.machine for each in records}
    if len(machines) > 1:
        raise RecordError(f"the records are of different machines: {machines}")
    runs = [run for each in records for run in each.runs]
    for place, run in enumerate(runs):
        if run in runs[:place]:
            raise RecordError(f"the records contain the same run of {run.scenario} twice")
    for scenario in scenarios(runs):
        titles = {run.title for run in runs if run.scenario == scenario}
        titles |= {title for name, title in planned.items() if name == scenario}
        if len(titles) > 1:
            raise RecordError(f"the records have {scenario} in different sizes: {sorted(titles)}")
    return Record("; ".join(each.command for each in records), records[0].machine, runs)


def this_machine() -> Machine:
    system = f"{platform.system()} {platform.machine()}"
    return Machine(os.cpu_count() or 0, system, platform.python_version())


def summary(runs: Iterable[Run], scenario: str, contestant: str, figure: str) -> Summary | None:
    """The summary of a figure; None if it was not measured."""
    values = [
        run.figures[figure]
        for run in runs
        if run.scenario == scenario and run.contestant == contestant and figure in run.figures
    ]
    if not values:
        return None
    return Summary(statistics.median(values), min(values), max(values), len(values))


def requests_per_run(runs: Iterable[Run], scenario: str, contestant: str) -> dict[str, float]:
    """Medians over the repetitions, by verb and resource."""
    found = [
        run.requests for run in runs if (run.scenario, run.contestant) == (scenario, contestant)
    ]
    names = sorted({name for each in found for name in each})
    return {name: statistics.median(each.get(name, 0) for each in found) for name in names}


def scenarios(runs: Iterable[Run]) -> dict[str, str]:
    """Names and titles of the scenarios in the order of the runs."""
    return {run.scenario: run.title for run in runs}


def contestants(runs: Iterable[Run], scenario: str) -> list[str]:
    """The contestants that ran a scenario, in the order of the suite."""
    found = {run.contestant for run in runs if run.scenario == scenario}
    return [name for name in CONTESTANTS if name in found]


def load(path: Path) -> Record:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except OSError as fault:
        raise RecordError(f"{path}: {fault.strerror}") from fault
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise RecordError(f"{path} is not a benchmark record: {fault}") from fault


def save(record: Record, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
