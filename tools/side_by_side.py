"""Generates the page that compares our operator with training-operator on the same cluster.

`make e2e ONLY=side_by_side RECORD=1` records what each of them did with the same jobs.
docs/side-by-side.toml says what each case is, and why the two differ where they do.
"""

import json
import statistics
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORD = "tests/e2e_node/side_by_side.json"
SOURCE = "docs/side-by-side.toml"
_STARTS = "starts"
_FIELDS = ("conditions", "events", "pods", "TF_CONFIG")
Json = Mapping[str, Any]
_HEAD = """\
# Side by side with training-operator

Generated from [a record](../tests/e2e_node/side_by_side.json) of
`make e2e ONLY=side_by_side RECORD=1 STARTS=20`. On [a real node](testing.md#a-real-node), tfjob and
training-operator 1.9.3 get the same jobs at the same time, each in its own namespace and with its
defaults. The page compares the conditions of the job, the kinds of its events, the pods that stay,
and `TF_CONFIG` of each replica. Seconds are from the creation of the job until its end, on a busy
machine with two cores; no test asserts them.
"""


class SideBySideError(ValueError):
    """A case is not described, or the two differ and nothing says why."""


def page(root: Path) -> str:
    """The page of the record in a checkout. Raises SideBySideError."""
    record = json.loads((root / RECORD).read_text("utf-8"))
    texts = tomllib.loads((root / SOURCE).read_text("utf-8"))
    cases = {name: found for name, found in record.items() if name != _STARTS}
    missing = cases.keys() ^ texts.keys()
    if missing:
        raise SideBySideError(f"{SOURCE}, {RECORD}: {', '.join(sorted(missing))}: only in one")
    lines = [_HEAD, *_starts(record.get(_STARTS))]
    lines += ["## Cases", "", "| case | seconds, ours | theirs | differs in | why |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    lines += [_row(name, cases[name], text) for name, text in texts.items()]
    lines += ["", "## What differs"]
    lines += [line for name, text in texts.items() for line in _details(text["what"], cases[name])]
    return "\n".join(lines) + "\n"


def _starts(found: Json | None) -> Iterator[str]:
    if not found:
        return
    ours, theirs = (statistics.median(found[each]) for each in ("ours", "theirs"))
    spans = {each: f"{min(found[each])} to {max(found[each])}" for each in found}
    yield "## Start"
    yield ""
    yield (
        f"From `kubectl apply` of a job with three workers to the last container, medians of "
        f"{len(found['ours'])}, taken in turns: tfjob {ours:.2f} s ({spans['ours']}), "
        f"training-operator {theirs:.2f} s ({spans['theirs']})."
    )
    yield ""


def _row(name: str, case: Json, text: Mapping[str, str]) -> str:
    differing = _differing(case)
    why = text.get("why", "")
    if bool(differing) != bool(why):
        raise SideBySideError(f"{SOURCE}: {name}: differs in {differing or 'nothing'}, why: {why}")
    seconds = (_seconds(case[side]["seconds"]) for side in ("ours", "theirs"))
    cells = (text["what"], *seconds, ", ".join(differing) or "-", why or "-")
    return f"| {' | '.join(cells)} |"


def _seconds(value: float | None) -> str:
    return "not seen" if value is None else f"{value:.1f}"


def _differing(case: Json) -> list[str]:
    ours, theirs = case["ours"], case["theirs"]
    found = [field for field in _FIELDS if ours[field] != theirs[field]]
    if theirs["seconds"] is None:
        found.append("end")
    return found


def _details(title: str, case: Json) -> Iterator[str]:
    fields = [field for field in _differing(case) if field in _FIELDS]
    if not fields:
        return
    yield from ("", f"### {title}", "", "| | tfjob | training-operator |", "| --- | --- | --- |")
    for field in fields:
        ours, theirs = _only(case["ours"][field], case["theirs"][field])
        yield f"| {field} | {ours} | {theirs} |"


def _only(ours: Any, theirs: Any) -> tuple[str, str]:
    """Both values; of a TF_CONFIG only the first replica whose text differs."""
    if isinstance(ours, dict):
        replica = next(each for each in sorted(ours | theirs) if ours.get(each) != theirs.get(each))
        return f"{replica}: `{ours.get(replica)}`", f"{replica}: `{theirs.get(replica)}`"
    return _listed(ours), _listed(theirs)


def _listed(value: list[str]) -> str:
    return "<br>".join(value) or "-"
