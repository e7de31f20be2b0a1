"""Simulate histories of the controller, hunt mutants, or run the proofs that count their cases.

A seed determines a history. A history that violates an invariant is shrunk and printed step by
step. With `--write` the result enters docs/simulation-results.md. See docs/simulation.md.
"""

import argparse
import resource
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.simulation.mutants.catalogue import MUTANTS
from tests.simulation.mutants.patching import alive
from tests.support.histories import clock_jumps, history
from tests.support.histories.proofs import PROOFS, tally
from tools import simulation_results
from tools.simulation_results import Table

_CHUNK = 50
_PRINTED = 3
"""This many failed histories are printed step by step; of the others only the seed."""
_CASES = 1000
"""Each proof counts at least so many."""
_JUMPING = 1000
_JUMPS = "histories with all clocks jumping by ten minutes; every decision is as without jumps"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--mutants", action="store_true", help="hunt the mutants instead")
    parser.add_argument("--prove", action="store_true", help="run the proofs instead")
    parser.add_argument("--write", action="store_true", help="store the result in the docs")
    given = parser.parse_args()
    if given.mutants:
        is_good, table = _hunt(given.seed, given.histories, steps=given.steps, jobs=given.jobs)
    elif given.prove:
        is_good, table = _prove(given.seed, jobs=given.jobs)
    else:
        is_good, table = _simulate(given.seed, given.histories, steps=given.steps, jobs=given.jobs)
    if given.write:
        simulation_results.store(Path.cwd(), table)
    return 0 if is_good else 1


def _simulate(first: int, number: int, *, steps: int, jobs: int) -> tuple[bool, Table]:
    started = time.perf_counter()
    broken: list[int] = []
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(partial(_broken, steps=steps), _chunks(first, number)):
            for seed in found:
                broken.append(seed)
                if len(broken) <= _PRINTED:
                    _print_steps(seed, steps)
    seconds, cpu = time.perf_counter() - started, _cpu_seconds()
    print(
        f"{number} histories of {steps} steps in {seconds:.0f} seconds "
        f"({jobs} processes, {cpu:.0f} CPU seconds, {number * steps / cpu:.0f} steps in each):"
        f" {len(broken)} violated an invariant"
    )
    if broken:
        print(f"seeds: {' '.join(map(str, broken))}")
    used = f"{seconds:.0f} s, {cpu:.0f} CPU seconds, {jobs} processes"
    row = (f"{number:,} histories of {steps} steps, seeds from {first}", used, str(len(broken)))
    return not broken, Table(f"histories-{number}", [row])


def _cpu_seconds() -> float:
    """What this process and the ones that it has waited for have used.

    On a busy machine this says more than the elapsed time.
    """
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _chunks(first: int, number: int) -> Iterator[range]:
    for start in range(first, first + number, _CHUNK):
        yield range(start, min(start + _CHUNK, first + number))


def _broken(seeds: range, *, steps: int) -> list[int]:
    return [seed for seed in seeds if history.run(history.steps_of(seed, steps)).broken]


def _print_steps(seed: int, steps: int) -> None:
    found = history.run(history.shrink(history.steps_of(seed, steps)), is_told=True)
    print(f"seed {seed}, shrunk to {found.steps} steps:")
    for line in (*found.story, *(f"BROKEN: {each}" for each in found.broken)):
        print(f"  {line}")


def _hunt(first: int, most: int, *, steps: int, jobs: int) -> tuple[bool, Table]:
    """Run each mutant until a history violates an invariant."""
    rows = []
    missed = 0
    with ProcessPoolExecutor(jobs) as pool:
        hunts = pool.map(partial(_first_broken, first=first, most=most, steps=steps), MUTANTS)
        for name, (histories, law) in zip(MUTANTS, hunts, strict=True):
            missed += not law
            says = MUTANTS[name].says
            caught = f"after {histories:4} histories: {law}" if law else f"NOT within {most}"
            print(f"{name:24} {says}\n{'':24} {caught}", flush=True)
            rows.append((f"`{name}`", says, str(histories) if law else f"not in {most:,}", law))
    print(f"{len(MUTANTS) - missed} of {len(MUTANTS)} mutants caught")
    return not missed, Table("mutants", rows)


def _first_broken(name: str, *, first: int, most: int, steps: int) -> tuple[int, str]:
    with alive(MUTANTS[name]):
        for seed in range(first, first + most):
            broken = _laws_broken(name, seed, steps)
            if broken:
                return seed - first + 1, broken[0]
    return most, ""


def _laws_broken(name: str, seed: int, steps: int) -> list[str]:
    """The laws that a history of this mutant breaks; those of its proof, if it has one."""
    proof = MUTANTS[name].proof
    if proof:
        return tally(PROOFS[proof], seed).broken
    return history.run(history.steps_of(seed, steps)).broken


def _prove(first: int, *, jobs: int) -> tuple[bool, Table]:
    """Run each proof until it has counted enough cases."""
    rows = []
    is_good = True
    with ProcessPoolExecutor(jobs) as pool:
        for name, proof in PROOFS.items():
            cases, histories, broken = 0, 0, list[int]()
            while cases < _CASES:
                seeds = range(first + histories, first + histories + _CHUNK)
                for seed, (counted, faults) in zip(
                    seeds, pool.map(partial(_counted, name), seeds), strict=True
                ):
                    cases += counted
                    if faults:
                        broken.append(seed)
                        print(f"{name}, seed {seed}: {faults}")
                histories += _CHUNK
            print(f"{name}: {cases} {proof.claim}: {len(broken)} of {histories} histories broke it")
            rows.append((f"{cases:,} {proof.claim}", f"{histories:,}", str(len(broken))))
            is_good &= not broken
        seeds = range(first, first + _JUMPING)
        different = [each for each in pool.map(clock_jumps.difference, seeds) if each]
        print(*different[:_PRINTED], f"clocks: {len(different)} of {_JUMPING} differ", sep="\n")
        rows.append((f"{_JUMPING:,} {_JUMPS}", f"{2 * _JUMPING:,}", str(len(different))))
    return is_good and not different, Table("proofs", rows)


def _counted(name: str, seed: int) -> tuple[int, list[str]]:
    found = tally(PROOFS[name], seed)
    return found.cases, found.broken


if __name__ == "__main__":
    sys.exit(main())
