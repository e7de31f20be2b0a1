"""`python -m tests.schedulers`: gangs on the real schedulers and queues, case by case.

Prints each case with its seconds as it ends, and a table at the end. What cannot be had on this
machine is SKIPPED in a line of its own. The exit code is 1 if a case failed.
"""

import argparse
import inspect
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.schedulers.ground import CaseError, Ground
from tests.schedulers.report import PAGE, Outcome, page, store, stored, table
from tests.schedulers.running import grounds
from tests.schedulers.ways import WAYS, Way
from tests.support.controlplane.toolchain import Toolchain, Unavailable


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="schedulers", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], metavar="WAY", help=", ".join(WAYS))
    parser.add_argument("--cases", nargs="*", default=[], metavar="CASE", help="only these cases")
    parser.add_argument("--write", action="store_true", help="keep the results for the docs")
    asked = parser.parse_args(arguments)
    unknown = [name for name in asked.only if name not in WAYS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(WAYS)}")
    outcomes: list[Outcome] = []
    for name in asked.only or WAYS:
        outcomes += _run_way(name, WAYS[name], cases=asked.cases)
        if asked.write:
            _write(outcomes)
    print(f"\n{table(outcomes, ways=list(WAYS))}", flush=True)
    return int(any(each.is_failed for each in outcomes))


def _write(outcomes: Sequence[Outcome]) -> None:
    """Keep the outcomes, and write the page from all that are kept."""
    store(outcomes)
    texts: dict[str, str] = {}
    for way in WAYS.values():
        for name, case in way.cases.items():
            texts.setdefault(name, " ".join((inspect.getdoc(case) or "").split()))
    titles = {name: way.title for name, way in WAYS.items()}
    PAGE.write_text(page(stored(), cases=texts, ways=titles))


def _run_way(name: str, way: Way, *, cases: Sequence[str]) -> list[Outcome]:
    wanted = [case for case in way.cases if not cases or case in cases]
    folder = Path(tempfile.mkdtemp(prefix=f"tfjob-schedulers-{name}-"))
    outcomes = [Outcome(name, case, None, text) for case, text in way.not_offered.items()]
    wanted = [case for case in wanted if case not in way.not_offered]
    if not wanted:
        return outcomes
    try:
        with grounds(way, Toolchain(os.environ), folder=folder) as new_ground:
            for case in wanted:
                outcomes.append(_run_case(name, way, case, new_ground))
                print(outcomes[-1].line, flush=True)
    except Unavailable as missing:
        print(f"SKIPPED: {name}: {missing}", flush=True)
        outcomes += [Outcome(name, case, None, "SKIPPED") for case in wanted]
    if any(each.is_failed for each in outcomes):
        print(f"logs of {name}: {folder}", flush=True)
    else:
        shutil.rmtree(folder)
    return outcomes


def _run_case(name: str, way: Way, case: str, new_ground: Callable[[], Ground]) -> Outcome:
    ground = new_ground()
    try:
        seconds = way.cases[case](ground)
    except CaseError as fault:
        told = f"no: {fault.what}" if way.is_peer else str(fault)
        outcome = Outcome(name, case, None, told, is_failed=not way.is_peer)
    except Exception:  # noqa: BLE001 - one case must not end the others
        outcome = Outcome(name, case, None, traceback.format_exc(), is_failed=True)
    else:
        outcome = Outcome(name, case, seconds)
    try:
        ground.clear()
    except CaseError as left:
        told = f"{outcome.fault} {left.what if way.is_peer else left}".strip()
        return Outcome(name, case, None, told, is_failed=not way.is_peer)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
