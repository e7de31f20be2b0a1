"""Scenarios: gang scheduling with a PodGroup."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    NOW,
    Passes,
    a_job,
    a_pod,
    at,
    container,
    created_names,
    decide,
    decoded,
    deleted_names,
    events_of,
    manifest,
    manifests_of,
    pods,
    replica_spec,
    status_after,
)
from tfjob.core.job import Job
from tfjob.core.plan import Plan
from tfjob.dialects.base import Settings
from tfjob.k8s.child_types import PodGroup, PodGroupStatus
from tfjob.k8s.meta import ObjectMeta
from tfjob.k8s.pod import Pod, PodCondition

VOLCANO = Settings(gang_scheduler_name="volcano")
PLUGIN = Settings(gang_scheduler_name="my-sched")


def a_group(phase: str = "Inqueue", **spec: Any) -> PodGroup:
    return PodGroup(
        metadata=ObjectMeta(name="j", namespace="n", uid="group"),
        spec=spec,
        status=PodGroupStatus(phase=phase),
    )


def inside(*found: Pod) -> list[Pod]:
    """The pods with the marks of members of the PodGroup."""
    label, mark = "scheduling.x-k8s.io/pod-group", "scheduling.k8s.io/group-name"
    return [
        msgspec.structs.replace(
            pod,
            metadata=msgspec.structs.replace(
                pod.metadata, labels={**pod.metadata.labels, label: "j"}, annotations={mark: "j"}
            ),
        )
        for pod in found
    ]


def group_of(job: Job, plan: Plan) -> dict[str, Any]:
    """The PodGroup that a plan makes."""
    return next(each for each in manifests_of(job, plan) if each["kind"] == "PodGroup")


def pods_of(job: Job, plan: Plan) -> list[dict[str, Any]]:
    return [each for each in manifests_of(job, plan) if each["kind"] == "Pod"]


def test_a_gang_that_waits_at_the_end_of_the_calendar_is_no_error() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    plan = decide(a_job("W1", settings=VOLCANO), now=last, pod_group=a_group("Pending"))
    assert plan.creates == []


@pytest.mark.scenario(124)
@pytest.mark.parametrize("phase", ["", "Pending"])
def test_a_gang_larger_than_its_job_waits_until_it_is_made_smaller(phase: str) -> None:
    policy = {"schedulingPolicy": {"minAvailable": 10}}
    passes = Passes(manifest("W1", run_policy=policy), VOLCANO)
    created = group_of(passes.job, passes.go())
    assert created["spec"]["minMember"] == 10
    stored = a_group(phase, minMember=10, queue="default")
    assert passes.go(now=at(15), pod_group=stored).creates == []
    assert passes.conditions == ["Created"]
    passes.edit(manifest("W1", run_policy={"schedulingPolicy": {"minAvailable": 1}}))
    (update,) = passes.go(now=at(16), pod_group=stored).updates
    assert (update.kind, update.name, update.uid) == ("PodGroup", "j", "group")
    assert update.body["spec"]["minMember"] == 1
    admitted = a_group("Inqueue", minMember=1, queue="default")
    plan = passes.go(now=at(17), pod_group=admitted)
    assert created_names(plan, "Pod") == ["j-worker-0"]
    assert plan.updates == []


@pytest.mark.scenario("R15", 125)
def test_a_volcano_job_waits_for_its_group_and_starts_once_it_is_admitted() -> None:
    passes = Passes(manifest("C1 W1"), VOLCANO)
    first = passes.go()
    assert [each.kind for each in first.creates] == ["PodGroup"]
    waiting = a_group("Pending", minMember=2, queue="default")
    plan = passes.go(now=at(40), pod_group=waiting)
    assert plan.creates == []
    status = passes.job.status
    assert (status.last_reconcile_time, status.start_time) == (at(0), None)
    admitted = a_group("Inqueue", minMember=2, queue="default")
    plan = passes.go(now=at(50), pod_group=admitted)
    assert passes.job.status.start_time == at(50)
    for pod, role in zip(pods_of(passes.job, plan), ("chief", "worker"), strict=True):
        assert pod["spec"]["schedulerName"] == "volcano"
        assert pod["metadata"]["annotations"] == {
            "scheduling.k8s.io/group-name": "j",
            "volcano.sh/task-spec": role,
        }


@pytest.mark.parametrize("phase", ["Inqueue", "Running", "Unknown", "Completed"])
def test_every_other_phase_of_a_group_lets_pods_come(phase: str) -> None:
    job = a_job("W1", VOLCANO)
    plan = decide(job, pod_group=a_group(phase, minMember=1, queue="default"))
    assert created_names(plan, "Pod") == ["j-worker-0"]


def test_a_waiting_job_writes_nothing_until_its_group_changes() -> None:
    passes = Passes(manifest("W1"), VOLCANO)
    waiting = a_group("Pending", minMember=1, queue="default")
    passes.go(pod_group=waiting)
    later = [passes.go(now=at(each), pod_group=waiting) for each in (1, 40, 400, 4000)]
    assert [plan.status for plan in later[1:]] == [None, None, None]
    assert all(plan.requeue_at is None for plan in later[1:])


def test_a_waiting_job_is_still_woken_at_its_deadline() -> None:
    stored = {"startTime": "2026-01-02T03:04:05Z"}
    job = a_job("W1", VOLCANO, run_policy={"activeDeadlineSeconds": 5}, status=stored)
    plan = decide(job, now=at(1), pod_group=a_group("Pending", minMember=1, queue="default"))
    assert plan.requeue_at == at(6)


@pytest.mark.scenario(126)
def test_another_scheduler_gets_its_name_its_label_and_a_group_of_all_members() -> None:
    job = a_job("C1 P2 W4", PLUGIN)
    plan = decide(job)
    group = group_of(job, plan)
    assert group["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert group["spec"] == {"minMember": 7}
    assert group["metadata"]["ownerReferences"][0]["uid"] == "U"
    made = pods_of(job, plan)
    assert len(made) == 7
    assert {each["spec"]["schedulerName"] for each in made} == {"my-sched"}
    assert {each["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for each in made} == {"j"}
    assert plan.creates[0].kind == "PodGroup"


@pytest.mark.scenario(127)
@pytest.mark.parametrize(
    ("chief", "worker", "warned"),
    [
        pytest.param(None, None, [], id="no-scheduler-anywhere"),
        pytest.param("mine", "mine", ["Chief", "Worker"], id="all-custom"),
        pytest.param(None, "mine", ["Worker"], id="one-custom"),
        pytest.param("volcano", None, [], id="the-gang-scheduler-itself"),
    ],
)
def test_a_scheduler_named_by_the_template_is_kept_with_a_warning(
    chief: str | None, worker: str | None, warned: list[str]
) -> None:
    given = manifest("C1 W1")
    for kind, name in (("Chief", chief), ("Worker", worker)):
        template = given["spec"]["tfReplicaSpecs"][kind]["template"]
        template["spec"]["schedulerName"] = name
    job = decoded(given, VOLCANO)
    plan = decide(job, pod_group=a_group(minMember=2, queue="default"))
    expected = [name or "volcano" for name in (chief, worker)]
    assert [each["spec"]["schedulerName"] for each in pods_of(job, plan)] == expected
    text = (
        "Another scheduler is specified when gang-scheduling is enabled"
        " and it will not be overwritten"
    )
    warning = ("Warning", "SetPodTemplateSchedulerName", text)
    assert events_of(plan) == [warning] * len(warned)
    assert [each.key.rsplit("/", 1)[1] for each in plan.events] == warned


@pytest.mark.scenario(128)
def test_a_small_gang_asks_for_the_resources_of_its_most_important_replicas() -> None:
    given = manifest("P2 W4", run_policy={"schedulingPolicy": {"minAvailable": 5}})
    specs = given["spec"]["tfReplicaSpecs"]
    asks = {"PS": ("low", {"cpu": "1"}), "Worker": ("high", {"cpu": "2", "nvidia.com/gpu": 1})}
    for kind, (priority, requests) in asks.items():
        asked = container(resources={"requests": requests})
        template = {"spec": {"containers": [asked], "priorityClassName": priority}}
        specs[kind] = replica_spec(2 if kind == "PS" else 4, template=template)
    job = decoded(given, VOLCANO)
    plan = decide(job, priorities={"low": 1, "high": 1000})
    resources = group_of(job, plan)["spec"]["minResources"]
    assert resources == {"cpu": "9", "nvidia.com/gpu": "4"}


@pytest.mark.scenario(129, "R18")
def test_a_finished_gang_job_deletes_its_group_once_and_says_so_once() -> None:
    group = a_group("Running", minMember=1, queue="default")
    passes = Passes(manifest("W1"), VOLCANO)
    passes.go(*pods(worker="R"), pod_group=group)
    passes.go(*pods(worker="S"), now=at(1), pod_group=group)
    plan = passes.go(*pods(worker="S"), now=at(2), pod_group=group)
    assert [(each.kind, each.name, each.uid) for each in plan.deletes] == [
        ("PodGroup", "j", "group")
    ]
    assert events_of(plan) == [
        ("Normal", "JobTerminated", "Job has been terminated. Deleting PodGroup")
    ]
    gone = passes.go(*pods(worker="S"), now=at(3))
    assert (gone.is_empty, gone.events) == (True, [])


def test_a_suspended_gang_job_gives_its_group_back() -> None:
    job = a_job("W1", VOLCANO, run_policy={"suspend": True})
    plan = decide(job, *pods(worker="R"), pod_group=a_group())
    assert deleted_names(plan, "PodGroup") == ["j"]


def test_a_resumed_gang_job_starts_when_it_is_admitted_again() -> None:
    passes = Passes(manifest("W1", run_policy={"suspend": True}), VOLCANO)
    passes.go(*pods(worker="R"), pod_group=a_group("Running"))
    passes.edit(manifest("W1", run_policy={"activeDeadlineSeconds": 5}))
    left = a_pod("worker", 0, deleted=0)
    waiting = a_group("Pending", minMember=1, queue="default")
    passes.go(left, now=at(1), pod_group=waiting)
    passes.go(left, now=at(20), pod_group=waiting)
    assert passes.conditions == ["Created", "Suspended=F"]
    assert passes.job.status.start_time is None
    admitted = a_group("Inqueue", minMember=1, queue="default")
    passes.go(left, now=at(30), pod_group=admitted)
    assert passes.conditions == ["Created", "Suspended=F"]
    assert passes.job.status.start_time == at(30)


@pytest.mark.scenario("R17")
def test_a_restart_inside_a_gang_keeps_its_group() -> None:
    group = a_group("Running", minMember=2, queue="default")
    passes = Passes(manifest("W2", restart="OnFailure"), VOLCANO)
    passes.go(*pods(worker="RR"), pod_group=group)
    plan = passes.go(*pods(worker="RF"), now=at(1), pod_group=group)
    assert (deleted_names(plan, "Pod"), deleted_names(plan, "PodGroup")) == (["j-worker-1"], [])
    plan = passes.go(*inside(*pods(worker="R")), now=at(2), pod_group=group)
    assert [each.kind for each in plan.creates if each.kind != "Service"] == ["Pod"]
    assert plan.updates == []


def test_a_group_deleted_by_a_user_is_recreated() -> None:
    plan = decide(a_job("W1", VOLCANO), *pods(worker="R"))
    assert [each.kind for each in plan.creates] == ["PodGroup"]


def test_a_queue_once_stored_is_kept() -> None:
    job = a_job("W1", VOLCANO, run_policy={"schedulingPolicy": {"queue": "wanted"}})
    assert group_of(job, decide(job))["spec"]["queue"] == "wanted"
    plan = decide(job, pod_group=a_group(minMember=1, queue="stored"))
    assert plan.updates == []


def test_the_annotations_of_the_job_are_copied_to_its_group() -> None:
    given = manifest("W1", annotations={"a": "1"})
    job = decoded(given, VOLCANO)
    assert group_of(job, decide(job))["metadata"]["annotations"] == {"a": "1"}
    bare = decoded(manifest("W1"), VOLCANO)
    assert "annotations" not in group_of(bare, decide(bare))["metadata"]


@pytest.mark.parametrize("name", ["", "none", "None", "NONE"])
def test_without_a_gang_scheduler_there_is_no_group(name: str) -> None:
    job = a_job("W1", Settings(gang_scheduler_name=name))
    plan = decide(job)
    assert created_names(plan, "PodGroup") == []
    assert status_after(job, plan).start_time == NOW


def grown(*found: Pod) -> Plan:
    """One pass over a job that was scaled from two workers to three."""
    group = a_group("Running", minMember=2, queue="default")
    return decide(a_job("W3", VOLCANO), *inside(*found), pod_group=group)


def test_a_running_gang_grows_only_once_its_new_members_have_nodes() -> None:
    new = a_pod("worker", 2, "Pending", node="")
    assert grown(*pods(worker="RR"), new).updates == []
    (update,) = grown(*pods(worker="RRR")).updates
    assert update.body["spec"]["minMember"] == 3


def test_a_gang_that_has_no_node_yet_grows_at_once() -> None:
    waiting = [a_pod("worker", index, "Pending", node="") for index in range(2)]
    (update,) = grown(*waiting).updates
    assert update.body["spec"]["minMember"] == 3


def test_a_running_gang_shrinks_at_once() -> None:
    group = a_group("Running", minMember=5, queue="default")
    running = inside(*pods(worker="RRR"))
    (update,) = decide(a_job("W3", VOLCANO), *running, pod_group=group).updates
    assert update.body["spec"]["minMember"] == 3


def test_a_member_can_come_back_although_another_has_finished() -> None:
    """Coscheduling counts the pods on nodes, and a pod that has ended is on none."""
    specs = manifest("W3", restart="OnFailure")
    specs["spec"]["successPolicy"] = "AllWorkers"
    passes = Passes(specs, PLUGIN)
    group = a_group("", minMember=3)
    passes.go(*pods(worker="RRS"), pod_group=group)
    plan = passes.go(*inside(*pods(worker="R-S")), now=at(1), pod_group=group)
    assert created_names(plan, "Pod") == ["j-worker-1"]
    (update,) = plan.updates
    assert update.body["spec"]["minMember"] == 2
    smaller, running = a_group("", minMember=2), inside(*pods(worker="RRS"))
    assert passes.go(*running, now=at(2), pod_group=smaller).updates == []


@pytest.mark.parametrize(("states", "size"), [("R-S", None), ("R--", 2), ("---", 2)])
def test_volcano_is_not_asked_for_a_finished_member_that_is_gone(
    states: str, size: int | None
) -> None:
    """Volcano counts a pod that has succeeded for as long as it exists."""
    specs = manifest("W3", restart="OnFailure")
    specs["spec"]["successPolicy"] = "AllWorkers"
    passes = Passes(specs, VOLCANO)
    group = a_group("Running", minMember=3, queue="default")
    passes.go(*inside(*pods(worker="RRS")), pod_group=group)
    plan = passes.go(*inside(*pods(worker=states)), now=at(1), pod_group=group)
    assert [each.body["spec"]["minMember"] for each in plan.updates] == ([size] if size else [])


@pytest.mark.parametrize("settings", [VOLCANO, PLUGIN])
def test_a_group_does_not_ask_for_pods_that_run_outside_of_it(settings: Settings) -> None:
    """The job has started before there was a gang scheduler."""
    job = a_job("W3", settings)
    assert group_of(job, decide(job, *pods(worker="RRR")))["spec"]["minMember"] == 1
    small, outside = a_group("Pending", minMember=1, queue="default"), pods(worker="R-R")
    plan = decide(job, *outside, pod_group=small)
    assert created_names(plan, "Pod") == ["j-worker-1"]
    assert plan.updates == []
    joined = [*outside, *inside(a_pod("worker", 1))]
    assert decide(job, *joined, pod_group=small).updates == []
    (update,) = decide(job, *inside(*pods(worker="RRR")), pod_group=small).updates
    assert update.body["spec"]["minMember"] == 3


def test_all_others_can_come_back_although_one_has_finished() -> None:
    """No pod is left that could be counted beside those that are created."""
    specs = manifest("W3", restart="OnFailure")
    specs["spec"]["successPolicy"] = "AllWorkers"
    passes = Passes(specs, PLUGIN)
    passes.go(*pods(worker="RRS"), pod_group=a_group("", minMember=3))
    plan = passes.go(*pods(worker="--S"), now=at(1), pod_group=a_group("", minMember=3))
    (update,) = plan.updates
    assert update.body["spec"]["minMember"] == 2
    assert created_names(plan, "Pod") == ["j-worker-0", "j-worker-1"]
    smaller = a_group("", minMember=2)
    assert passes.go(*pods(worker="--S"), now=at(2), pod_group=smaller).updates == []


def test_the_priority_of_the_policy_is_that_of_pods_without_one_of_their_own() -> None:
    given = manifest("C1 W1", run_policy={"schedulingPolicy": {"priorityClass": "high"}})
    chief = given["spec"]["tfReplicaSpecs"]["Chief"]["template"]["spec"]
    chief["priorityClassName"] = "own"
    job = decoded(given, PLUGIN)
    found = [each["spec"]["priorityClassName"] for each in pods_of(job, decide(job))]
    assert found == ["own", "high"]


def test_a_gang_without_room_is_brought_to_its_scheduler_again() -> None:
    refused = PodCondition(
        type="PodScheduled",
        status="False",
        reason="Unschedulable",
        last_transition_time="2026-01-02T03:04:05Z",
    )
    waiting = [a_pod("worker", each, "Pending", node="", conditions=[refused]) for each in (0, 1)]
    group = a_group("", minMember=2)
    job = a_job("W2", PLUGIN)
    assert decide(job, *waiting, now=at(9), pod_group=group).updates == []
    (touch,) = decide(job, *waiting, now=at(10), pod_group=group).updates
    annotations = {"tfjob.dev/retried-at": "2026-01-02T03:04:15Z"}
    assert touch.body == {"metadata": {"uid": "group", "annotations": annotations}}
    assert decide(a_job("W2", VOLCANO), *waiting, now=at(10), pod_group=group).updates != [touch]


def test_a_job_that_is_decided_without_its_group_gets_no_new_one() -> None:
    passes = Passes(manifest("W1"), VOLCANO)
    passes.go(*pods(worker="R"), pod_group=a_group("Running", minMember=1))
    plan = passes.go(*pods(worker="S"), now=at(1))
    assert "Succeeded" in passes.conditions
    assert plan.creates == []
