"""The precedence of the policies where several apply."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    NOW,
    Passes,
    a_job,
    a_pod,
    at,
    conditions_of,
    created_names,
    decide,
    decoded,
    deleted_names,
    manifest,
    pods,
    status_after,
)
from tfjob.core.job import Job
from tfjob.core.messages import MessageTemplate
from tfjob.core.plan import Plan
from tfjob.dialects.base import Settings
from tfjob.k8s.child_types import PodGroup, PodGroupStatus
from tfjob.k8s.meta import ObjectMeta

VOLCANO = Settings(gang_scheduler_name="volcano")
GROUP = PodGroup(
    metadata=ObjectMeta(name="j", uid="g"),
    spec={"minMember": 2, "queue": "default"},
    status=PodGroupStatus(phase="Running"),
)


def message(job: Job, plan: Plan) -> str:
    return status_after(job, plan).conditions[-1].message


def test_success_comes_before_the_failure_of_another_replica() -> None:
    job = a_job("W2", restart="ExitCode")
    plan = decide(job, *pods(worker="SF"))
    assert conditions_of(status_after(job, plan)) == ["Created", "Succeeded"]


def test_a_limit_comes_before_success() -> None:
    stored = {"startTime": "2026-01-02T03:00:00Z"}
    job = a_job("W1", run_policy={"activeDeadlineSeconds": 5}, status=stored)
    assert message(job, decide(job, *pods(worker="S"))).endswith("longer than specified deadline")


def test_a_permanent_exit_code_is_blamed_before_other_failures() -> None:
    given = manifest("C1 W1")
    specs = given["spec"]["tfReplicaSpecs"]
    specs["Worker"]["restartPolicy"] = "ExitCode"
    job = decoded(given)
    plan = decide(job, *pods(chief="F", worker="F"))
    assert message(job, plan) == 'job "j" is failing because "Worker" replica(s) failed.'


def test_a_reconcile_that_ends_the_job_makes_and_restarts_nothing() -> None:
    given = manifest("P1 W3", restart="OnFailure")
    given["spec"]["tfReplicaSpecs"]["PS"]["restartPolicy"] = "Never"
    job = decoded(given)
    plan = decide(job, *pods(ps="F", worker="RF"), services=[])
    assert (plan.creates, plan.deletes, plan.replaced) == ([], [], 0)
    assert status_after(job, plan).of("Worker").restarts == 0
    assert [each.reason for each in plan.events].count("TFJobRestarting") == 0


def test_a_permanent_exit_code_makes_and_restarts_nothing_either() -> None:
    later = a_pod("worker", 2, "Failed", exit_code=137, ran=(-50, 1))
    plan = decide(a_job("W4", restart="ExitCode"), *pods(worker="RF"), later, services=[])
    assert (plan.creates, plan.deletes, plan.replaced) == ([], [], 0)


def test_a_restart_is_reported_once_per_pod() -> None:
    passes = Passes(manifest("W2", restart="OnFailure"))
    failed = a_pod("worker", 1, "Failed", exit_code=1, uid="x")
    keys = []
    for seconds in (0, 1, 2):
        plan = passes.go(*pods(worker="R"), failed, now=at(seconds))
        keys += [each.key for each in plan.events if each.reason == "TFJobRestarting"]
        assert deleted_names(plan, "Pod") == ["j-worker-1"]
    assert keys == ["restarting/x"] * 3
    assert passes.job.status.restarts == 1


def test_the_first_restarting_type_in_order_is_named() -> None:
    job = a_job("P1 W1 E1 C1", restart="OnFailure")
    status = status_after(job, decide(job, *pods(chief="R", evaluator="F", ps="F", worker="F")))
    expected = "job j is restarting because Evaluator replica(s) failed."
    assert status.conditions[-1].message == expected


@pytest.mark.scenario(25)
def test_a_policy_in_the_template_is_reported_once_per_type() -> None:
    given = manifest("P1 W2")
    for kind in ("PS", "Worker"):
        template = given["spec"]["tfReplicaSpecs"][kind]["template"]
        template["spec"]["restartPolicy"] = "OnFailure"
    job = decoded(given)
    plan = decide(job, *pods(ps="R"))
    (event,) = plan.events
    assert (str(event.type), event.reason) == ("Warning", "SetPodTemplateRestartPolicy")
    assert event.message == (
        "Restart policy in pod template will be overwritten by restart policy in replica spec"
    )
    assert event.key == "template/U/SetPodTemplateRestartPolicy/Worker"
    assert [each.key.rsplit("/", 1)[1] for each in decide(job).events] == ["PS", "Worker"]


def test_while_a_group_waits_nothing_is_counted_made_or_ended() -> None:
    job = a_job("W2", VOLCANO)
    waiting = msgspec.structs.replace(GROUP, status=PodGroupStatus(phase="Pending"))
    plan = decide(job, *pods(worker="F"), pod_group=waiting)
    status = status_after(job, plan)
    assert conditions_of(status) == ["Created"]
    assert (status.replicas, status.start_time) == ({}, None)
    assert (plan.creates, plan.deletes) == ([], [])


def test_a_limit_is_looked_at_before_the_group() -> None:
    stored = {"startTime": "2026-01-02T03:00:00Z"}
    job = a_job("W2", VOLCANO, run_policy={"activeDeadlineSeconds": 5}, status=stored)
    plan = decide(job, *pods(worker="RR"))
    assert status_after(job, plan).is_true("Failed")
    assert created_names(plan, "PodGroup") == []


@pytest.mark.parametrize(
    ("stays", "letters", "is_deleted"),
    [(False, "SR", True), (True, "SR", False), (True, "--", True)],
)
def test_a_group_may_stay_as_long_as_there_are_pods(
    stays: bool, letters: str, is_deleted: bool
) -> None:
    stored = {"conditions": [{"type": "Succeeded", "status": "True"}]}
    job = a_job("W2", VOLCANO, status=stored)
    assert job.gang is not None
    group = msgspec.structs.replace(job.gang, stays_with_pods=stays)
    job = msgspec.structs.replace(job, gang=group)
    plan = decide(job, *pods(worker=letters), pod_group=GROUP)
    assert deleted_names(plan, "PodGroup") == (["j"] if is_deleted else [])


def test_a_suspended_job_gives_its_group_back_although_pods_are_left() -> None:
    job = a_job("W2", VOLCANO, run_policy={"suspend": True})
    assert job.gang is not None
    group = msgspec.structs.replace(job.gang, stays_with_pods=True)
    plan = decide(msgspec.structs.replace(job, gang=group), *pods(worker="RR"), pod_group=GROUP)
    assert deleted_names(plan, "PodGroup") == ["j"]
    assert [each.key for each in plan.events if each.reason == "JobTerminated"] == [
        "group-terminated/g"
    ]


def test_a_job_without_a_gang_gives_back_a_group_of_earlier_times() -> None:
    job = a_job("W1", status={"conditions": [{"type": "Succeeded", "status": "True"}]})
    assert deleted_names(decide(job, pod_group=GROUP), "PodGroup") == ["j"]


def worded(job: Job, **phrases: MessageTemplate) -> Job:
    return msgspec.structs.replace(job, messages=msgspec.structs.replace(job.messages, **phrases))


def test_a_dialect_may_name_the_namespace_in_every_sentence() -> None:
    phrase = MessageTemplate("Word", "{namespace}/{name}")
    stored = {"startTime": "2026-01-02T03:00:00Z"}
    late = a_job("W2", run_policy={"activeDeadlineSeconds": 5}, status=stored)
    late = worded(late, failed_deadline=phrase)
    plan = decide(late, *pods(worker="RR"))
    assert message(late, plan) == "n/j"
    late = msgspec.structs.replace(late, status=status_after(late, plan))
    assert deleted_names(decide(late, *pods(worker="RS")), "Pod") == ["j-worker-0"]
    failing = worded(a_job("W2", restart="OnFailure"), restarting=phrase, created=phrase)
    plan = decide(failing, *pods(worker="RF"))
    assert (message(failing, plan), plan.events[-2].message) == ("n/j", "n/j")
    assert status_after(failing, plan).conditions[0].message == "n/j"


def test_a_limit_is_known_by_its_code_and_not_by_its_sentence() -> None:
    stored = {"startTime": "2026-01-02T03:00:00Z"}
    late = a_job("W2", run_policy={"activeDeadlineSeconds": 5}, status=stored)
    ended = msgspec.structs.replace(late, status=status_after(late, decide(late)))
    reworded = worded(ended, failed_deadline=MessageTemplate("TFJobFailed", "said otherwise today"))
    assert deleted_names(decide(reworded, *pods(worker="RS")), "Pod") == ["j-worker-0"]


def test_the_first_thing_due_wakes_the_job() -> None:
    records = [{"index": 1, "uid": "u", "streak": 3, "time": "2026-01-02T03:04:05Z"}]
    stored: dict[str, Any] = {
        "startTime": "2026-01-02T03:04:05Z",
        "replicaStatuses": {"Worker": {"recentRestarts": records}},
    }
    for limit, expected in ((60, at(20)), (15, at(16))):
        policy = {"activeDeadlineSeconds": limit}
        job = a_job("W2", restart="OnFailure", run_policy=policy, status=stored)
        assert decide(job, *pods(worker="R"), now=at(1)).requeue_at == expected
    stuck = a_pod("worker", 1, deleted=-30, grace=30)
    job = a_job("W2", restart="OnFailure", run_policy={"activeDeadlineSeconds": 600}, status=stored)
    assert decide(job, *pods(worker="R"), stuck, now=at(1)).requeue_at == at(300)


def test_the_start_is_set_once_in_whole_seconds() -> None:
    passes = Passes(manifest("W1"))
    passes.go(now=at(0.9))
    passes.go(*pods(worker="R"), now=at(9))
    assert passes.job.status.start_time == NOW


def test_a_job_with_too_many_pods_failed_at_once_tells_the_exits_of_all() -> None:
    plan = decide(a_job("W3"), *pods(worker="FFF"))
    exits = [each.message for each in plan.events if each.reason == "ExitedWithCode"]
    assert exits == [f"Pod: n.j-worker-{index} exited with code 1" for index in range(3)]
