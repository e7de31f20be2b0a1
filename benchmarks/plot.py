"""Plots the ratios of tfjob's figures to those of the tuned Go operator and of no operator.

Every bar is a ratio of medians of one run. It starts at 1 and extends to the left if tfjob's figure
is smaller; the scale is logarithmic.
"""

from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from benchmarks.contestants import GO_TUNED, RAW, TFJOB
from benchmarks.record import Record, scenarios, summary
from benchmarks.table import FIGURES

_LEFT_OUT: Final = {"large_job_pods_before", "cpu_ms_per_job"}
_WHOLE: Final = {
    "job_writes_per_job": "writes to the job itself until all run",
    "all_writes_per_job": "writes per job in all, children not counted",
}
"""Complete titles for figures whose titles refer to another figure."""
_OURS_IS_LESS: Final = "#2a7f62"
_OURS_IS_MORE: Final = "#b5543a"


def draw(record: Record, path: Path) -> bool:
    """Write a PNG; returns False if there is nothing to compare."""
    bars = ratios(record)
    if not bars:
        return False
    figure = Figure(figsize=(9, 0.8 + 0.28 * len(bars)), layout="constrained")
    axes = figure.subplots()
    values = [value for _, value in bars]
    places = range(len(bars))
    colours = [_OURS_IS_LESS if value <= 1 else _OURS_IS_MORE for value in values]
    axes.barh(places, [value - 1 for value in values], left=1, color=colours)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_yticks(places, [name for name, _ in bars], fontsize=8)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.axvline(1, color="black", linewidth=0.8)
    for place, value in zip(places, values, strict=True):
        side = "right" if value <= 1 else "left"
        axes.text(value, place, f" {value:.2f} ", va="center", ha=side, fontsize=8)
    axes.set_xlim(min(0.5, *values) / 2, max(2, *values) * 2)
    figure.suptitle("tfjob ÷ tuned training-operator; further left is better", fontsize=10)
    figure.savefig(path, dpi=110)
    return True


def ratios(record: Record) -> list[tuple[str, float]]:
    """The title of each comparison, and tfjob's ratio to the other."""
    runs, found = record.runs, list[tuple[str, float]]()
    for scenario, title in scenarios(runs).items():
        for figure, (words, _) in FIGURES.items():
            ours = summary(runs, scenario, TFJOB, figure)
            theirs = summary(runs, scenario, GO_TUNED, figure)
            if ours and theirs and ours.median and theirs.median and figure not in _LEFT_OUT:
                name = _WHOLE.get(figure, words)
                found.append((f"{title}: {name}", ours.median / theirs.median))
    ours, bare = summary(runs, "many", TFJOB, "children"), summary(runs, "raw", RAW, "children")
    if ours and bare:
        found.append(
            (
                "÷ no operator: all pods and services exist",
                ours.median / bare.median,
            )
        )
    return found
