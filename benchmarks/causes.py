"""Injects every known cause, and measures what the job's status says and when.

Causes inside programs strike real processes on a local cluster, all others a real control plane.
The Go training-operator gets the same; for it the fake kubelet reports how programs end. Run as
`python -m benchmarks.causes`, with the names of parts to measure only those again. The results are
kept in benchmarks/results, and docs/causes-measured.md shows them.
"""

import argparse
import asyncio
import math
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.contestants import CONTESTANTS, GO_TUNED
from benchmarks.slow_jobs import SlowJobs, slow_jobs
from tests.support.causes import cluster_cases, node_cases, program_cases
from tests.support.causes.case import WORKER, Case, Outcome, Scene, outcome_of
from tests.support.causes.stages import played_locally, played_on_cluster
from tests.support.controlplane.cluster import ControlPlane
from tests.support.environments import Environment
from tests.support.local_apiserver.process import endpoint_of
from tests.support.local_cluster import WHOLE, LocalCluster
from tests.support.operator_identity import identity_on

PAGE: Final = Path(__file__).parents[1] / "docs" / "causes-measured.md"
RECORD: Final = Path(__file__).parent / "results" / "causes.json"
OURS: Final = "tfjob"
PEER: Final = "peer"
SLOW: Final = "slow"
PARTS: Final = (OURS, PEER, SLOW)
CAUSES: Final = 36
CASES: Final = sorted(
    [*cluster_cases.CASES, *node_cases.CASES, *program_cases.CASES], key=lambda case: case.number
)
_CALM: Final = 10.0
"""Seconds in which an operator says what it is going to say."""
_AT_ONCE: Final = 4
_MAX_CELL: Final = 100
_HEAD: Final = """# Causes measured

Each cause is injected, and the table shows what `status.diagnosis` of the job then says: the code,
and the seconds from the moment at which the API server knew until the diagnosis was stored. Causes
inside programs strike real processes on a local cluster. All others strike a real control plane
with a real scheduler, where a fake kubelet writes what a real one writes. The last column is what
the status of the same job says under training-operator 1.9.3, {calm:.0f} seconds later.
`make causes` writes this page again. [The list of causes](reference/causes.md) has the remedies.

"""


class Named(msgspec.Struct, array_like=True):
    """How soon a cause was named; `fault` is empty if it was named as demanded."""

    number: int
    seconds: float
    fault: str = ""


class Record(msgspec.Struct):
    """What was measured, by case."""

    ours: dict[str, Named] = {}
    peer: dict[str, str] = {}
    slow: SlowJobs | None = None


async def on_cluster(cases: Iterable[Case]) -> list[Outcome]:
    plane = ControlPlane(scheduler=True)
    await asyncio.to_thread(plane.start)
    try:
        env = await asyncio.to_thread(_environment, plane)
        try:
            return await played_on_cluster(plane, cases, _outcome, at_once=_AT_ONCE)
        finally:
            await asyncio.to_thread(env.close)
    finally:
        await asyncio.to_thread(plane.stop)


def _environment(plane: ControlPlane) -> Environment:
    env = Environment("causes", plane, identity=identity_on(plane))
    env.operator.start()
    return env


async def in_programs(cases: Iterable[Case]) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="tfjob-causes-") as folder:
        cluster = LocalCluster(Path(folder), workdir=Path(folder), parts=WHOLE)
        await asyncio.to_thread(cluster.__enter__)
        try:
            endpoint = endpoint_of(cluster.data / "kubeconfig")
            return await played_locally(endpoint, cases, _outcome, at_once=_AT_ONCE)
        finally:
            await asyncio.to_thread(cluster.__exit__)


async def _outcome(case: Case, scene: Scene) -> Outcome:
    found = await outcome_of(case, scene, patience=60.0)
    state = found.fault or f"{found.seconds:.1f} s"
    print(f"  {case.number} {case.title}: {state}", file=sys.stderr, flush=True)
    return found


async def under_peer(cases: Iterable[Case]) -> list[str]:
    """What the status of each job says under the Go operator."""
    plane = ControlPlane(scheduler=True)
    await asyncio.to_thread(plane.start)
    try:
        operator = CONTESTANTS[GO_TUNED].build(plane)
        try:
            await asyncio.to_thread(plane.install_crds, [operator.crd()])
            await asyncio.to_thread(operator.start)
            return await played_on_cluster(plane, cases, _peer_says, at_once=_AT_ONCE)
        finally:
            await asyncio.to_thread(operator.close)
    finally:
        await asyncio.to_thread(plane.stop)


async def _peer_says(case: Case, scene: Scene) -> str:
    if case in program_cases.CASES:
        await _ends_as_program(case, scene)
    else:
        await case.inject(scene)
    await asyncio.sleep(_CALM)
    return shown_by(await scene.status()).replace(scene.namespace, "ns")


async def _ends_as_program(case: Case, scene: Scene) -> None:
    """The worker's end as its kubelet reports it to an operator that leaves the template alone."""
    await scene.submit(restart="Never")
    await scene.running()
    if case.exit_code is not None:
        await scene.kubelet.finish(WORKER, exit_code=case.exit_code)


def shown_by(status: Mapping[str, Any]) -> str:
    """The last condition that holds, with its message."""
    held = [each for each in status.get("conditions") or () if each["status"] == "True"]
    if not held:
        return "nothing"
    return f"{held[-1]['type']}: {held[-1].get('message', '')}"


def page(found: Record) -> str:
    lines = [
        "| # | cause | injected | named as | seconds | training-operator says |",
        "|---|---|---|---|---|---|",
    ]
    for case in CASES:
        each = found.ours.get(key_of(case))
        if each is None:
            continue
        named = f"no: {each.fault}" if each.fault else f"`{case.cause}`"
        said = found.peer.get(key_of(case), "")
        cells = (str(case.number), case.title, case.how, named, f"{each.seconds:.1f}", said)
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return _HEAD.format(calm=_CALM) + "\n".join([*lines, "", *_summary(found), *_slow(found.slow)])


def _summary(found: Record) -> list[str]:
    outcomes = found.ours.values()
    well = [each for each in outcomes if not each.fault]
    missed = {each.number for each in outcomes if each.fault}
    named = {each.number for each in well} - missed
    times = sorted(each.seconds for each in well)
    p95 = times[math.ceil(0.95 * len(times)) - 1] if times else math.nan
    middle = times[len(times) // 2] if times else math.nan
    longest = times[-1] if times else math.nan
    counts = f"{len(well)} of {len(outcomes)} injections, and {len(named)} of {CAUSES} causes,"
    return [
        f"{counts} are named with the right replica, message and remedy.",
        f"Seconds until the diagnosis is stored: median {middle:.1f}, 95th percentile {p95:.1f},",
        f"longest {longest:.1f}.",
        "",
    ]


def key_of(case: Case) -> str:
    return f"{case.number} {case.title}: {case.how}"


def _slow(slow: SlowJobs | None) -> list[str]:
    if slow is None:
        return []
    return [
        "## Healthy and slow jobs",
        "",
        f"{slow.jobs} jobs that are healthy or merely slow: {slow.kinds}.",
        "Each stored state of these jobs is checked. It may report a wait only if the job has",
        "waited for 3 seconds, and a restart only with the exit code that caused it.",
        "",
        f"{slow.states} states, {slow.diagnoses} with a diagnosis, **{len(slow.wrong)} wrong**.",
        "",
    ]


def _cell(text: str) -> str:
    shown = " ".join(text.replace("|", "\\|").split())
    return shown if len(shown) <= _MAX_CELL else f"{shown[: _MAX_CELL - 1]}…"


async def measure(found: Record, parts: Sequence[str]) -> None:
    """Measure these parts, and keep each of them as soon as it is known."""
    if OURS in parts:
        outcomes = await on_cluster([*cluster_cases.CASES, *node_cases.CASES])
        outcomes += await in_programs(program_cases.CASES)
        found.ours = {
            key_of(each.case): Named(each.case.number, each.seconds, each.fault)
            for each in outcomes
        }
        save(found)
    if PEER in parts:
        found.peer = dict(zip(map(key_of, CASES), await under_peer(CASES), strict=True))
        save(found)
    if SLOW in parts:
        found.slow = await slow_jobs()
        save(found)


def load() -> Record:
    return msgspec.json.decode(RECORD.read_bytes(), type=Record) if RECORD.exists() else Record()


def save(found: Record) -> None:
    RECORD.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    PAGE.write_text(page(found))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.causes", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], help="what to measure again (default: all)"
    )
    found = load()
    asyncio.run(measure(found, parser.parse_args(arguments).parts or PARTS))
    print(page(found))
    is_well = not any(each.fault for each in found.ours.values())
    return 0 if is_well and not (found.slow and found.slow.wrong) else 1


if __name__ == "__main__":
    sys.exit(main())
