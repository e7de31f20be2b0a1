"""A job is stalled if every replica that has not ended is idle."""

import pytest

from tests.support.builders import NOW, a_job, a_pod, at
from tfjob.core.diagnosis import diagnose, waiting
from tfjob.core.diagnosis.causes import BLOCKING, Cause
from tfjob.core.diagnosis.waiting import Wait
from tfjob.core.observe import Children, observe
from tfjob.k8s import time
from tfjob.k8s.pod import Pod, PodCondition


def idle(index: int, seconds: float, *, holds: bool = True) -> Pod:
    condition = PodCondition(
        type=waiting.IDLE,
        status=str(holds),
        reason="NoOutputNoCPU",
        message=f"nothing since {seconds}",
        last_transition_time=time.render(at(seconds)),
    )
    return a_pod(index=index, conditions=[condition])


def stall_of(*pods: Pod) -> list[Wait]:
    return list(waiting.of_stalled_job(observe(a_job(f"W{len(pods)}"), Children(pods=pods))))


def test_a_job_stalls_with_its_last_replica() -> None:
    (found,) = stall_of(idle(0, -900), idle(1, -700))
    assert (found.cause, found.replica, found.since) == (Cause.STALLED, "", at(-700))
    assert found.detail == "nothing since -700"


@pytest.mark.parametrize(
    "other",
    [
        a_pod(index=1),
        idle(1, -700, holds=False),
        a_pod(index=1, phase="Pending"),
        a_pod(index=1, phase="Failed", exit_code=1),
    ],
)
def test_a_job_of_which_one_replica_works_or_waits_for_something_else_does_not_stall(
    other: Pod,
) -> None:
    assert stall_of(idle(0, -900), other) == []


def test_a_replica_that_has_succeeded_does_not_count() -> None:
    assert stall_of(idle(0, -900), a_pod(index=1, phase="Succeeded", exit_code=0)) != []


def test_a_stall_is_told_of_a_job_in_which_nothing_else_is_wrong() -> None:
    pods = (idle(0, -900), idle(1, -700))
    found = diagnose.of(a_job("W2"), Children(pods=pods), now=NOW)
    assert found is not None
    assert (found.cause, found.since) == (Cause.STALLED, at(-700))
    assert found.cause in BLOCKING
    assert diagnose.of(a_job("W2"), Children(pods=[a_pod(), a_pod(index=1)]), now=NOW) is None
