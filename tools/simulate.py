"""Simulate many histories of the controller, or find mutants that no history detects.

A seed determines a history. A history that violates an invariant is shrunk and printed step by
step. See docs/simulation.md.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.simulation.mutants.catalogue import MUTANTS
from tests.simulation.mutants.patching import alive
from tests.support.histories import history

_CHUNK = 50
_PRINTED = 3
"""This many failed histories are printed step by step; of the others only the seed."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--mutants", action="store_true", help="run the mutants instead")
    given = parser.parse_args()
    if given.mutants:
        return _hunt(given.seed, given.histories, steps=given.steps, jobs=given.jobs)
    return _simulate(given.seed, given.histories, steps=given.steps, jobs=given.jobs)


def _simulate(first: int, number: int, *, steps: int, jobs: int) -> int:
    started = time.perf_counter()
    broken: list[int] = []
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(partial(_broken, steps=steps), _chunks(first, number)):
            for seed in found:
                broken.append(seed)
                if len(broken) <= _PRINTED:
                    _print_steps(seed, steps)
    seconds = time.perf_counter() - started
    done = number * steps
    print(
        f"{number} histories of {steps} steps in {seconds:.0f} seconds "
        f"({done / seconds:.0f} steps per second, {jobs} processes):"
        f" {len(broken)} violated an invariant"
    )
    if broken:
        print(f"seeds: {' '.join(map(str, broken))}")
    return 1 if broken else 0


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


def _hunt(first: int, most: int, *, steps: int, jobs: int) -> int:
    """Run each mutant until a history violates an invariant."""
    missed = 0
    with ProcessPoolExecutor(jobs) as pool:
        hunts = pool.map(partial(_first_broken, first=first, most=most, steps=steps), MUTANTS)
        for name, (histories, law) in zip(MUTANTS, hunts, strict=True):
            missed += not law
            caught = f"after {histories:4} histories: {law}" if law else f"NOT within {most}"
            print(f"{name:24} {MUTANTS[name].says}\n{'':24} {caught}", flush=True)
    print(f"{len(MUTANTS) - missed} of {len(MUTANTS)} mutants caught")
    return 1 if missed else 0


def _first_broken(name: str, *, first: int, most: int, steps: int) -> tuple[int, str]:
    with alive(MUTANTS[name]):
        for seed in range(first, first + most):
            found = history.run(history.steps_of(seed, steps))
            if found.broken:
                return seed - first + 1, found.broken[0]
    return most, ""


if __name__ == "__main__":
    sys.exit(main())
