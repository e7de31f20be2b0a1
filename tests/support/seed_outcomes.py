"""How each published job ends, on a cluster and under `tfjob run`: read from outcomes.toml.

The page about the documents shows what the tests check: it is made from the same file.
"""

import tomllib
from typing import NamedTuple

from tests.support.seeds import FOLDER


class Outcome(NamedTuple):
    phase: str
    """The phase or condition of the job that has succeeded."""
    line: str
    """A text in the output of `tfjob run`."""
    needs_gpu: bool = False


OUTCOMES = {
    name: Outcome(**fields)
    for name, fields in tomllib.loads((FOLDER / "outcomes.toml").read_text("utf-8")).items()
}
