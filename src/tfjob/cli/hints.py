"""Hints for failures whose cause the last lines of a program show."""

import re
from collections.abc import Sequence
from typing import Final

_MISSING_MODULE: Final = re.compile(
    r"(?:ModuleNotFoundError|ImportError): No module named '?([\w.]+)"
)


def for_lines(lines: Sequence[str], *, python: str) -> str:
    """What to try next; empty if the lines give no clue."""
    for line in reversed(lines):
        match = _MISSING_MODULE.search(line)
        if match:
            return (
                f"{match[1]} is not installed for {python or 'this Python'}; activate the virtual"
                " environment that has it, or name its Python with --python"
            )
    return ""
