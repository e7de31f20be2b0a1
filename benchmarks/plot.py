"""The results as one picture: by how much tfjob is below or above the tuned peer, and bare creates.

Law: every bar is a ratio of medians of one run. It begins at 1, the other's figure, and goes to the
left where ours is less; half and double are equally long.
"""

from pathlib import Path
from typing import Final

from matplotlib.figure import Figure

from benchmarks.contestants import OURS, PEER, RAW
from benchmarks.record import Record, scenarios, summary
from benchmarks.table import FIGURES

_LEFT_OUT: Final = {"large_job_pods_before", "cpu_ms_per_job"}
_WHOLE: Final = {
    "job_writes_per_job": "writes to the job itself until all run",
    "all_writes_per_job": "writes per job in all, children not counted",
}
"""What a figure is called where the one it refers to does not stand above it."""
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
    """What is compared, in words, and how ours stands to it."""
    runs, found = record.runs, list[tuple[str, float]]()
    for scenario, title in scenarios(runs).items():
        for figure, (words, _) in FIGURES.items():
            ours = summary(runs, scenario, OURS, figure)
            theirs = summary(runs, scenario, PEER, figure)
            if ours and theirs and ours.median and theirs.median and figure not in _LEFT_OUT:
                name = _WHOLE.get(figure, words)
                found.append((f"{title}: {name}", ours.median / theirs.median))
    ours, bare = summary(runs, "many", OURS, "children"), summary(runs, "raw", RAW, "children")
    if ours and bare:
        found.append(("÷ bare creates: all pods and services exist", ours.median / bare.median))
    return found
