"""`python -m benchmarks`: measure what was asked for, turn by turn, and write down what came of it.

What was measured is kept after each turn, so that whatever ends a benchmark costs one turn.
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import command, limits, plot, record, table
from benchmarks.bench_env import stage_for
from benchmarks.command import Asked, Turn
from benchmarks.contestants import CONTESTANTS
from benchmarks.watch_probe import Failed, Sight
from tests.support.controlplane.toolchain import Unavailable


def main(arguments: Sequence[str] | None = None) -> int:
    asked = command.parsed(arguments)
    try:
        if asked.judge is not None:
            return _judge(record.load(asked.judge))
        found = _begun(asked)
    except record.RecordError as reason:
        sys.stderr.write(f"python -m benchmarks: {reason}\n")
        return 1
    try:
        _run(found, asked)
    except (Unavailable, Failed) as reason:
        return _stopped(str(reason), asked)
    except KeyboardInterrupt:
        return _stopped("interrupted", asked)
    _write(found, asked.results)
    if asked.turns:
        asked.partial.unlink(missing_ok=True)
    return _judge(found) if asked.is_checked else 0


def _begun(asked: Asked) -> record.Record:
    this = record.Record(
        command=record.command(sys.argv[1:]), machine=record.this_machine(), runs=[]
    )
    return record.joined([*map(record.load, asked.add), this], planned=asked.titles)


def _stopped(reason: str, asked: Asked) -> int:
    kept = asked.partial
    so_far = f"so far: {kept}; go on with --add {kept}" if kept.exists() else "nothing was measured"
    sys.stderr.write(f"\nSTOPPED: {reason}\n{so_far}\n")
    return 1


def _run(found: record.Record, asked: Asked) -> None:
    if not asked.turns:
        return
    with _bar() as bar:
        whole = bar.add_task("all", total=len(asked.turns), seen="")
        for turn in asked.turns:
            asyncio.run(_course(found, turn, bar))
            bar.advance(whole)
            record.save(found, asked.partial)


async def _course(found: record.Record, turn: Turn, bar: Progress) -> None:
    course, contestant = turn.course, CONTESTANTS[turn.contestant]
    task = bar.add_task(f"{course.name}: {contestant.title}", total=len(course.steps), seen="")
    told_at = 0.0

    def show(sight: Sight) -> None:
        nonlocal told_at
        if time.monotonic() - told_at > 0.25:
            told_at = time.monotonic()
            bar.update(task, seen=str(sight))

    load, commit = os.getloadavg()[0], record.commit()
    async with stage_for(contestant, on_change=show) as stage:
        for step in course.steps:
            measured = await step.measure(stage)
            found.runs.append(
                record.Run(
                    scenario=step.name,
                    title=step.title,
                    contestant=turn.contestant,
                    repetition=turn.repetition,
                    figures=measured.figures,
                    requests=measured.requests,
                    load=load,
                    commit=commit,
                    at=datetime.now(UTC).isoformat(timespec="seconds"),
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
    name = time.strftime("%Y-%m-%d-%H%M%S")
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
