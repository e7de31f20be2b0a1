"""How a TensorFlowTrainingJob runs and finishes: backoffLimit, deadline, pauses, clean-up."""

from typing import Any

import pytest

from tests.support.builders import at, deleted_names, events_of
from tests.unit.dialects.tensorstack.jobs import (
    FINISHED,
    Json,
    Play,
    but,
    container,
    everything,
    finish,
    made,
    name_of,
    pod,
    running,
    training_container,
    training_job,
)
from tests.unit.dialects.tensorstack.verdicts import T9K, containers
from tfjob.core.job import Job
from tfjob.k8s import time
from tfjob.k8s.child_types import PodGroup
from tfjob.k8s.meta import ObjectMeta

W0, W1 = name_of("worker", 0), name_of("worker", 1)


@pytest.mark.scenario("B-05")
def test_job_runs_when_all_its_pods_do() -> None:
    play = running("C1 P2 W4")
    assert play.conditions == {
        "Initialized": "True",
        "Running": "True",
        "ReplicaFailure": "False",
    }
    assert play.condition("Initialized") == (
        "True",
        "-",
        "The job has been initialized successfully.",
    )
    assert play.condition("Running") == ("True", "-", "All pods are running normally.")
    assert play.status["aggregate"] == {
        "creating": 0,
        "pending": 0,
        "running": 7,
        "succeeded": 0,
        "failed": 0,
        "unknown": 0,
        "deleted": 0,
    }


@pytest.mark.scenario("B-06")
def test_job_waits_for_the_last_of_its_pods() -> None:
    play = Play(training_job("W3"))
    play.go(*but("W3", pod("worker", 2, "Pending")))
    assert play.status["phase"] == "Pending"
    assert play.aggregate() == {"pending": 1, "running": 2}
    assert play.conditions["Initialized"] == "True"


def test_creation_and_start_are_reported_once_each() -> None:
    play = Play(training_job("W1"))
    told: list[tuple[str, str]] = []
    worlds = ((), (pod("worker", 0, "Pending"),), (pod(),), (pod(),))
    for seconds, there in enumerate(worlds):
        plan = play.go(*there, now=at(seconds))
        told += [each[:2] for each in events_of(plan) if each[1] in {"Created", "Start"}]
    assert told == [("Normal", "Created"), ("Normal", "Start")]


def test_job_whose_pods_are_all_up_at_once_has_started_too() -> None:
    play = Play(training_job("W1"))
    assert [each[2] for each in events_of(play.go(pod()))] == [
        "A TensorFlowTrainingJob has been created: j"
    ]
    assert [each[1:] for each in events_of(play.go(pod()))] == [
        ("Start", "The job has been initialized successfully.")
    ]


def test_job_that_runs_does_not_wait_again() -> None:
    play = running("W2", restart="OnFailure")
    play.go(*but("W2", pod("worker", 1, "Pending", uid="new")))
    assert play.status["phase"] == "Running"


@pytest.mark.scenario("B-07")
def test_first_worker_ends_a_job_without_a_chief() -> None:
    play = running("W2")
    there = but("W2", pod("worker", 0, "Succeeded"))
    plan = play.go(*there)
    assert play.status["phase"] == "Succeeded"
    assert finish(play) == FINISHED
    for kind in FINISHED:
        assert play.condition(kind)[1:] == ("Succeeded", "The job has finished successfully.")
    assert ("Normal", "Succeeded", "The job has finished successfully.") in events_of(plan)
    plan = play.go(*there)
    assert not plan.deletes


@pytest.mark.scenario("B-08")
def test_worker_does_not_end_a_job_with_a_chief() -> None:
    play = running("C1 W2")
    play.go(*but("C1 W2", pod("worker", 0, "Succeeded")))
    assert play.status["phase"] == "Running"


@pytest.mark.scenario("B-09")
def test_clean_up_of_what_is_unfinished() -> None:
    play = running("C1 P1 W1", runPolicy={"cleanUpPolicy": "Unfinished"})
    there = but("C1 P1 W1", pod("chief", 0, "Succeeded"))
    play.go(*there)
    assert deleted_names(play.go(*there), "Pod") == [name_of("worker", 0)]
    left = [pod("chief", 0, "Succeeded"), pod("ps", 0)]
    assert deleted_names(play.go(*left), "Pod") == [name_of("ps", 0)]
    play.go(pod("chief", 0, "Succeeded"))
    assert play.status["phase"] == "Succeeded"
    assert play.aggregate() == {"succeeded": 1, "deleted": 2}
    assert play.replica("ps", 0)["phase"] == "Deleted"
    assert play.replica("ps", 0)["uid"] == f"uid-{name_of('ps', 0)}"


def test_clean_up_of_what_is_unfinished_keeps_what_its_kubelet_has_not_reported_yet() -> None:
    play = running("C1 W3", runPolicy={"cleanUpPolicy": "Unfinished"})
    over = [pod(kind, index, code=0) for kind, index in (("chief", 0), ("worker", 0))]
    there = [*over, pod("worker", 1, code=1), pod("worker", 2)]
    play.go(*there)
    assert play.status["phase"] == "Succeeded"
    assert play.aggregate() == {"succeeded": 2, "failed": 1, "running": 1}
    assert deleted_names(play.go(*there), "Pod") == [name_of("worker", 2)]


@pytest.mark.scenario("B-10")
@pytest.mark.parametrize(("policy", "count"), [("All", 3), ("all", 3), ("none", 0), ("None", 0)])
def test_clean_up_of_all_and_of_none(policy: str, count: int) -> None:
    play = running("C1 W2", runPolicy={"cleanUpPolicy": policy})
    there = but("C1 W2", pod("chief", 0, "Succeeded"))
    play.go(*there)
    assert len(deleted_names(play.go(*there), "Pod")) == count


@pytest.mark.scenario("B-29")
def test_job_that_is_created_paused_has_no_pods() -> None:
    play = Play(training_job("W2", runMode={"pause": {"enabled": True}}))
    plan = play.go()
    assert [each for each in plan.creates if each.kind == "Pod"] == []
    assert play.status["phase"] == "Paused"
    assert play.condition("Paused")[:2] == ("True", "Paused")
    assert play.conditions["Initialized"] == "True"
    assert ("Normal", "Paused") in [each[:2] for each in events_of(plan)]


@pytest.mark.scenario("B-31")
def test_older_spelling_of_a_pause() -> None:
    play = Play(training_job("W2", runMode={"pause": {"enable": True}}))
    play.go()
    assert play.status["phase"] == "Paused"


def pausable(**pause: Any) -> Json:
    return {"pause": {"resumeSpecs": [{"type": "worker", "command": ["a"]}], **pause}}


@pytest.mark.scenario("B-30")
def test_job_is_paused_and_resumed() -> None:
    given = training_job("W2", runMode=pausable())
    for each in given["spec"]["replicaSpecs"]:
        each["template"]["spec"]["containers"][0]["args"] = ["b"]
    play = Play(given)
    play.go(*everything("W2"))
    play.edit(runMode=pausable(enabled=True))
    plan = play.go(*everything("W2"))
    assert len(deleted_names(plan, "Pod")) == 2
    assert deleted_names(plan, "Service") == []
    assert (play.status["phase"], play.conditions["Running"]) == ("Paused", "False")
    play.go()
    assert play.aggregate() == {"deleted": 2}
    play.edit(runMode=pausable(enabled=False))
    job = play.job
    assert isinstance(job, Job)
    plan = play.go(now=at(60))
    assert play.status["phase"] == "Resuming"
    assert play.condition("Paused")[:2] == ("False", "Resumed")
    assert ("Normal", "Resuming") in [each[:2] for each in events_of(plan)]
    for each in made(job, plan, "Pod").values():
        assert training_container(each)["command"] == ["a"]
        assert training_container(each)["args"] == ["b"]
    play.go(*everything("W2"), now=at(70))
    assert (play.status["phase"], play.status["backoffCount"]) == ("Running", 0)
    again = play.job
    assert isinstance(again, Job)
    later = made(again, play.go(pod("worker", 0), now=at(80)), "Pod")
    assert training_container(later[W1])["command"] == ["a"]


def test_job_that_was_never_paused_starts_as_its_template_says() -> None:
    play = Play(training_job("W1", runMode=pausable()))
    job = play.job
    assert isinstance(job, Job)
    (found,) = made(job, play.go(), "Pod").values()
    assert "command" not in training_container(found)


def test_resumed_job_runs_only_when_all_its_new_pods_do() -> None:
    play = running("W2")
    play.edit(runMode={"pause": {"enabled": True}})
    play.go(*everything("W2"))
    play.edit(runMode={"pause": {"enabled": False}})
    leaving = pod("worker", 1, deleted=at(10))
    play.go(leaving, now=at(59))
    play.go(pod("worker", 0, "Pending", uid="new"), leaving, now=at(60))
    play.go(pod("worker", 0, uid="new"), leaving, now=at(61))
    assert play.status["phase"] == "Resuming"
    play.go(pod("worker", 0, uid="new"), pod("worker", 1, uid="new-1"), now=at(62))
    assert play.status["phase"] == "Running"


def test_time_of_a_job_runs_from_when_all_of_it_was_created() -> None:
    play = Play(training_job("W2", runPolicy={"activeDeadlineSeconds": 60}))
    play.go()
    play.go(pod("worker", 0), now=at(100))
    assert "startTime" not in play.status
    play.go(pod("worker", 0), pod("worker", 1), now=at(200))
    assert play.status["startTime"] == time.render(at(200))
    play.go(pod("worker", 0), pod("worker", 1), now=at(260.9))
    assert play.status["phase"] == "Running"
    play.go(pod("worker", 0), pod("worker", 1), now=at(261))
    assert play.status["phase"] == "Failed"


@pytest.mark.parametrize(("index", "is_begun"), [(1, True), (2, False)])
def test_job_that_ends_at_first_sight_began_if_all_of_it_was_created(
    index: int, is_begun: bool
) -> None:
    play = Play(training_job("W2"))
    play.go()
    play.go(pod("worker", 0, "Succeeded"), *(pod("worker", each) for each in range(index, 2)))
    assert play.status["phase"] == "Succeeded"
    assert ("startTime" in play.status) == is_begun
    assert ("Initialized" in play.conditions) == is_begun


def test_start_time_is_new_after_a_pause() -> None:
    play = running("W1")
    before = play.status["startTime"]
    play.edit(runMode={"pause": {"enabled": True}})
    play.go(now=at(30))
    play.edit(runMode={"pause": {"enabled": False}})
    play.go(now=at(60))
    assert play.status["startTime"] > before


def test_success_comes_before_a_pause() -> None:
    play = running("W1")
    play.edit(runMode={"pause": {"enabled": True}})
    play.go(pod("worker", 0, "Succeeded"))
    assert play.status["phase"] == "Succeeded"


@pytest.mark.scenario("B-36")
def test_finished_status_names_each_replica_and_container() -> None:
    play = running("W1")
    play.go(pod("worker", 0, "Succeeded"))
    containers = [{"name": "tensorflow", "state": "Terminated", "exitCode": 0}]
    worker = {"name": W0, "uid": f"uid-{W0}", "phase": "Succeeded", "containers": containers}
    assert play.status["tasks"] == [{"type": "worker", "restartCount": 0, "replicas": [worker]}]


def test_verdict_is_final() -> None:
    play = running("W2")
    play.go(*but("W2", pod("worker", 0, "Failed")))
    before = play.status["conditions"]
    for there in ((), everything("W2")):
        plan = play.go(*there, now=at(900))
        assert not [each for each in plan.creates if each.kind == "Pod"]
        assert (play.status["phase"], play.status["conditions"]) == ("Failed", before)


def test_group_goes_when_the_last_pod_is_gone() -> None:
    group = PodGroup(metadata=ObjectMeta(name="j", uid="g"), spec={})
    play = Play(training_job("W1", scheduler=T9K, runPolicy={"cleanUpPolicy": "All"}))
    play.go(pod("worker", 0), pod_group=group)
    done = pod("worker", 0, "Succeeded")
    play.go(done, pod_group=group)
    assert deleted_names(play.go(done, pod_group=group), "PodGroup") == []
    assert deleted_names(play.go(pod_group=group), "PodGroup") == ["j"]


@pytest.mark.scenario("B-25", "B-26", "B-27", "B-34")
@pytest.mark.parametrize(
    "broken",
    [
        training_job(scheduler={"t9kScheduler": {"queue": "q", "priority": 101}}),
        training_job(scheduler={"t9kScheduler": {"priority": 1}}),
        containers(container("trainer")),
        training_job("P2"),
        training_job(tensorboardSpec={"image": "i", "trainingLogFilesets": ["pvc://p/log"]}),
    ],
    ids=["priority", "queue", "container", "master", "fileset"],
)
def test_broken_job_fails_with_all_its_faults_and_without_pods(broken: Json) -> None:
    play = Play(broken)
    plan = play.go()
    assert not plan.creates
    assert play.status["phase"] == "Failed"
    status, reason, message = play.condition("Failed")
    assert (status, reason) == ("True", "InvalidSpec")
    assert "spec." in message
    assert ("Warning", "InvalidSpec") in [each[:2] for each in events_of(plan)]


def test_all_faults_are_in_the_message() -> None:
    broken = training_job(
        "P2", scheduler={"t9kScheduler": {"priority": 101}}, runPolicy={"backoffLimit": -1}
    )
    play = Play(broken)
    play.go()
    message = play.condition("Failed")[2]
    for part in ("replicaSpecs", "queue", "priority", "backoffLimit"):
        assert part in message
