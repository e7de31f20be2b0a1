from typing import Any

import msgspec

from tfjob.cli.first_failure import Failure, Failures, hint_for, memory_text
from tfjob.k8s.pod import Pod


def pod(phase: str, state: dict[str, Any] | None = None, last: dict[str, Any] | None = None) -> Pod:
    status: dict[str, Any] = {"phase": phase}
    if state is not None:
        container = {"name": "tensorflow", "state": state, "lastState": last or {}}
        status["containerStatuses"] = [container]
    return msgspec.convert({"metadata": {"name": "p"}, "status": status}, type=Pod)


def ended(code: int, reason: str = "Error", *, at: str | None = None) -> dict[str, Any]:
    finished = f"2026-01-01T00:{at}Z" if at else None
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": finished}}


def blamed(failures: Failures) -> str:
    first = failures.first()
    return "" if first is None else f"{first.replica} {first.why}"


RUNNING: dict[str, Any] = {"running": {}}
WAITING: dict[str, Any] = {"waiting": {"reason": "CrashLoopBackOff"}}


def test_no_failure_is_reported_while_all_replicas_run() -> None:
    failures = Failures()
    failures.observe("worker-0", pod("Running", RUNNING))
    failures.observe("worker-1", pod("Succeeded", ended(0)))
    assert failures.first() is None


def test_the_first_failure_is_reported_rather_than_later_ones() -> None:
    failures = Failures()
    failures.observe("worker-1", pod("Failed", ended(3)))
    failures.observe("worker-0", pod("Failed", ended(1)))
    assert blamed(failures) == "worker-1 exit code 3"


def test_a_replica_that_runs_again_is_cleared() -> None:
    failures = Failures()
    failures.observe("ps-0", pod("Failed", ended(137)))
    failures.observe("ps-0", pod("Running", RUNNING))
    failures.observe("chief-0", pod("Failed", ended(1)))
    assert blamed(failures) == "chief-0 exit code 1"


def test_a_cleared_replica_is_named_if_no_other_replica_failed() -> None:
    failures = Failures()
    failures.observe("worker-0", pod("Running", WAITING, last=ended(4)))
    failures.observe("worker-0", pod("Running", RUNNING, last=ended(4)))
    assert blamed(failures) == "worker-0 exit code 4"


def test_a_failure_is_read_from_the_last_state_of_a_running_container() -> None:
    failures = Failures()
    failures.observe("master-0", pod("Running", RUNNING, last=ended(3)))
    assert blamed(failures) == "master-0 exit code 3"


def test_a_running_replica_is_not_blamed_for_another_that_failed() -> None:
    failures = Failures()
    failures.observe("ps-0", pod("Running", RUNNING, last=ended(137)))
    failures.observe("chief-0", pod("Failed", ended(1)))
    assert blamed(failures) == "chief-0 exit code 1"


def test_a_container_out_of_memory_is_reported_as_such() -> None:
    failures = Failures()
    failures.observe("worker-0", pod("Failed", ended(137, "OOMKilled")))
    assert blamed(failures) == "worker-0 exit code 137, OOMKilled"


def test_a_pod_that_failed_without_a_container_says_its_reason() -> None:
    failures = Failures()
    failures.observe("worker-0", pod("Failed"))
    assert blamed(failures) == "worker-0 no exit code"


def test_a_restart_does_not_clear_a_failure_that_another_replica_follows_within_a_minute() -> None:
    failures = Failures()
    failures.observe("worker-1", pod("Failed", ended(137, at="00:10")))
    failures.observe("worker-1", pod("Running", RUNNING))
    failures.observe("worker-0", pod("Failed", ended(1, at="01:10")))
    assert blamed(failures) == "worker-1 exit code 137"


def test_a_restart_clears_a_failure_more_than_a_minute_before_the_next() -> None:
    failures = Failures()
    failures.observe("worker-1", pod("Failed", ended(137, at="00:10")))
    failures.observe("worker-1", pod("Running", RUNNING))
    failures.observe("worker-0", pod("Failed", ended(1, at="01:11")))
    assert blamed(failures) == "worker-0 exit code 1"


def test_the_earliest_finish_time_wins_over_the_order_of_observation() -> None:
    failures = Failures()
    failures.observe("worker-0", pod("Failed", ended(1, at="00:12")))
    failures.observe("worker-1", pod("Failed", ended(137, at="00:11")))
    assert blamed(failures) == "worker-1 exit code 137"


def test_failures_of_the_same_second_are_ordered_by_observation() -> None:
    failures = Failures()
    failures.observe("worker-1", pod("Failed", ended(3, at="00:10")))
    failures.observe("worker-0", pod("Failed", ended(1, at="00:10")))
    assert blamed(failures) == "worker-1 exit code 3"


def test_the_memory_limit_is_named_only_for_a_container_that_exceeded_it() -> None:
    killed = Failure("worker-0", "exit code 137, OOMKilled", is_out_of_memory=True)
    assert memory_text(killed, "64Mi").endswith("it used more than its memory limit of 64Mi")
    assert memory_text(killed, "") == killed.why
    assert memory_text(Failure("worker-0", "exit code 1"), "64Mi") == "exit code 1"


def test_a_missing_module_names_the_python_that_lacks_it() -> None:
    lines = ["Traceback", "ModuleNotFoundError: No module named 'yaml.x'", "bye"]
    hint = hint_for(lines, python="/v/bin/python")
    assert hint.startswith("yaml.x is not installed for /v/bin/python; ")


def test_other_lines_give_no_hint() -> None:
    assert hint_for(["ValueError: no"], python="/v/bin/python") == ""
