"""Which failures are consequences of another one."""

from datetime import datetime

import pytest

from tests.support.builders import a_job, at
from tfjob.core.diagnosis.causes import Cause
from tfjob.core.diagnosis.consequences import (
    has_own_evidence,
    is_alike,
    is_consequence,
    is_coupled,
    is_survivable,
)
from tfjob.core.diagnosis.diagnosis import Incident


def failed(
    replica: str, seconds: float = 0, *, cause: Cause = Cause.PROGRAM_FAILED, code: int | None = 1
) -> Incident:
    kind, _, index = replica.partition("-")
    return Incident(
        key=f"{replica}/0", cause=cause, kind=kind, index=int(index), at=at(seconds), exit_code=code
    )


KILL = failed("worker-1", cause=Cause.KILLED, code=137)


def follows(
    later: Incident, earlier: Incident = KILL, *, roles: str = "W3", started: datetime | None = None
) -> bool:
    job = a_job(roles, restart="ExitCode")
    if not is_coupled(job, lost=earlier, survivor=later):
        return False
    return is_consequence(later, of=earlier, started=started)


@pytest.mark.parametrize("seconds", [0, 9, 60])
def test_a_survivor_that_ends_soon_after_only_followed(seconds: float) -> None:
    assert follows(failed("worker-0", seconds))


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(failed("worker-0", 61), id="too-late"),
        pytest.param(failed("worker-0", -1), id="earlier"),
        pytest.param(failed("worker-1", 5), id="itself"),
        pytest.param(failed("worker-0", 5, code=137), id="signal"),
        pytest.param(failed("worker-0", 5, code=126), id="start-error"),
        pytest.param(failed("worker-0", 5, cause=Cause.OUT_OF_MEMORY), id="oom"),
        pytest.param(failed("worker-0", 5, cause=Cause.MODULE_MISSING), id="module"),
        pytest.param(failed("worker-0", 5, cause=Cause.DRAINED, code=None), id="drained"),
    ],
)
def test_what_has_evidence_of_its_own_did_not_follow(later: Incident) -> None:
    assert not follows(later)


def test_a_replica_that_started_after_the_loss_did_not_follow() -> None:
    assert not follows(failed("worker-0", 5), started=at(1))
    assert follows(failed("worker-0", 5), started=at(-100))


@pytest.mark.parametrize(
    ("roles", "lost", "survivor", "expected"),
    [
        ("C1 W2", "worker-0", "chief-0", True),
        ("C1 W2", "chief-0", "worker-1", True),
        ("C1 P1 W2", "ps-0", "chief-0", True),
        ("C1 P1 W2", "worker-0", "chief-0", False),
        ("C1 P1 W2", "ps-0", "worker-0", False),
        ("P1 W2", "worker-1", "worker-0", False),
        ("W2 E1", "worker-0", "evaluator-0", False),
    ],
)
def test_only_coupled_roles_follow(roles: str, lost: str, survivor: str, expected: bool) -> None:
    assert follows(failed(survivor, 5), failed(lost, code=137), roles=roles) is expected


def test_dynamic_workers_are_not_coupled() -> None:
    job = a_job("W3", restart="ExitCode", enableDynamicWorker=True)
    assert not is_coupled(job, lost=KILL, survivor=failed("worker-0", 5))


@pytest.mark.parametrize(
    ("policy", "lost", "expected"),
    [
        ("ExitCode", KILL, True),
        ("ExitCode", failed("worker-1"), False),
        ("ExitCode", failed("worker-1", cause=Cause.PREEMPTED, code=None), True),
        ("OnFailure", KILL, True),
        ("OnFailure", failed("worker-1"), False),
        ("Never", KILL, False),
        ("Always", KILL, False),
    ],
)
def test_a_loss_is_survivable_by_its_code_and_if_the_replica_is_restarted(
    policy: str, lost: Incident, expected: bool
) -> None:
    assert is_survivable(a_job("W3", restart=policy), lost) is expected


def test_one_drain_hits_several_replicas() -> None:
    first = failed("worker-0", cause=Cause.DRAINED, code=None)
    second = failed("worker-1", 20, cause=Cause.DRAINED, code=None)
    assert is_alike(second, to=first)
    assert not is_alike(failed("worker-1", 20, cause=Cause.PREEMPTED), to=first)
    assert has_own_evidence(first)
