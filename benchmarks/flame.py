"""Draws a flame graph from folded stacks: the width of a box is its share of the time.

Run as `python -m benchmarks.flame STACKS PNG` on the output of `py-spy record --format raw`.
Frames that nearly all samples share are omitted, and so are boxes too small to see.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

_LEAST: Final = 0.004
_DEEPEST: Final = 22
_SHARED: Final = 0.9
_WIDTH: Final = 150
"""Characters that fit in a row."""
_PLACE: Final = re.compile(r"^(?P<name>[^(]+) \((?P<file>.+?)(?::\d+)?\)$")
_COLOURS: Final = (("tfjob/", "#8fc7a5"), ("aiohttp", "#e8b26a"), ("", "#c9ced6"))


class Box(msgspec.Struct):
    """A function in its call stack, and the number of samples that contain it."""

    name: str
    file: str = ""
    samples: int = 0
    below: dict[str, "Box"] = msgspec.field(default_factory=dict)


def read(text: str) -> Box:
    whole = Box("all")
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        box, number = whole, int(count)
        box.samples += number
        for frame in stack.split(";"):
            place = _PLACE.match(frame)
            name, file = (place["name"], place["file"]) if place else (frame, "")
            box = box.below.setdefault(f"{name} {file}", Box(name, file))
            box.samples += number
    return whole


def without_shared(box: Box) -> Box:
    """The first box below which the samples branch."""
    while box.below:
        widest = max(box.below.values(), key=lambda below: below.samples)
        if widest.samples < _SHARED * box.samples:
            return box
        box = widest
    return box


def boxes(box: Box, *, left: float, level: int, whole: int) -> Iterator[tuple[Box, float, int]]:
    """Each visible box, with its left edge and its level."""
    if box.samples / whole < _LEAST or level > _DEEPEST:
        return
    yield box, left, level
    for each in sorted(box.below.values(), key=lambda below: below.name):
        yield from boxes(each, left=left, level=level + 1, whole=whole)
        left += each.samples / whole


def draw(whole: Box, path: Path) -> None:
    seen = list(boxes(whole, left=0.0, level=0, whole=whole.samples))
    levels = max(level for _, _, level in seen) + 1
    figure = Figure(figsize=(13, 0.27 * levels + 0.5), layout="constrained")
    axes = figure.subplots()
    for box, left, level in seen:
        _add(axes, box, left=left, level=level, share=box.samples / whole.samples)
    axes.set_xlim(0, 1)
    axes.set_ylim(levels, 0)
    axes.axis("off")
    figure.savefig(path, dpi=110)


def _add(axes: Axes, box: Box, *, left: float, level: int, share: float) -> None:
    colour = next(colour for start, colour in _COLOURS if start in box.file)
    axes.add_patch(Rectangle((left, level), share, 0.94, facecolor=colour, edgecolor="white"))
    room = int(share * _WIDTH)
    if room > 3:
        text = f"{box.name} {share:.0%}"[:room]
        axes.text(left + 0.001, level + 0.68, text, fontsize=6.5, clip_on=True)


def main(stacks: str, picture: str) -> None:
    draw(without_shared(read(Path(stacks).read_text())), Path(picture))


if __name__ == "__main__":
    main(*sys.argv[1:])
