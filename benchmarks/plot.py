"""The results as one picture: the ratio of tfjob to the tuned peer, figure by figure."""

from pathlib import Path
from typing import Final

from benchmarks.contestants import OURS, PEER
from benchmarks.record import Record, summary

_SHOWN: Final = (("many", "children"),)


def draw(record: Record, path: Path) -> None:
    """Write a PNG."""
