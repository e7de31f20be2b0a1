"""All mutants, by name."""

from typing import Final

from tests.simulation.mutants import controller_mutants, core_mutants, finalizer_mutants
from tests.simulation.mutants.patching import Mutant

MUTANTS: Final[dict[str, Mutant]] = {
    each.name: each
    for each in (*core_mutants.MUTANTS, *controller_mutants.MUTANTS, *finalizer_mutants.MUTANTS)
}
