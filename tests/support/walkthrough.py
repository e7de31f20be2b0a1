"""Pages whose commands are run: blocks of the language `console`, with the output they have.

A line that begins with `$ ` is a command; the lines after it are its output. `…` stands for any
text of a line, and alone on a line for any number of lines. The amount of blank space is free.
Blocks of the language `console local` show what only a local cluster does.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_BLOCK = re.compile(r"^```console( local)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Step(NamedTuple):
    """One command, and the output that the page shows."""

    command: str
    shown: str
    is_local: bool = False
    """The output differs on a cluster whose pods are not processes of this machine."""

    def fits(self, output: str) -> bool:
        return _pattern(self.shown).fullmatch(_tidy(output)) is not None


def steps_of(page: str) -> Iterator[Step]:
    """The commands of a page, in order."""
    for local, block in _BLOCK.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield Step(command, shown, is_local=bool(local))


def _pattern(shown: str) -> re.Pattern[str]:
    parts = []
    for line in _tidy(shown).splitlines(keepends=True):
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*")
        else:
            parts.append(".*".join(re.escape(piece) for piece in line.split("…")))
    return re.compile("".join(parts))


def _tidy(text: str) -> str:
    """The text with single spaces, without empty lines, and with an end to each line."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return "".join(f"{line}\n" for line in lines if line)
