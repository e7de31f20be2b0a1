"""What the end of a process means for the record of its container."""

from datetime import UTC, datetime

import pytest

from tfjob.local.node.endings import after_end, terminated
from tfjob.local.node.process import Ended
from tfjob.local.node.record import (
    ContainerRecord,
    PodRecord,
    Running,
    Terminated,
    Verdict,
    Waiting,
)
from tfjob.local.node.restarts import Backoff

NOW = datetime(2026, 1, 2, tzinfo=UTC)
THEN = "2026-01-01T00:00:00Z"
RUNNING = ContainerRecord(name="c", state=Running(THEN), pid=5, start_time="6")


def pod(container: ContainerRecord, verdict: Verdict | None = None) -> PodRecord:
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
    verdict: Verdict | None = None,
) -> ContainerRecord:
    return after_end(
        pod(record, verdict), record, ended, policy=policy, backoff=Backoff(), now=1000.0
    )


@pytest.mark.parametrize(
    ("ended", "reason", "message"),
    [
        (Ended(code=0), "Completed", "words"),
        (Ended(code=1), "Error", "words"),
        (Ended(code=137, reason="OOMKilled"), "OOMKilled", "words"),
        (Ended(code=127, reason="StartError", message="why"), "StartError", "why"),
    ],
)
def test_an_end_is_worded_for_the_api(ended: Ended, reason: str, message: str) -> None:
    shown = terminated(ended, RUNNING, last_words="words", now=NOW)
    assert (shown.reason, shown.message) == (reason, message)
    assert shown.container_id == "process://5-6"
    assert shown.finished_at == "2026-01-02T00:00:00Z"


def test_times_are_those_of_the_process() -> None:
    ended = Ended(code=0, started="2026-01-01T00:00:00.123456789Z", finished=THEN)
    assert terminated(ended, RUNNING, last_words="", now=NOW).started_at == THEN


def test_a_final_end_is_the_state() -> None:
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


def test_a_long_run_is_forgiven() -> None:
    before = ContainerRecord(name="c", state=Running(THEN), crashes=5)
    ended = end(1, finished="2026-01-01T00:10:00Z")
    assert after(ended, policy="Always", record=before).crashes == 1


def test_nothing_is_restarted_in_a_pod_that_has_failed() -> None:
    record = after(end(1), policy="Always", verdict=Verdict("DeadlineExceeded", ""))
    assert record.state == end(1)
