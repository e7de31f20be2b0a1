"""Bugs of the result finalizer: pods that go too early, and pods that never go."""

from typing import Any

from tests.simulation.mutants.patching import Mutant, Patch, always
from tfjob.controller.snapshot import SnapshotReader
from tfjob.core import pod_state, result_finalizer


def _without_removals(_before: Any) -> Any:
    return lambda plan, **_facts: plan


MUTANTS = [
    Mutant(
        "released-early",
        "a decisive pod is released before its success is stored",
        [Patch(result_finalizer, "_is_awaited", always(False))],
    ),
    Mutant(
        "never-released",
        "a pod whose end is stored keeps its finalizer",
        [Patch(result_finalizer, "with_finalizer_removals", _without_removals)],
    ),
    Mutant(
        "stray-forgotten",
        "a pod whose job is gone keeps its finalizer",
        [Patch(SnapshotReader, "stray_pods", always([]))],
    ),
    Mutant(
        "generation-ignored",
        "a success that was deleted while no operator ran counts as disrupted",
        [Patch(pod_state, "_ended_before_deletion", always(False))],
    ),
]
