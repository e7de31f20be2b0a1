"""Restarts, back-off, and records after an exit."""

from datetime import UTC, datetime

import pytest

from tfjob.local.node.checkpoint import (
    ContainerRecord,
    PodFailure,
    PodRecord,
    Running,
    Terminated,
    Waiting,
)
from tfjob.local.node.process import ContainerExit
from tfjob.local.node.restart_policy import (
    Backoff,
    after_end,
    crashes_after,
    delay,
    is_restarted,
    terminated,
    waiting_message,
)

NOW = datetime(2026, 1, 2, tzinfo=UTC)
THEN = "2026-01-01T00:00:00Z"
RUNNING = ContainerRecord(name="c", state=Running(THEN), pid=5, start_time="6")


def pod(container: ContainerRecord, verdict: PodFailure | None = None) -> PodRecord:
    return PodRecord(
        namespace="ns",
        name="p",
        uid="u",
        started_at=THEN,
        containers=(container,),
        verdict=verdict,
    )


def end(code: int, *, finished: str = "2026-01-01T00:00:05Z") -> Terminated:
    return Terminated(exit_code=code, reason="x", started_at=THEN, finished_at=finished)


def after(
    ended: Terminated,
    *,
    policy: str,
    record: ContainerRecord = RUNNING,
    verdict: PodFailure | None = None,
) -> ContainerRecord:
    return after_end(
        pod(record, verdict), record, ended, policy=policy, backoff=Backoff(), now=1000.0
    )


@pytest.mark.parametrize(
    ("ended", "reason", "message"),
    [
        (ContainerExit(code=0), "Completed", "words"),
        (ContainerExit(code=1), "Error", "words"),
        (ContainerExit(code=137, reason="OOMKilled"), "OOMKilled", "words"),
        (ContainerExit(code=127, reason="StartError", message="why"), "StartError", "why"),
    ],
)
def test_the_end_of_a_process_becomes_a_terminated_state(
    ended: ContainerExit, reason: str, message: str
) -> None:
    shown = terminated(ended, RUNNING, termination_message="words", now=NOW)
    assert (shown.reason, shown.message) == (reason, message)
    assert shown.container_id == "process://5-6"
    assert shown.finished_at == "2026-01-02T00:00:00Z"


def test_times_of_the_state_are_those_of_the_process() -> None:
    ended = ContainerExit(code=0, started="2026-01-01T00:00:00.123456789Z", finished=THEN)
    assert terminated(ended, RUNNING, termination_message="", now=NOW).started_at == THEN


def test_a_container_that_is_not_restarted_is_terminated() -> None:
    assert after(end(3), policy="Never").state == end(3)
    assert after(end(0), policy="OnFailure").state == end(0)


def test_the_first_failure_is_restarted_at_once() -> None:
    record = after(end(1), policy="OnFailure")
    assert record.state == Waiting("ContainerCreating")
    assert (record.last, record.retry_at, record.crashes) == (end(1), 1000.0, 1)


def test_the_second_failure_waits() -> None:
    before = ContainerRecord(name="c", state=Running(THEN), crashes=1)
    record = after(end(1), policy="Always", record=before)
    assert isinstance(record.state, Waiting)
    assert record.state.reason == "CrashLoopBackOff"
    assert record.state.message == "back-off 10s restarting failed container=c pod=p_ns(u)"
    assert record.retry_at == 1010.0


def test_a_failure_after_a_long_run_counts_as_the_first() -> None:
    before = ContainerRecord(name="c", state=Running(THEN), crashes=5)
    ended = end(1, finished="2026-01-01T00:10:00Z")
    assert after(ended, policy="Always", record=before).crashes == 1


def test_nothing_is_restarted_in_a_pod_that_has_failed() -> None:
    record = after(end(1), policy="Always", verdict=PodFailure("DeadlineExceeded", ""))
    assert record.state == end(1)


@pytest.mark.parametrize(
    ("policy", "code", "is_init", "expected"),
    [
        ("Never", 1, False, False),
        ("Never", 0, False, False),
        ("OnFailure", 0, False, False),
        ("OnFailure", 1, False, True),
        ("Always", 0, False, True),
        ("Always", 1, False, True),
        ("Always", 0, True, False),
        ("Always", 1, True, True),
        ("Never", 1, True, False),
    ],
)
def test_the_restart_policy_decides_about_a_restart(
    policy: str, code: int, is_init: bool, expected: bool
) -> None:
    ended = Terminated(exit_code=code, reason="x")
    assert is_restarted(policy, ended, is_init=is_init) is expected


def test_delays_start_at_zero_and_double_up_to_the_limit() -> None:
    delays = [delay(crashes, Backoff()) for crashes in range(1, 10)]
    assert delays == [0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_a_huge_count_of_crashes_stays_at_the_limit() -> None:
    assert delay(100_000, Backoff()) == 300


def test_a_long_run_resets_the_count() -> None:
    assert crashes_after(7, ran_seconds=599, backoff=Backoff()) == 8
    assert crashes_after(7, ran_seconds=600, backoff=Backoff()) == 1


def test_the_message_is_that_of_a_kubelet() -> None:
    text = waiting_message(80, container="c", pod="p", namespace="ns", uid="u")
    assert text == "back-off 1m20s restarting failed container=c pod=p_ns(u)"
