"""The evidence of failures in pods that a limit deletes."""

from typing import Any

import pytest

from tests.support.builders import (
    NOW,
    Passes,
    a_job,
    a_pod,
    at,
    decide,
    deleted_names,
    events_of,
    manifest,
    status_after,
)
from tfjob.core.last_failures import LastFailure, last_failures
from tfjob.k8s import time
from tfjob.k8s.pod import ContainerState, ContainerStatus, Pod, Running, Terminated, Waiting

BACKOFF = "Job j has failed because it has reached the specified backoff limit"
DEADLINE = "Job j has failed because it was active longer than specified deadline"
STARTED = {"startTime": time.render(at(-60))}


def failed_run(code: int = 1, *, said: str = "", ended: float = -5) -> ContainerState:
    reason = "OOMKilled" if code == 137 else "Error"
    end = Terminated(
        exit_code=code, reason=reason, message=said, finished_at=time.render(at(ended))
    )
    return ContainerState(terminated=end)


def restarted(
    index: int = 0, *, code: int = 1, said: str = "", ended: float = -5, restarts: int = 1
) -> Pod:
    """A worker that runs again, in place, after a failure."""
    status = ContainerStatus(
        name="tensorflow",
        restart_count=restarts,
        state=ContainerState(running=Running()),
        last_state=failed_run(code, said=said, ended=ended),
    )
    return a_pod("worker", index, others=[status])


def test_a_backoff_limit_keeps_exit_code_reason_and_last_lines_of_a_restarted_container() -> None:
    passes = Passes(manifest("W1", restart="OnFailure", run_policy={"backoffLimit": 1}))
    plan = passes.go(restarted(code=3, said="loading\nno such file: data.csv\n"))
    assert deleted_names(plan, "Pod") == ["j-worker-0"]
    assert plan.writes_status_first
    output = "loading\nno such file: data.csv"
    assert passes.job.status.conditions[-1].message == (
        f"{BACKOFF}: container tensorflow of pod j-worker-0 exited with code 3 (Error): {output}"
    )
    ended = "Error pod j-worker-0 container tensorflow exitCode: 3 terminated message:"
    assert events_of(plan) == [
        ("Warning", "Error", f"{ended} {output}"),
        ("Normal", "TFJobFailed", BACKOFF),
    ]


def test_a_deadline_keeps_the_failure_of_a_container_in_crash_loop_back_off() -> None:
    job = a_job("W1", restart="OnFailure", run_policy={"activeDeadlineSeconds": 30}, status=STARTED)
    status = ContainerStatus(
        name="tensorflow",
        restart_count=4,
        state=ContainerState(waiting=Waiting(reason="CrashLoopBackOff")),
        last_state=failed_run(137),
    )
    plan = decide(job, a_pod("worker", 0, others=[status]))
    assert status_after(job, plan).conditions[-1].message == (
        f"{DEADLINE}: container tensorflow of pod j-worker-0 exited with code 137 (OOMKilled)"
    )


def test_a_failure_of_an_init_container_is_kept() -> None:
    job = a_job("W1", restart="OnFailure", run_policy={"backoffLimit": 2})
    init = ContainerStatus(name="fetch", restart_count=2, state=failed_run(2))
    plan = decide(job, a_pod("worker", 0, "Pending", init=[init]))
    message = status_after(job, plan).conditions[-1].message
    assert message == f"{BACKOFF}: container fetch of pod j-worker-0 exited with code 2 (Error)"


def test_the_most_recent_failure_is_in_the_condition_and_each_has_its_event() -> None:
    job = a_job("W2", restart="OnFailure", run_policy={"backoffLimit": 2})
    plan = decide(job, restarted(0, code=1, ended=-50), restarted(1, code=2, ended=-40))
    assert "pod j-worker-1 exited with code 2" in status_after(job, plan).conditions[-1].message
    told = [event.message for event in plan.events if event.reason == "Error"]
    assert [text.split()[2] for text in told] == ["j-worker-1", "j-worker-0"]


def test_a_failure_whose_pod_stays_is_left_there() -> None:
    job = a_job("W1", restart="Never", run_policy={"backoffLimit": 0})
    plan = decide(job, a_pod("worker", 0, "Failed", exit_code=1))
    assert plan.deletes == []
    assert status_after(job, plan).conditions[-1].message == BACKOFF
    assert [event.reason for event in plan.events] == ["ExitedWithCode", "TFJobFailed"]


def test_a_failed_pod_that_the_policy_deletes_at_a_limit_leaves_its_evidence() -> None:
    policy = {"backoffLimit": 0, "cleanPodPolicy": "All"}
    job = a_job("W1", restart="Never", run_policy=policy)
    plan = decide(job, a_pod("worker", 0, "Failed", exit_code=7))
    assert "exited with code 7 (Error)" in status_after(job, plan).conditions[-1].message


def test_a_limit_without_a_failure_says_nothing_more() -> None:
    job = a_job("W1", run_policy={"activeDeadlineSeconds": 30}, status=STARTED)
    plan = decide(job, a_pod("worker", 0))
    assert status_after(job, plan).conditions[-1].message == DEADLINE
    assert events_of(plan) == [("Normal", "TFJobFailed", DEADLINE)]


def test_the_key_of_a_failure_is_the_one_it_had_when_it_was_first_observed() -> None:
    """So a failure that was reported at the time is not reported again."""
    job = a_job("W1", restart="OnFailure", run_policy={"backoffLimit": 9})
    ended = ContainerStatus(name="tensorflow", restart_count=1, state=failed_run())
    (before,) = [
        event.key
        for event in decide(job, a_pod("worker", 0, others=[ended])).events
        if event.reason == "Error"
    ]
    limited = a_job("W1", restart="OnFailure", run_policy={"backoffLimit": 2})
    later = decide(limited, restarted(restarts=2), now=NOW)
    assert before in [event.key for event in later.events]


def test_a_failure_whose_restart_is_delayed_keeps_its_number() -> None:
    waits = ContainerState(waiting=Waiting(reason="CrashLoopBackOff"))
    ended = ContainerStatus(name="tensorflow", restart_count=1, state=failed_run())
    delayed = ContainerStatus(
        name="tensorflow", restart_count=1, state=waits, last_state=failed_run()
    )
    seen = [last_failures([a_pod("worker", 0, others=[each])]) for each in (ended, delayed)]
    assert [[each.restart for each in one] for one in seen] == [[1], [1]]


def found(said: str) -> LastFailure:
    (failure,) = last_failures([restarted(said=said)])
    return failure


def test_long_output_is_cut_at_its_beginning_between_two_lines() -> None:
    lines = [f"line {number}" for number in range(200)]
    kept = found("\n".join(lines)).last_lines.split("\n")
    assert kept == lines[-len(kept) :]
    assert 0 < len("\n".join(kept)) <= 600


def test_one_long_line_is_cut() -> None:
    assert found("x" * 5000).last_lines == "x" * 600


@pytest.mark.parametrize(("said", "shown"), [("\x1b[31mred\x07", "�[31mred�"), ("a\tb", "a b")])
def test_control_characters_are_replaced(said: str, shown: str) -> None:
    assert found(said).last_lines == shown


@pytest.mark.parametrize(
    "state",
    [
        {"state": ContainerState(running=Running())},
        {"state": failed_run(0)},
        {"state": failed_run(0), "last_state": failed_run(1)},
    ],
)
def test_a_container_that_runs_for_the_first_time_or_has_succeeded_has_no_failure(
    state: dict[str, Any],
) -> None:
    status = ContainerStatus(name="tensorflow", **state)
    assert last_failures([a_pod("worker", 0, others=[status])]) == []


def test_failures_without_a_time_come_last() -> None:
    timeless = ContainerStatus(
        name="proxy", state=ContainerState(terminated=Terminated(exit_code=1))
    )
    pods = [a_pod("worker", 0, others=[timeless]), restarted(1)]
    assert [each.pod for each in last_failures(pods)] == ["j-worker-1", "j-worker-0"]
