"""The results as one picture: by how much tfjob is below or above the tuned peer, and bare creates.

Law: every bar is a ratio of medians of one run; shorter is better, and 1 is the other's figure.
"""

from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from benchmarks.contestants import OURS, PEER, RAW
from benchmarks.record import Record, scenarios, summary
from benchmarks.table import FIGURES

_LEFT_OUT: Final = {"large_job_pods_before", "cpu_ms_per_job"}
_OURS_IS_LESS: Final = "#2a7f62"
_OURS_IS_MORE: Final = "#b5543a"


def draw(record: Record, path: Path) -> bool:
    """Write a PNG, and tell whether: there is nothing to draw where nobody was compared."""
    bars = ratios(record)
    if not bars:
        return False
    figure = Figure(figsize=(9, 0.8 + 0.28 * len(bars)), layout="constrained")
    axes = figure.subplots()
    values = [value for _, value in bars]
    places = range(len(bars))
    colours = [_OURS_IS_LESS if value <= 1 else _OURS_IS_MORE for value in values]
    axes.barh(places, values, color=colours)
    axes.set_yticks(places, [name for name, _ in bars], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    for place, value in zip(places, values, strict=True):
        axes.text(value, place, f" {value:.2f}", va="center", fontsize=8)
    axes.set_xlim(0, max(1.3, *values) * 1.08)
    axes.set_title("tfjob ÷ training-operator tuned (16 threads, 5,000 QPS); shorter is better")
    figure.savefig(path, dpi=110)
    return True


def ratios(record: Record) -> list[tuple[str, float]]:
    """What is compared, in words, and how ours stands to it."""
    runs, found = record.runs, list[tuple[str, float]]()
    for scenario, title in scenarios(runs).items():
        for figure, (words, _) in FIGURES.items():
            ours = summary(runs, scenario, OURS, figure)
            theirs = summary(runs, scenario, PEER, figure)
            if ours and theirs and theirs.median and figure not in _LEFT_OUT:
                found.append((f"{title}: {words}", ours.median / theirs.median))
    ours, bare = summary(runs, "many", OURS, "children"), summary(runs, "raw", RAW, "children")
    if ours and bare:
        found.append(("÷ bare creates: all pods and services exist", ours.median / bare.median))
    return found
