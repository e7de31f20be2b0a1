"""Simulated histories under fixed seeds, and mutants that they catch."""

import pytest

from tests.simulation.mutants.catalogue import MUTANTS
from tests.simulation.mutants.patching import alive
from tests.support.histories import history

STEPS = 200


def broken_by(seed: int) -> list[str]:
    return history.run(history.steps_of(seed, STEPS)).broken


@pytest.mark.scenario("R1", "R2", "R3", "R6", "R8", "R13", "R22", "R38")
@pytest.mark.parametrize("first", range(1, 121, 40))
def test_no_history_breaks_a_law(first: int) -> None:
    seeds = range(first, first + 40)
    assert {seed: found for seed in seeds if (found := broken_by(seed))} == {}


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(14737, id="a scale-down during a group restart"),
        pytest.param(14739, id="an orphan is adopted while a resumption is stored"),
        pytest.param(14975, id="a success that another leader stored before the first create"),
        pytest.param(34370, id="a success that is drained while its job is reconciled"),
        pytest.param(67305, id="a watch of pods that is silent during a group restart"),
    ],
)
def test_a_rare_history_breaks_no_law(seed: int) -> None:
    assert broken_by(seed) == []


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("counted-again", 1),
        ("causes-excused", 1),
        ("no-namespace-check", 1),
        ("delete-before-status", 1),
        ("servers-first", 151),
        ("group-counted", 1),
    ],
)
def test_a_mutant_is_caught_within_a_few_histories(name: str, first: int) -> None:
    with alive(MUTANTS[name]):
        assert any(broken_by(seed) for seed in range(first, first + 100))


def test_a_seed_gives_the_same_history_each_time() -> None:
    steps = history.steps_of(7, STEPS)
    first, second = (history.run(steps, is_told=True) for _ in range(2))
    assert first.story == second.story


def test_a_broken_history_is_shrunk_to_a_story_that_breaks_a_law_as_well() -> None:
    with alive(MUTANTS["no-owner"]):
        seed = next(seed for seed in range(1, 101) if broken_by(seed))
        shrunk = history.shrink(history.steps_of(seed, STEPS))
        told = history.run(shrunk, is_told=True)
    assert told.broken
    assert len(shrunk) < 20
    assert "creates job" in told.story[0]
