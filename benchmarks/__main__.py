"""`python -m benchmarks`: tfjob beside the Go training-operator, on real control planes.

Contestants take turns, and the whole programme is repeated, so that a busy minute of the machine
does not fall on one of them alone. Ends its own processes; listens on loopback only.
"""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import limits, plot, record, table
from benchmarks.contestants import CONTESTANTS
from benchmarks.courses import FULL, QUICK, Course, courses
from benchmarks.sight import Sight
from benchmarks.stage import stage_for
from tests.support.controlplane.toolchain import Unavailable

_ADD = "go on with an earlier or interrupted record; may be repeated"


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    if chosen.judge is not None:
        return _judge(record.load(chosen.judge))
    sizes = QUICK if chosen.quick else FULL
    if chosen.fleet is not None:
        sizes = msgspec.structs.replace(sizes, fleet=chosen.fleet)
    programme = courses(sizes, large=chosen.large)
    if chosen.only:
        programme = [each for each in programme if _is_wanted(each, chosen.only)]
    try:
        found = _run(programme, chosen)
    except (Unavailable, record.NotAlike) as reason:
        sys.stderr.write(f"NOTHING WAS MEASURED: {reason}\n")
        return 1
    _write(found, chosen.results)
    return _judge(found) if chosen.check else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, allow_abbrev=False
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="small sizes: a first impression within 5 minutes")
    add("--large", action="store_true", help="5,000 jobs as well")
    add("--fleet", type=int, metavar="JOBS", help="how many jobs the fleet has (2,000)")
    add("--only", action="append", metavar="SCENARIO", help="only this one; may be repeated")
    add("--without", action="append", default=[], choices=list(CONTESTANTS), help="leave one out")
    add("--repeat", type=int, metavar="N", help="how often (3; quick: 1; 0: nothing is measured)")
    add("--results", type=Path, default=record.RESULTS, metavar="FOLDER", help="where to write")
    add("--add", type=Path, action="append", default=[], metavar="JSON", help=_ADD)
    add("--check", action="store_true", help="fail when a limit is broken")
    add("--judge", type=Path, metavar="JSON", help="measure nothing; judge an earlier record")
    return parser


def _is_wanted(course: Course, names: Sequence[str]) -> bool:
    return course.name in names or any(step.name in names for step in course.steps)


def _run(programme: list[Course], chosen: argparse.Namespace) -> record.Record:
    usual = 1 if chosen.quick else 3
    repeat = usual if chosen.repeat is None else chosen.repeat
    found = _record(chosen.add, programme if repeat else ())
    turns = [
        (number, course, name)
        for number in range(repeat)
        for course in programme
        for name in course.contestants
        if name not in chosen.without
    ]
    if not turns:
        return found
    with _bar() as bar:
        whole = bar.add_task("all", total=len(turns), seen="")
        for number, course, name in turns:
            asyncio.run(_course(found, course, name, repetition=number, bar=bar))
            bar.advance(whole)
            record.save(found, chosen.results / "partial.json")
    return found


def _record(earlier: Sequence[Path], programme: Sequence[Course]) -> record.Record:
    command = record.command(sys.argv[1:])
    this = record.Record(command=command, machine=record.this_machine(), runs=[])
    planned = {step.name: step.title for course in programme for step in course.steps}
    return record.joined([*map(record.load, earlier), this], planned=planned)


async def _course(
    found: record.Record, course: Course, name: str, *, repetition: int, bar: Progress
) -> None:
    contestant = CONTESTANTS[name]
    task = bar.add_task(f"{course.name}: {contestant.title}", total=len(course.steps), seen="")
    told_at = 0.0

    def show(sight: Sight) -> None:
        nonlocal told_at
        if time.monotonic() - told_at > 0.25:
            told_at = time.monotonic()
            bar.update(task, seen=str(sight))

    load = os.getloadavg()[0]
    async with stage_for(contestant, on_change=show) as stage:
        for step in course.steps:
            measured = await step.measure(stage)
            found.runs.append(
                record.Run(
                    scenario=step.name,
                    title=step.title,
                    contestant=name,
                    repetition=repetition,
                    figures=measured.figures,
                    requests=measured.requests,
                    load=load,
                )
            )
            bar.advance(task)
    bar.update(task, visible=False)


def _bar() -> Progress:
    columns = (
        TextColumn("{task.description:<52}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[seen]}"),
    )
    return Progress(*columns, console=Console(stderr=True))


def _write(found: record.Record, folder: Path) -> None:
    """The raw data, the table and the plot, if there is anything to compare, under one name."""
    (folder / "partial.json").unlink(missing_ok=True)
    name = time.strftime("%Y-%m-%d-%H%M")
    record.save(found, folder / f"{name}.json")
    (folder / f"{name}.md").write_text(table.page(found))
    is_drawn = plot.draw(found, folder / f"{name}.png")
    print(table.page(found))
    print(f"written: {folder / name}.json{', .md and .png' if is_drawn else ' and .md'}")


def _judge(found: record.Record) -> int:
    judged = limits.verdicts(found, limits.read())
    print("\n".join(map(str, judged)))
    return 1 if any(verdict.is_failure for verdict in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
