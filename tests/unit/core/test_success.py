"""When a job has succeeded, and when it is running."""

import pytest

from tests.support.builders import a_job, pods
from tfjob.core import success
from tfjob.core.job import SuccessCriterion
from tfjob.core.observe import Children, ObservedState, observe

ALL = SuccessCriterion(types=("Worker",))
SECOND = SuccessCriterion(types=("Worker",), index=1)


def seen(**letters: str) -> ObservedState:
    return observe(a_job("C1 P2 W3"), Children(pods=pods(**letters)))


@pytest.mark.parametrize(
    ("criterion", "workers", "expected"),
    [
        pytest.param(ALL, "SSS", True, id="all-succeeded"),
        pytest.param(ALL, "sss", True, id="all-succeeded-without-exit-codes"),
        pytest.param(ALL, "SSR", False, id="one-still-runs"),
        pytest.param(ALL, "SS", False, id="one-is-missing"),
        pytest.param(SECOND, "RSR", True, id="the-chosen-one-is-done"),
        pytest.param(SECOND, "RsR", False, id="the-chosen-one-without-exit-code"),
        pytest.param(SECOND, "sss", True, id="all-succeeded-beside-a-chosen-one"),
        pytest.param(SECOND, "SRS", False, id="only-others-are-done"),
        pytest.param(
            SuccessCriterion(types=("Worker",), index=3), "SSR", False, id="chosen-out-of-range"
        ),
        pytest.param(SuccessCriterion(), "SSS", False, id="nobody-decides"),
        pytest.param(
            SuccessCriterion(types=("Evaluator",)), "SSS", False, id="an-absent-type-decides"
        ),
    ],
)
def test_a_job_succeeds_with_its_deciding_replicas(
    criterion: SuccessCriterion, workers: str, expected: bool
) -> None:
    assert success.is_succeeded(criterion, seen(worker=workers)) is expected


def test_several_types_decide_together() -> None:
    both = SuccessCriterion(types=("Chief", "PS"))
    assert not success.is_succeeded(both, seen(chief="S", ps="SR"))
    assert success.is_succeeded(both, seen(chief="S", ps="SS", worker="F"))
    assert success.is_running(both, seen(ps="PR"))
    assert not success.is_running(both, seen(worker="RRR"))


@pytest.mark.parametrize(("workers", "expected"), [("PPR", True), ("PPP", False), ("SST", False)])
def test_a_job_runs_while_a_deciding_replica_is_active(workers: str, expected: bool) -> None:
    assert success.is_running(SECOND, seen(worker=workers)) is expected


@pytest.mark.parametrize(("workers", "expected"), [("RPR", False), ("PRP", True)])
def test_a_sole_decisive_replica_alone_shows_whether_the_job_runs(
    workers: str, expected: bool
) -> None:
    assert success.is_running(SECOND, seen(worker=workers), only_sole_replica=True) is expected


def test_sole_decisive_replica_exists_only_if_the_criterion_names_one() -> None:
    assert success.sole_decisive_instance(ALL, seen(worker="RRR")) is None
    assert success.is_running(ALL, seen(worker="PPR"), only_sole_replica=True)
    assert success.sole_decisive_instance(SuccessCriterion(index=0), seen(worker="RRR")) is None
    assert (
        success.sole_decisive_instance(SuccessCriterion(types=("Evaluator",), index=0), seen())
        is None
    )
    chosen = success.sole_decisive_instance(SECOND, seen())
    assert chosen is not None
    assert chosen.name == "j-worker-1"


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        (SECOND, "j-worker-1"),
        (ALL, "j-worker-0"),
        (SuccessCriterion(types=("Worker",), index=7), "j-worker-0"),
        (SuccessCriterion(types=("Evaluator",)), None),
        (SuccessCriterion(), None),
    ],
)
def test_a_decisive_replica_stands_for_the_success_if_there_is_one(
    criterion: SuccessCriterion, expected: str | None
) -> None:
    found = success.representative_instance(criterion, seen(worker="SSS"))
    assert (None if found is None else found.name) == expected
