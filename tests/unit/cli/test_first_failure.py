from typing import Any

import msgspec

from tfjob.cli.first_failure import Failure, Failures
from tfjob.k8s.pod import Pod


def pod(phase: str, state: dict[str, Any] | None = None, last: dict[str, Any] | None = None) -> Pod:
    status: dict[str, Any] = {"phase": phase}
    if state is not None:
        container = {"name": "tensorflow", "state": state, "lastState": last or {}}
        status["containerStatuses"] = [container]
    return msgspec.convert({"metadata": {"name": "p"}, "status": status}, type=Pod)


def ended(code: int, reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason}}


RUNNING: dict[str, Any] = {"running": {}}
WAITING: dict[str, Any] = {"waiting": {"reason": "CrashLoopBackOff"}}


def test_nobody_is_to_blame_while_all_run() -> None:
    failures = Failures()
    failures.see("worker-0", pod("Running", RUNNING))
    failures.see("worker-1", pod("Succeeded", ended(0)))
    assert failures.first() is None


def test_first_failure_counts_and_not_those_it_drew_along() -> None:
    failures = Failures()
    failures.see("worker-1", pod("Failed", ended(3)))
    failures.see("worker-0", pod("Failed", ended(1)))
    assert failures.first() == Failure("worker-1", "exit code 3")


def test_who_runs_again_is_forgiven() -> None:
    failures = Failures()
    failures.see("ps-0", pod("Failed", ended(137)))
    failures.see("ps-0", pod("Running", RUNNING))
    failures.see("chief-0", pod("Failed", ended(1)))
    assert failures.first() == Failure("chief-0", "exit code 1")


def test_who_was_forgiven_is_named_when_nobody_else_is_left() -> None:
    failures = Failures()
    failures.see("worker-0", pod("Running", WAITING, last=ended(4)))
    failures.see("worker-0", pod("Running", RUNNING, last=ended(4)))
    assert failures.first() == Failure("worker-0", "exit code 4")


def test_who_was_only_seen_running_again_is_named_when_nobody_else_is_left() -> None:
    failures = Failures()
    failures.see("master-0", pod("Running", RUNNING, last=ended(3)))
    assert failures.first() == Failure("master-0", "exit code 3")


def test_who_runs_again_is_not_blamed_for_what_failed_for_good() -> None:
    failures = Failures()
    failures.see("ps-0", pod("Running", RUNNING, last=ended(137)))
    failures.see("chief-0", pod("Failed", ended(1)))
    assert failures.first() == Failure("chief-0", "exit code 1")


def test_who_took_too_much_memory_is_told_so() -> None:
    failures = Failures()
    failures.see("worker-0", pod("Failed", ended(137, "OOMKilled")))
    assert failures.first() == Failure("worker-0", "exit code 137, OOMKilled")


def test_a_pod_that_failed_without_a_container_says_its_reason() -> None:
    failures = Failures()
    failures.see("worker-0", pod("Failed"))
    assert failures.first() == Failure("worker-0", "no exit code")
