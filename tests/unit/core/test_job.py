"""Success criteria, owners and exit codes of the neutral job."""

import pytest

from tests.support.builders import OWNER, a_job
from tfjob.core.job import SuccessCriterion


@pytest.mark.parametrize(
    ("criterion", "kind", "index", "expected"),
    [
        (SuccessCriterion(types=("Chief",)), "Chief", 3, True),
        (SuccessCriterion(types=("Chief",)), "Worker", 3, False),
        (SuccessCriterion(types=("Worker",), index=0), "Worker", 0, True),
        (SuccessCriterion(types=("Worker",), index=0), "Worker", 1, False),
        (SuccessCriterion(), "Worker", 0, False),
    ],
)
def test_success_criterion_includes_its_types_or_one_index(
    criterion: SuccessCriterion, kind: str, index: int, expected: bool
) -> None:
    assert criterion.includes(kind, index) is expected


def test_a_replica_knows_its_names_and_addresses() -> None:
    worker = a_job("P1 W2").replicas[1]
    assert worker.name(1) == "j-worker-1"
    assert worker.address(1) == "j-worker-1.n.svc:2222"


def test_a_job_knows_its_name_size_and_order() -> None:
    job = a_job("C1 P2 W3 E1")
    assert (job.name, job.namespace, job.total) == ("j", "n", 7)
    assert [each.type for each in job.in_status_order()] == ["Chief", "Evaluator", "PS", "Worker"]


@pytest.mark.scenario(22)
def test_the_owner_of_children_is_the_job_as_its_controller() -> None:
    assert a_job("W1").owner.reference() == OWNER
