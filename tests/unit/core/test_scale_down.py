"""Scaling down: surplus pods are deleted, and recorded until they are gone."""

import pytest

from tests.support.builders import NOW, Passes, a_pod, at, deleted_names, manifest, pods
from tfjob.core.status import PodRecord, RecordCause


def records(passes: Passes, kind: str = "Worker") -> list[tuple[int, str, int]]:
    return [(each.index, each.uid, each.streak) for each in passes.job.status.of(kind).records]


def test_surplus_pods_are_recorded_by_type_and_index() -> None:
    passes = Passes(manifest("P1 W1"))
    plan = passes.go(*pods(ps="R", worker="RRR"), a_pod("evaluator", 0))
    assert deleted_names(plan, "Pod") == ["j-worker-1", "j-worker-2", "j-evaluator-0"]
    assert records(passes) == [(1, "uid-j-worker-1", 0), (2, "uid-j-worker-2", 0)]
    assert records(passes, "PS") == []


def test_recorded_pod_causes_no_second_write() -> None:
    passes = Passes(manifest("W1"))
    passes.go(*pods(worker="RT"))
    assert passes.job.status.of("Worker").records[0].at == NOW
    assert passes.go(*pods(worker="RT"), now=at(9)).is_empty


def test_another_pod_of_the_same_index_is_recorded_too() -> None:
    passes = Passes(manifest("W1"))
    passes.go(*pods(worker="R"), a_pod("worker", 1, uid="first"))
    passes.go(*pods(worker="R"), a_pod("worker", 1, uid="second"), now=at(9))
    assert passes.job.status.of("Worker").records == (
        PodRecord(index=1, uid="second", streak=0, at=at(9), cause=RecordCause.REMOVED),
    )


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "ExitCode", "Always"])
def test_end_of_a_removed_pod_does_not_count_when_its_index_returns(policy: str) -> None:
    passes = Passes(manifest("W1", restart=policy))
    passes.go(*pods(worker="RR"))
    passes.edit(manifest("W2", restart=policy))
    going = a_pod("worker", 1, "Failed", exit_code=1, deleted=0)
    plan = passes.go(*pods(worker="R"), going, now=at(5))
    assert (plan.creates, plan.deletes) == ([], [])
    assert passes.conditions == ["Created", "Running"]
    assert passes.job.status.of("Worker").failed == 0
