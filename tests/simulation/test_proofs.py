"""Proofs that count their cases, at a small size; `make simulate PROVE=1` runs the full size."""

import pytest

from tests.simulation.mutants.catalogue import MUTANTS
from tests.simulation.mutants.patching import alive
from tests.support.histories.clock_jumps import difference
from tests.support.histories.proofs import PROOFS, Tally, tally

CASES = 100
NOTICED = {
    "deletions": "second-success",
    "backoff": "one-restart-more",
    "suspend": "suspend-leaves-pod",
    "leaders": "stale-pods-trusted",
    "groups": "group-in-pieces",
}


def counted(name: str) -> list[Tally]:
    """Histories until there are enough cases."""
    found: list[Tally] = []
    while sum(each.cases for each in found) < CASES:
        found.append(tally(PROOFS[name], len(found)))
    return found


@pytest.mark.parametrize("name", PROOFS)
def test_a_hundred_cases_of_a_proof_end_as_claimed(name: str) -> None:
    found = counted(name)
    assert {seed: each.broken for seed, each in enumerate(found) if each.broken} == {}


@pytest.mark.parametrize("name", PROOFS)
def test_a_proof_notices_the_bug_that_it_is_about(name: str) -> None:
    with alive(MUTANTS[NOTICED[name]]):
        assert any(tally(PROOFS[name], seed).broken for seed in range(40))


@pytest.mark.parametrize("name", [each.name for each in MUTANTS.values() if each.proof])
def test_a_mutant_that_breaks_no_other_law_is_noticed_by_its_proof(name: str) -> None:
    with alive(MUTANTS[name]):
        assert any(tally(PROOFS[MUTANTS[name].proof], seed).broken for seed in range(40))


@pytest.mark.parametrize("first", range(1, 61, 20))
def test_clocks_that_jump_by_ten_minutes_change_no_decision(first: int) -> None:
    seeds = range(first, first + 20)
    assert {seed: found for seed in seeds if (found := difference(seed))} == {}


def test_jumping_clocks_show_a_rule_that_compares_their_times() -> None:
    with alive(MUTANTS["run-by-clock"]):
        assert any(difference(seed) for seed in range(40))
