"""The results as a page of Markdown: figures, ratios to the tuned Go operator, requests per run."""

from collections.abc import Iterator
from typing import Final

from benchmarks.contestants import CONTESTANTS, GO_DEFAULT, GO_TUNED, TFJOB
from benchmarks.record import (
    Record,
    Run,
    Summary,
    contestants,
    requests_per_run,
    scenarios,
    summary,
)

FIGURES: Final = {
    "children": ("all pods and services exist", "s"),
    "running": ("all jobs Running", "s"),
    "first_condition_p99": ("a job has its first condition, p99", "s"),
    "running_p99": ("a job says that it runs, p99", "s"),
    "succeeded": ("all jobs Succeeded", "s"),
    "gone": ("everything gone", "s"),
    "pod": ("its pod exists", "s"),
    "served": ("a new job has its pods", "s"),
    "idle_p50": ("replaced, at rest, p50", "s"),
    "idle_p99": ("replaced, at rest, p99", "s"),
    "load_p50": ("replaced, under load, p50", "s"),
    "load_p99": ("replaced, under load, p99", "s"),
    "not_replaced": ("not replaced within 60 s", "pods"),
    "running_cpu": ("operator CPU until all run", "s"),
    "cpu": ("operator CPU in all", "s"),
    "cpu_per_minute": ("operator CPU per minute", "s"),
    "cpu_ms_per_job": ("operator CPU in all, per job", "ms"),
    "memory": ("operator memory", "MB"),
    "peak_memory": ("operator peak memory", "MB"),
    "server_cpu": ("API server CPU", "s"),
    "writes_per_job": ("writes per job until all run, children not counted", ""),
    "job_writes_per_job": ("of these to the job itself", ""),
    "all_writes_per_job": ("the same in all", ""),
}
"""The title and unit of each figure."""


def page(record: Record) -> str:
    return "\n".join(_lines(record)) + "\n"


def _lines(record: Record) -> Iterator[str]:
    machine = record.machine
    yield f"`{record.command}` on {machine.cores} cores, {machine.system}, Python {machine.python}"
    commits = list(dict.fromkeys(run.commit for run in record.runs if run.commit))
    if commits:
        yield f"Code: {', '.join(commits)}"
    yield ""
    yield "Medians; in brackets the least and the most of several repetitions."
    for name, title in scenarios(record.runs).items():
        yield from ("", f"## {name}: {title}", "")
        yield from _figures(record.runs, name)
        yield from _requests(record.runs, name)


def _figures(runs: list[Run], scenario: str) -> Iterator[str]:
    names = contestants(runs, scenario)
    rivals = [name for name in (GO_DEFAULT, GO_TUNED) if name in names and TFJOB in names]
    heads = [CONTESTANTS[name].title for name in names] + [f"ours ÷ {name}" for name in rivals]
    yield f"| | {' | '.join(heads)} |"
    yield f"|---|{'---|' * len(heads)}"
    for figure, (title, unit) in FIGURES.items():
        found = {name: summary(runs, scenario, name, figure) for name in names}
        if any(found.values()):
            cells = [_cell(found[name], unit) for name in names]
            cells += [_ratio(found[TFJOB], found[name]) for name in rivals]
            yield f"| {title} | {' | '.join(cells)} |"


def _requests(runs: list[Run], scenario: str) -> Iterator[str]:
    counted = {name: requests_per_run(runs, scenario, name) for name in contestants(runs, scenario)}
    names = sorted({name for each in counted.values() for name in each})
    if not names:
        return
    yield ""
    yield f"| requests | {' | '.join(CONTESTANTS[name].title for name in counted)} |"
    yield f"|---|{'---|' * len(counted)}"
    for name in names:
        cells = [f"{each.get(name, 0):,.0f}" for each in counted.values()]
        yield f"| {name} | {' | '.join(cells)} |"


def _cell(found: Summary | None, unit: str) -> str:
    if found is None:
        return "-"
    text = f"{_number(found.median)} {unit}".rstrip()
    if found.count == 1:
        return text
    return f"{text} ({_number(found.least)} to {_number(found.most)})"


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _ratio(ours: Summary | None, theirs: Summary | None) -> str:
    if ours is None or theirs is None or not theirs.median:
        return "-"
    return f"{ours.median / theirs.median:.2f}"
