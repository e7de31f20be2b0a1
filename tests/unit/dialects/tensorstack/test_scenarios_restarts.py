"""How a TensorFlowTrainingJob handles failures."""

import pytest

from tests.support.builders import at, deleted_names, events_of
from tests.unit.dialects.tensorstack.jobs import (
    LOST,
    but,
    everything,
    finish,
    name_of,
    pod,
    running,
)

W0, W1 = name_of("worker", 0), name_of("worker", 1)


@pytest.mark.scenario("B-11")
@pytest.mark.parametrize("policy", ["Never", None])
def test_failed_master_fails_a_job_that_never_restarts(policy: str | None) -> None:
    play = running("W2", restart=policy)
    plan = play.go(*but("W2", pod("worker", 0, "Failed", code=1)))
    assert play.status["phase"] == "Failed"
    assert finish(play) == LOST
    message = f"TensorFlowTrainingJob j has failed: {W0} failed with exit code 1"
    assert play.condition("Failed") == ("True", "Failed", message)
    assert play.condition("ReplicaFailure") == (
        "True",
        "ErrorInPod",
        f"Pod[{W0}] exited with error code 1",
    )
    assert ("Warning", "Failed", message) in events_of(plan)


@pytest.mark.scenario("B-12")
def test_failed_master_is_recreated_under_on_failure() -> None:
    play = running("W2", restart="OnFailure")
    failed = pod("worker", 0, "Failed", code=1)
    plan = play.go(*but("W2", failed))
    assert deleted_names(plan, "Pod") == [W0]
    assert plan.writes_status_first
    assert play.status["backoffCount"] == 1
    assert play.status["tasks"][0]["restartCount"] == 1
    assert play.status["phase"] == "Running"
    assert play.conditions["ReplicaFailure"] == "True"
    assert play.replica("worker", 0)["phase"] == "Deleted"
    told = f"Pod {W0} exited with code 1 and is recreated; restarts: 1/unlimited"
    assert ("Normal", "Restart", told) in events_of(plan)
    plan = play.go(pod("worker", 1))
    assert [each.name for each in plan.creates] == [W0]
    assert play.conditions["ReplicaFailure"] == "True"
    play.go(*but("W2", pod("worker", 0, "Pending", uid="new")))
    assert play.conditions["ReplicaFailure"] == "True"
    play.go(*but("W2", pod("worker", 0, uid="new")))
    assert play.condition("ReplicaFailure") == ("False", "-", "All pods are running normally.")
    assert play.status["phase"] == "Running"
    assert play.status["backoffCount"] == 1


@pytest.mark.scenario("B-13")
@pytest.mark.parametrize("code", [130, 137, 138, 143])
def test_codes_after_which_a_replica_is_recreated(code: int) -> None:
    play = running("W2", restart="ExitCode")
    plan = play.go(*but("W2", pod("worker", 0, "Failed", code=code)))
    assert deleted_names(plan, "Pod") == [W0]
    assert (play.status["phase"], play.status["backoffCount"]) == ("Running", 1)


@pytest.mark.scenario("B-14")
@pytest.mark.parametrize("code", [1, 134, 255])
def test_other_codes_of_the_master_fail_the_job_at_once(code: int) -> None:
    play = running("W2", restart="ExitCode")
    plan = play.go(*but("W2", pod("worker", 0, "Failed", code=code)))
    assert (play.status["phase"], play.status["backoffCount"]) == ("Failed", 0)
    assert not plan.deletes
    verdicts = [each for each in events_of(plan) if each[1] == "Failed"]
    text = f"TensorFlowTrainingJob j has failed: {W0} failed with exit code {code}"
    assert verdicts == [("Warning", "Failed", text)]


@pytest.mark.scenario("B-15")
def test_failed_worker_stays_and_its_job_continues() -> None:
    play = running("W3", restart="ExitCode")
    failed = pod("worker", 2, "Failed", code=1)
    for _ in range(2):
        plan = play.go(*but("W3", failed))
        assert not plan.deletes
        assert play.status["phase"] == "Running"
        assert play.conditions["ReplicaFailure"] == "True"
    assert play.replica("worker", 2)["phase"] == "Failed"
    play.go(*but("W3", failed, pod("worker", 0, "Succeeded")))
    assert play.status["phase"] == "Succeeded"


@pytest.mark.scenario("B-16")
def test_backoff_limit_is_shared_and_once_reached_only_the_master_fails_the_job() -> None:
    play = running("W4", restart="OnFailure", runPolicy={"backoffLimit": 2})
    plan = play.go(*but("W4", pod("worker", 1, "Failed"), pod("worker", 2, "Failed")))
    assert len(deleted_names(plan, "Pod")) == 2
    again = [pod("worker", index, uid=f"new-{index}") for index in (1, 2)]
    there = but("W4", *again, pod("worker", 3, "Failed"))
    plan = play.go(*there)
    assert not plan.deletes
    assert (play.status["phase"], play.replica("worker", 3)["phase"]) == ("Running", "Failed")
    play.go(*but("W4", *again, pod("worker", 3, "Failed"), pod("worker", 0, "Failed")))
    assert (play.status["phase"], play.status["backoffCount"]) == ("Failed", 2)


@pytest.mark.scenario("B-17")
def test_backoff_limit_of_0_allows_no_restart() -> None:
    play = running("W2", restart="OnFailure", runPolicy={"backoffLimit": 0})
    plan = play.go(*but("W2", pod("worker", 0, "Failed")))
    assert play.status["phase"] == "Failed"
    assert not plan.deletes


@pytest.mark.scenario("B-18")
def test_always_restarts_workers_that_succeeded_but_not_the_master() -> None:
    play = running("W2", restart="Always")
    plan = play.go(*but("W2", pod("worker", 1, "Succeeded")))
    assert deleted_names(plan, "Pod") == [W1]
    assert play.status["backoffCount"] == 1
    plan = play.go(pod("worker", 0))
    assert [each.name for each in plan.creates] == [W1]
    plan = play.go(*but("W2", pod("worker", 0, "Succeeded"), pod("worker", 1, uid="new")))
    assert (play.status["phase"], plan.deletes) == ("Succeeded", [])
    assert play.status["backoffCount"] == 1


@pytest.mark.scenario("B-19")
def test_deadline_fails_the_job_and_takes_what_runs() -> None:
    play = running("W2", runPolicy={"activeDeadlineSeconds": 60})
    plan = play.go(*everything("W2"), now=at(59))
    assert (play.status["phase"], plan.requeue_at) == ("Running", at(61))
    plan = play.go(*everything("W2"), now=at(61))
    assert play.status["phase"] == "Failed"
    assert play.condition("Failed")[1] == "DeadlineExceeded"
    assert ("Warning", "DeadlineExceeded") in [each[:2] for each in events_of(plan)]
    assert len(deleted_names(plan, "Pod")) == 2
    plan = play.go(*everything("W2"), now=at(62))
    assert len(deleted_names(plan, "Pod")) == 2


@pytest.mark.scenario("B-19b")
def test_success_in_time_counts_although_it_is_seen_too_late() -> None:
    play = running("W1", runPolicy={"activeDeadlineSeconds": 60})
    play.go(pod("worker", 0, "Succeeded", ended=at(55)), now=at(70))
    assert play.status["phase"] == "Succeeded"
    late = running("W1", runPolicy={"activeDeadlineSeconds": 60})
    late.go(pod("worker", 0, "Succeeded", ended=at(65)), now=at(70))
    assert late.status["phase"] == "Failed"


@pytest.mark.scenario("B-20")
def test_evicted_replica_is_recreated_and_counted() -> None:
    play = running("W2", restart="ExitCode")
    plan = play.go(*but("W2", pod("worker", 1, "Failed", reason="Evicted")))
    assert deleted_names(plan, "Pod") == [W1]
    assert play.status["backoffCount"] == 1
    assert play.condition("ReplicaFailure")[2] == f"Pod[{W1}] exited with error code unknown"


@pytest.mark.scenario("B-21")
def test_pod_that_somebody_deletes_is_recreated_and_not_counted() -> None:
    play = running("W2")
    play.go(*but("W2", pod("worker", 1, deleted=at(-1))))
    plan = play.go(pod("worker", 0))
    assert [each.name for each in plan.creates] == [W1]
    assert (play.status["phase"], play.status["backoffCount"]) == ("Running", 0)
    assert play.conditions["ReplicaFailure"] == "False"


@pytest.mark.scenario("B-22")
def test_failure_that_was_counted_is_not_counted_again() -> None:
    play = running("W2", restart="OnFailure")
    there = but("W2", pod("worker", 0, "Failed"))
    assert play.go(*there).writes_status_first
    plan = play.go(*there)
    assert deleted_names(plan, "Pod") == [W0]
    assert play.status["backoffCount"] == 1


def test_first_restart_is_at_once_and_the_next_ones_wait() -> None:
    play = running("W2", restart="OnFailure")
    delays = []
    for round_ in range(9):
        play.go(*but("W2", pod("worker", 1, "Failed", uid=f"u{round_}")), now=at(1000))
        wake = play.go(pod("worker", 0), now=at(1000)).requeue_at
        delays.append(None if wake is None else (wake - at(1000)).total_seconds())
    assert delays == [None, 10, 20, 40, 80, 160, 320, 360, 360]


def test_failed_pod_stays_with_its_log_until_its_successor_is_due() -> None:
    play = running("W2", restart="OnFailure")
    play.go(*but("W2", pod("worker", 1, "Failed", uid="first")), now=at(1000))
    failed = but("W2", pod("worker", 1, "Failed", uid="second"))
    plan = play.go(*failed, now=at(1001))
    assert (plan.deletes, plan.requeue_at) == ([], at(1011))
    assert play.status["backoffCount"] == 2
    assert play.go(*failed, now=at(1010)).deletes == []
    assert [each.uid for each in play.go(*failed, now=at(1011)).deletes] == ["second"]
    assert play.status["backoffCount"] == 2


def test_each_of_several_restarts_at_once_is_told_with_its_own_number() -> None:
    play = running("W3", restart="OnFailure", runPolicy={"backoffLimit": 5})
    failed = [pod("worker", index, "Failed") for index in (1, 2)]
    plan = play.go(pod("worker", 0), *failed)
    told = [event.message for event in plan.events if event.reason == "Restart"]
    assert [text.rpartition(" ")[2] for text in told] == ["1/5", "2/5"]
