"""The page docs/simulation-results.md: what runs of the simulation came to, by commit.

Each kind of run owns one table and replaces its rows when it is run again with `--write`.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

PAGE: Final = "docs/simulation-results.md"
Row = Sequence[str]


class Table(msgspec.Struct, frozen=True):
    """The rows of one run; `name` says which table they belong to."""

    name: str
    rows: Sequence[Row]


def store(root: Path, table: Table) -> None:
    """Put the rows into their table; the commit is that of the checkout."""
    path = root / PAGE
    text = path.read_text("utf-8")
    path.write_text(placed(text, table, commit=_commit(root)), "utf-8")


def placed(text: str, table: Table, *, commit: str) -> str:
    """The page with these rows between the marks of their table."""
    begin, end = f"<!-- begin {table.name} -->\n", f"<!-- end {table.name} -->"
    if begin not in text or end not in text:
        raise ValueError(f"{PAGE} has no place for {table.name}: add the two marks")
    before, _, rest = text.partition(begin)
    old, _, after = rest.partition(end)
    header = [line for line in old.splitlines() if line.startswith("|")][:2]
    rows = [f"| {' | '.join((*map(_cell, row), f'`{commit}`'))} |" for row in table.rows]
    return "\n".join([before + begin.rstrip(), *header, *rows, end + after])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _commit(root: Path) -> str:
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=7"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
