"""Runs a command on a terminal in memory and draws the screen as SVG, once it shows a text.

python -m tools.screenshot docs/images/run.svg --until 'step 200' -- tfjob run job.yaml
"""

import argparse
import io
import os
from itertools import groupby
from pathlib import Path
from typing import Final

from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tests.support.terminal import Terminal

_COLOURS: Final = {"brown": "yellow", "default": None}
"""What pyte calls a colour, and what rich does."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tools.screenshot")
    parser.add_argument("picture", type=Path, help="the SVG file to write")
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--rows", type=int, default=24)
    parser.add_argument("--until", required=True, help="the text to wait for")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    with Terminal(
        given.command, columns=given.columns, rows=given.rows, environ=os.environ
    ) as terminal:
        terminal.until(lambda lines: any(given.until in line for line in lines))
        program, *arguments = given.command
        picture = drawing(terminal, title=" ".join([Path(program).name, *arguments]))
    given.picture.write_text(picture, encoding="utf-8")
    return 0


def drawing(terminal: Terminal, *, title: str) -> str:
    screen = terminal.screen
    console = Console(record=True, width=screen.columns, file=io.StringIO())
    for row in range(screen.lines):
        cells = [screen.buffer[row][column] for column in range(screen.columns)]
        line = Text()
        for style, run in groupby(cells, key=_style):
            line.append("".join(cell.data for cell in run), style=style)
        line.rstrip()
        console.print(line, no_wrap=True, highlight=False)
    return console.export_svg(title=title)


def _style(char: Char) -> Style:
    colour = _COLOURS.get(char.fg, char.fg)
    return Style(color=colour, bold=char.bold, reverse=char.reverse)


if __name__ == "__main__":
    raise SystemExit(main())
