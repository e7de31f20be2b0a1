"""Injects the same faults into tfjob and the Go training-operator, and compares the results.

Each operator gets a control plane of its own; each fault gets a namespace of its own. Run as
`python -m benchmarks.faults`; `--write` puts the table in docs/faults.md.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.contestants import CONTESTANTS, GO_TUNED, TFJOB, Operator
from benchmarks.fault_scenarios import SCENARIOS, Scenario
from benchmarks.fault_trial import NotSo, Trial
from tests.support.controlplane.cluster import ControlPlane
from tests.support.fake_kubelet.driver import FakeKubelet

PAGE: Final = Path(__file__).parents[1] / "docs" / "faults.md"
AS_DEMANDED: Final = "yes"
AT_ONCE: Final = 3
_LONGEST: Final = 180.0
_HEAD: Final = """# Faults compared

The same faults, injected into tfjob and training-operator 1.9.3 on a real API server. `yes` means
that the operator did what the second column requires; otherwise the cell says what it did. A fake
kubelet reports the states of pods. `make faults` writes the table again.

"""

Results = dict[str, str]


async def played(scenario: Scenario, plane: ControlPlane, operator: Operator) -> str:
    """What came of one fault."""
    namespace = await asyncio.to_thread(plane.create_namespace, "fault-")
    async with FakeKubelet(plane.endpoint, namespace=namespace) as kubelet:
        trial = Trial(plane, operator, kubelet=kubelet, namespace=namespace)
        async with trial.opened():
            try:
                async with asyncio.timeout(_LONGEST):
                    await scenario.play(trial)
            except NotSo as found:
                return f"no: {found}"
            except TimeoutError:
                return f"no: not finished after {_LONGEST:.0f} s"
            finally:
                await trial.call("DELETE", trial.jobs)
    return AS_DEMANDED


async def results_of(name: str, scenarios: Iterable[Scenario]) -> Results:
    """Those that stop a process run alone, the others a few at a time."""
    found: Results = {}
    plane = ControlPlane()
    await asyncio.to_thread(plane.start)
    try:
        operator = CONTESTANTS[name].build(plane)
        try:
            await asyncio.to_thread(plane.install_crds, [operator.crd()])
            await asyncio.to_thread(operator.start)
            await _play_all(found, scenarios, plane=plane, operator=operator)
        finally:
            await asyncio.to_thread(operator.close)
    finally:
        await asyncio.to_thread(plane.stop)
    return found


async def _play_all(
    found: Results, scenarios: Iterable[Scenario], *, plane: ControlPlane, operator: Operator
) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def play(scenario: Scenario) -> None:
        async with turns:
            found[scenario.title] = await played(scenario, plane, operator)
            print(f"  {scenario.title}: {found[scenario.title]}", file=sys.stderr, flush=True)

    both = list(scenarios)
    async with asyncio.TaskGroup() as group:
        for each in both:
            if not each.is_disruptive:
                group.create_task(play(each))
    for each in both:
        if each.is_disruptive:
            await play(each)


def page(found: Mapping[str, Results], scenarios: Sequence[Scenario]) -> str:
    heads = " | ".join(CONTESTANTS[name].title for name in found)
    lines = [f"| fault | required | {heads} |", f"|---|---|{'---|' * len(found)}"]
    for each in scenarios:
        cells = " | ".join(results[each.title] for results in found.values())
        lines.append(f"| {each.title} | {each.demand} | {cells} |")
    sums = " | ".join(
        f"{sum(result == AS_DEMANDED for result in results.values())} of {len(results)}"
        for results in found.values()
    )
    lines.append(f"| all | | {sums} |")
    return _HEAD + "\n".join(lines) + "\n"


async def measure(names: Sequence[str], scenarios: Sequence[Scenario]) -> dict[str, Results]:
    found: dict[str, Results] = {}
    for name in names:
        print(CONTESTANTS[name].title, file=sys.stderr, flush=True)
        found[name] = await results_of(name, scenarios)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--operator", choices=(TFJOB, GO_TUNED), help="only this operator")
    parser.add_argument("--fault", default="", help="only faults whose title has this text")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args(arguments)
    scenarios = [each for each in SCENARIOS if asked.fault in each.title]
    names = [asked.operator] if asked.operator else [TFJOB, GO_TUNED]
    found = asyncio.run(measure(names, scenarios))
    text = page(found, scenarios)
    print(text)
    if asked.write:
        PAGE.write_text(text)
    is_well = all(result == AS_DEMANDED for result in found.get(TFJOB, {}).values())
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
