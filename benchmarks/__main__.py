"""`python -m benchmarks`: run the benchmark suite and write the results.

Results are saved after each run, so that an interruption costs one run at most.
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
from benchmarks.bench_env import bench_env_for
from benchmarks.command import Options, PlannedRun
from benchmarks.contestants import CONTESTANTS
from benchmarks.watch_probe import BenchmarkFailed, WatchProbe
from tests.support.controlplane.toolchain import Unavailable


def main(arguments: Sequence[str] | None = None) -> int:
    options = command.parse_options(arguments)
    try:
        if options.judge is not None:
            return _judge(record.load(options.judge))
        found = _start_record(options)
    except record.RecordError as reason:
        sys.stderr.write(f"python -m benchmarks: {reason}\n")
        return 1
    try:
        _run(found, options)
    except (Unavailable, BenchmarkFailed) as reason:
        return _report_stop(str(reason), options)
    except KeyboardInterrupt:
        return _report_stop("interrupted", options)
    _write(found, options.results)
    if options.runs:
        options.partial.unlink(missing_ok=True)
    return _judge(found) if options.is_checked else 0


def _start_record(options: Options) -> record.Record:
    this = record.Record(
        command=record.command(sys.argv[1:]), machine=record.this_machine(), runs=[]
    )
    return record.joined([*map(record.load, options.add), this], planned=options.titles)


def _report_stop(reason: str, options: Options) -> int:
    kept = options.partial
    so_far = (
        f"results so far: {kept}; continue with --add {kept}" if kept.exists() else "no results"
    )
    sys.stderr.write(f"\nSTOPPED: {reason}\n{so_far}\n")
    return 1


def _run(found: record.Record, options: Options) -> None:
    if not options.runs:
        return
    with _bar() as bar:
        whole = bar.add_task("all", total=len(options.runs), seen="")
        for run in options.runs:
            asyncio.run(_run_session(found, run, bar))
            bar.advance(whole)
            record.save(found, options.partial)


async def _run_session(found: record.Record, run: PlannedRun, bar: Progress) -> None:
    session, contestant = run.session, CONTESTANTS[run.contestant]
    task = bar.add_task(f"{session.name}: {contestant.title}", total=len(session.steps), seen="")
    shown_at = 0.0

    def show(probe: WatchProbe) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at > 0.25:
            shown_at = time.monotonic()
            bar.update(task, seen=str(probe))

    load, commit = os.getloadavg()[0], record.commit()
    async with bench_env_for(contestant, on_change=show) as env:
        for step in session.steps:
            measured = await step.measure(env)
            found.runs.append(
                record.Run(
                    scenario=step.name,
                    title=step.title,
                    contestant=run.contestant,
                    repetition=run.repetition,
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
    """Write the raw data, the table and, if there is anything to compare, the plot."""
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
