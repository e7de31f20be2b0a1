"""The results of a run: lines, a table of cases and ways, and a page of the documentation."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

RESULTS: Final = Path(__file__).parent / "results.json"
PAGE: Final = Path(__file__).parents[2] / "docs" / "schedulers.md"
_HEAD: Final = """# Gangs on real schedulers and queues

Written by `make e2e-schedulers WRITE=1`, which runs each scheduler or queue on a real control plane
of Kubernetes 1.36.3 with kwok nodes of eight accelerators. A job has four workers that need a node
each. The operator has the permissions of the chart. Seconds are from one run of
each case, on a machine with two cores that did other work most of the time; no test asserts them.
A column that ends in `-go` shows the same with the Go operator, which has all permissions
and sixty seconds for each step; `no` says what it did not do. It
does not say why a job waits, so that part of `all-or-nothing` is left out for it. `Kueue keeps the
quota`: Kueue 0.15.0 stops a job of MultiKueue and then waits forever for a status without active
replicas, which it does not copy from the other cluster.

| case | what must happen |
|---|---|
"""


@dataclass(frozen=True)
class Outcome:
    """What one case gave with one way: its seconds, or why there are none."""

    way: str
    case: str
    seconds: float | None
    fault: str = ""
    is_failed: bool = False

    @property
    def line(self) -> str:
        told = "FAILED" if self.is_failed else "passed"
        took = "" if self.seconds is None else f" {self.seconds:.1f} s"
        return f"{told}: {self.way}: {self.case}{took} {self.fault}".rstrip()

    @property
    def cell(self) -> str:
        if self.is_failed:
            return f"FAILED: {self.fault.splitlines()[0].partition(';')[0]}"
        return self.fault if self.seconds is None else f"{self.seconds:.1f} s"


def page(outcomes: Sequence[Outcome], *, cases: Mapping[str, str], ways: Mapping[str, str]) -> str:
    """The page of the documentation: the cases in words, and the table."""
    words = "\n".join(f"| {name} | {text} |" for name, text in cases.items())
    titles = "\n".join(f"- `{name}`: {title}" for name, title in ways.items())
    known = [each for each in outcomes if each.way in ways and each.case in cases]
    known.sort(key=lambda each: (list(cases).index(each.case), list(ways).index(each.way)))
    return f"{_HEAD}{words}\n\n{titles}\n\n{table(known, ways=list(ways))}\n"


def table(outcomes: Sequence[Outcome], *, ways: Sequence[str]) -> str:
    """A Markdown table, one row per case and one column per way."""
    ways = [way for way in ways if any(each.way == way for each in outcomes)]
    cases = list(dict.fromkeys(each.case for each in outcomes))
    cells = {(each.case, each.way): each.cell for each in outcomes}
    rows = [["case", *ways], ["---", *("---" for _ in ways)]]
    rows += [[case, *(cells.get((case, way), "-") for way in ways)] for case in cases]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def store(outcomes: Sequence[Outcome]) -> None:
    """Keep the outcomes beside those of earlier runs with other ways."""
    known = {(each.way, each.case): each for each in stored()}
    known |= {(each.way, each.case): each for each in outcomes}
    RESULTS.write_text(json.dumps([asdict(each) for each in known.values()], indent=1) + "\n")


def stored() -> list[Outcome]:
    """The outcomes of the last runs."""
    if not RESULTS.exists():
        return []
    return [Outcome(**each) for each in json.loads(RESULTS.read_text())]
