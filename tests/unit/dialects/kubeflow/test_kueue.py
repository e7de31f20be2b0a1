"""Jobs in a queue of Kueue, and their pods as a group."""

from typing import Any

import msgspec
import pytest

from tests.support.builders import (
    Passes,
    a_pod,
    at,
    created_names,
    decide,
    decoded,
    deleted_names,
    manifest,
    manifests_of,
    pods,
)
from tests.unit.dialects.rendering import children_of
from tfjob.core.plan import FinalizerRemoval, Plan
from tfjob.core.scheduling_spec import QUEUE_MARK
from tfjob.dialects.base import Settings
from tfjob.dialects.job_annotations import RECOVERY
from tfjob.k8s.pod import Pod, PodCondition

QUEUE = "kueue.x-k8s.io/queue-name"
GROUP = "kueue.x-k8s.io/pod-group-name"
SIZE = "kueue.x-k8s.io/pod-group-total-count"
MANAGED = "kueue.x-k8s.io/managed"
END = "kueue.x-k8s.io/retriable-in-group"
GROUPED = Settings(has_kueue_pod_groups=True)


def queued(roles: str = "W3", **fields: Any) -> dict[str, Any]:
    given = manifest(roles, **fields)
    given["metadata"]["labels"] = {QUEUE: "team"}
    return given


def held(pod: Pod, group: str = "j-u-3", **annotations: str) -> Pod:
    """A pod that Kueue manages."""
    meta = pod.metadata
    labels = {**meta.labels, GROUP: group, MANAGED: "true"}
    changed = msgspec.structs.replace(
        meta, finalizers=[MANAGED], labels=labels, annotations={QUEUE_MARK: group, **annotations}
    )
    return msgspec.structs.replace(pod, metadata=changed)


def released(plan: Plan) -> list[str]:
    return [each.name for each in plan.finalizer_removals if each.finalizer == MANAGED]


def test_a_job_in_a_queue_runs_once_all_its_replicas_do() -> None:
    """Kueue ends the wait for pods when the job is Running."""
    job = Passes(queued())
    job.go(*pods(worker="RRP"))
    assert job.conditions == ["Created"]
    job.go(*pods(worker="RRR"))
    assert job.conditions == ["Created", "Running"]
    job.go(*pods(worker="RRP"))
    assert job.conditions == ["Created", "Running"]


def test_a_job_outside_of_queues_runs_with_its_first_replica() -> None:
    job = Passes(manifest("W3"))
    job.go(*pods(worker="RPP"))
    assert job.conditions == ["Created", "Running"]


def test_pods_are_marked_as_one_group_of_the_size_of_the_job() -> None:
    given = queued("C1 W2")
    given["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    for pod in children_of(decoded(given, GROUPED), "Pod").values():
        labels = pod["metadata"]["labels"]
        assert (labels[QUEUE], labels[GROUP]) == ("team", "j-u-3")
        assert labels["kueue.x-k8s.io/priority-class"] == "high"
        annotations = pod["metadata"]["annotations"]
        assert (annotations[SIZE], annotations[QUEUE_MARK]) == ("3", "j-u-3")


@pytest.mark.parametrize(("settings", "is_on"), [(GROUPED, True), (Settings(), False)])
def test_pods_are_marked_only_in_a_queue_and_if_that_is_asked_for(
    settings: Settings, is_on: bool
) -> None:
    for given, expected in ((queued(), is_on), (manifest("W3"), False)):
        for pod in children_of(decoded(given, settings), "Pod").values():
            assert (GROUP in pod["metadata"]["labels"]) is expected


def test_the_name_of_a_group_fits_into_a_label() -> None:
    given = queued("W3")
    given["metadata"]["name"] = f"{'a' * 39}-{'b' * 10}"
    given["metadata"]["uid"] = "0a1b2c3d-4e5f"
    (name,) = {
        pod["metadata"]["labels"][GROUP]
        for pod in children_of(decoded(given, GROUPED), "Pod").values()
    }
    assert name == f"{'a' * 39}-0a1b2c3d-3"


def test_a_deleted_pod_is_given_back_by_the_queue() -> None:
    leaving = held(a_pod("worker", 0, deleted=0))
    plan = decide(decoded(queued(), GROUPED), leaving, *map(held, pods(worker="-RR")))
    assert released(plan) == ["j-worker-0"]
    assert plan.finalizer_removals == [
        FinalizerRemoval(name="j-worker-0", uid=leaving.metadata.uid, finalizer=MANAGED)
    ]


def test_a_pod_that_stays_is_not_given_back() -> None:
    assert released(decide(decoded(queued(), GROUPED), *map(held, pods(worker="RFS")))) == []


def foreign(pod: Pod) -> Pod:
    """A pod that Kueue manages and that the operator did not put into a group."""
    meta = msgspec.structs.replace(pod.metadata, finalizers=[MANAGED])
    return msgspec.structs.replace(pod, metadata=meta)


@pytest.mark.parametrize("settings", [Settings(), GROUPED])
def test_a_pod_that_users_have_put_into_a_group_is_left_to_the_queue(settings: Settings) -> None:
    left = foreign(a_pod("worker", 0, deleted=0))
    for given in (queued(), manifest("W3")):
        assert released(decide(decoded(given, settings), left, *pods(worker="-RR"))) == []


def test_a_marked_pod_is_given_back_although_pod_groups_are_turned_off() -> None:
    plan = decide(decoded(queued()), held(a_pod("worker", 0, deleted=0)), *pods(worker="-RR"))
    assert released(plan) == ["j-worker-0"]


def test_the_pods_of_a_job_that_is_deleted_are_given_back() -> None:
    given = queued()
    given["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    plan = decide(decoded(given, GROUPED), held(a_pod("worker", 0, deleted=0)))
    assert released(plan) == ["j-worker-0"]


def test_the_pods_of_a_job_that_another_controller_manages_are_left_to_it() -> None:
    given = queued(run_policy={"managedBy": "kueue.x-k8s.io/multikueue"})
    plan = decide(decoded(given, GROUPED), held(a_pod("worker", 0, deleted=0)))
    assert plan.is_empty


@pytest.mark.parametrize("restart", ["Never", "OnFailure", "ExitCode"])
def test_a_pod_that_the_queue_stops_has_not_failed(restart: str) -> None:
    stop = PodCondition(type="TerminationTarget", status="True", reason="WorkloadEvicted")
    passes = Passes(queued("W2", restart=restart), GROUPED)
    passes.go(*map(held, pods(worker="RR")))
    leaving = [held(a_pod("worker", each, deleted=0, conditions=[stop])) for each in (0, 1)]
    plan = passes.go(*leaving, now=at(1))
    assert (plan.deletes, created_names(plan, "Pod")) == ([], [])
    plan = passes.go(now=at(2))
    assert created_names(plan, "Pod") == ["j-worker-0", "j-worker-1"]
    assert passes.job.status.restarts == 0
    assert "Failed" not in passes.conditions


def leaving(*indexes: int, group: str = "j-u-2") -> list[Pod]:
    return [held(a_pod("worker", each, deleted=0), group) for each in indexes]


def test_one_pod_stays_until_its_group_has_a_successor() -> None:
    """Kueue forgets a group without pods, and that an administrator has stopped it."""
    job = decoded(queued("W2", restart="OnFailure"), GROUPED)
    assert released(decide(job, *leaving(0, 1))) == ["j-worker-1"]
    assert released(decide(job, *leaving(0))) == []
    new = held(a_pod("worker", 1, "Pending", node=""), "j-u-2")
    assert released(decide(job, *leaving(0), new)) == ["j-worker-0"]


def test_the_pod_of_a_job_of_one_cannot_stay() -> None:
    job = decoded(queued("W1", restart="OnFailure"), GROUPED)
    assert released(decide(job, *leaving(0, group="j-u-1"))) == ["j-worker-0"]


@pytest.mark.parametrize(
    "given",
    [queued("W2", run_policy={"suspend": True}), queued("W3")],
    ids=["suspended", "of another size"],
)
def test_no_pod_of_a_group_that_ends_stays(given: dict[str, Any]) -> None:
    assert released(decide(decoded(given, GROUPED), *leaving(0, 1))) == ["j-worker-0", "j-worker-1"]


def test_a_scaled_job_is_queued_again_as_a_whole() -> None:
    passes = Passes(queued("W3"), GROUPED)
    old = [held(each, "j-u-2") for each in pods(worker="RR")]
    plan = passes.go(*old)
    assert deleted_names(plan, "Pod") == ["j-worker-0", "j-worker-1"]
    assert {str(each.rule) for each in plan.deletes} == {"Requeued"}
    assert (created_names(plan, "Pod"), plan.writes_status_first) == ([], True)
    plan = passes.go(now=at(1))
    assert len(created_names(plan, "Pod")) == 3
    assert passes.job.status.restarts == 0


def test_pods_that_the_queue_has_not_taken_up_are_left_in_peace() -> None:
    """Kueue manages the job itself, and the pods of another size are surplus at most."""
    found = decide(decoded(queued("W3"), GROUPED), *pods(worker="RR"))
    assert deleted_names(found, "Pod") == []


def test_a_finished_job_tells_the_queue_that_no_pod_comes_back() -> None:
    passes = Passes(queued("W2"), GROUPED)
    ended = [held(each, "j-u-2") for each in pods(worker="SR")]
    passes.go(*ended)
    (update,) = passes.go(*ended, now=at(1)).updates
    assert (update.kind, update.name) == ("Pod", "j-worker-0")
    assert update.body["metadata"]["annotations"] == {END: "false"}
    told = [held(each, "j-u-2", **{END: "false"}) for each in pods(worker="SR")]
    assert passes.go(*told, now=at(2)).updates == []


def restarted_group() -> Passes:
    """A job of three workers that restarts as a whole because one was killed, at second 5."""
    given = queued("W3", restart="ExitCode", annotations={RECOVERY: "Group"})
    passes = Passes(given, GROUPED)
    running = [held(a_pod("worker", each)) for each in range(3)]
    passes.go(*running)
    failed = held(a_pod("worker", 1, "Failed", exit_code=137))
    passes.go(running[0], failed, running[2], now=at(5))
    return passes


def test_a_group_restart_does_not_wait_for_the_pod_that_stays_for_the_queue() -> None:
    """The queue needs a successor before that pod goes, and the successors come all at once."""
    passes = restarted_group()
    old = [held(a_pod("worker", each, "Failed", exit_code=137, deleted=6)) for each in range(3)]
    plan = passes.go(*old, now=at(10))
    assert (released(plan), created_names(plan, "Pod")) == (["j-worker-1", "j-worker-2"], [])
    plan = passes.go(old[0], now=at(600))
    assert created_names(plan, "Pod") == ["j-worker-1", "j-worker-2"]
    new = [held(a_pod("worker", each, uid=f"new-{each}")) for each in (1, 2)]
    plan = passes.go(old[0], *new, now=at(601))
    assert (released(plan), plan.deletes) == (["j-worker-0"], [])
    assert created_names(passes.go(*new, now=at(602)), "Pod") == ["j-worker-0"]
    assert passes.job.status.restarts == 1


def test_a_group_restart_waits_for_a_pod_that_still_runs() -> None:
    passes = restarted_group()
    plan = passes.go(held(a_pod("worker", 0, deleted=6)), now=at(600))
    assert created_names(plan, "Pod") == []


def test_a_job_that_is_put_into_a_queue_while_it_runs_goes_on_without_a_group() -> None:
    """Kueue would hold a new pod until a group is complete to which the others do not belong."""
    passes = Passes(manifest("W2", restart="ExitCode"), GROUPED)
    passes.go(*pods(worker="RR"))
    passes.edit(queued("W2", restart="ExitCode"))
    for running, is_marked in ((pods(worker="R"), False), ([], True)):
        plan = decide(passes.job, *running, now=at(50))
        made = [each for each in manifests_of(passes.job, plan) if each["kind"] == "Pod"]
        assert made
        for pod in made:
            assert (GROUP in pod["metadata"]["labels"]) is is_marked


def of_all_workers(roles: str) -> dict[str, Any]:
    given = queued(roles, restart="ExitCode")
    given["spec"] |= {"successPolicy": "AllWorkers", "enableDynamicWorker": True}
    return given


def test_a_pod_that_has_succeeded_stays_for_the_queue_until_the_job_has_finished() -> None:
    """Kueue counts it. Without it, Kueue would wait for another one, which never comes."""
    passes = Passes(of_all_workers("W2"), GROUPED)
    first = held(a_pod("worker", 0), "j-u-2")
    passes.go(first, held(a_pod("worker", 1, "Succeeded", exit_code=0), "j-u-2"))
    done = held(a_pod("worker", 1, "Succeeded", exit_code=0, deleted=3), "j-u-2")
    assert released(passes.go(first, done, now=at(4))) == []
    lost = held(a_pod("worker", 0, "Failed", exit_code=137, deleted=5), "j-u-2")
    assert released(passes.go(lost, done, now=at(10))) == ["j-worker-0"]
    assert created_names(passes.go(done, now=at(60)), "Pod") == ["j-worker-0"]
    again = held(a_pod("worker", 0, "Succeeded", exit_code=0, uid="new"), "j-u-2")
    assert released(passes.go(done, again, now=at(90))) == ["j-worker-1"]
    assert "Succeeded" in passes.conditions


def test_replicas_that_have_completed_run_again_in_a_group_of_another_size() -> None:
    passes = Passes(of_all_workers("W3"), GROUPED)
    found = [held(a_pod("worker", 0)), held(a_pod("worker", 1))]
    found.append(held(a_pod("worker", 2, "Succeeded", exit_code=0)))
    passes.go(*found)
    passes.edit(of_all_workers("W4"))
    assert len(deleted_names(passes.go(*found, now=at(5)), "Pod")) == 3
    old = [held(a_pod("worker", each, "Failed", exit_code=143, deleted=6)) for each in (0, 1)]
    old.append(held(a_pod("worker", 2, "Succeeded", exit_code=0, deleted=6)))
    assert len(released(passes.go(*old, now=at(8)))) == 3
    assert len(created_names(passes.go(now=at(50)), "Pod")) == 4


def test_a_pod_that_has_succeeded_does_not_stay_once_its_replica_was_scaled_down() -> None:
    """The group has the same size as before, because another type was scaled up."""
    passes = Passes(of_all_workers("P1 W3"), GROUPED)
    servers = [held(a_pod("ps", each), "j-u-4") for each in (0, 1)]
    found = [*servers, *(held(a_pod("worker", each), "j-u-4") for each in (0, 1))]
    passes.go(*found, held(a_pod("worker", 2, "Succeeded", exit_code=0), "j-u-4"))
    passes.edit(of_all_workers("P2 W2"))
    assert passes.job.status.of("Worker").completed == {2}
    done = held(a_pod("worker", 2, "Succeeded", exit_code=0, deleted=3), "j-u-4")
    assert released(passes.go(*servers, *leaving(0, group="j-u-4"), done, now=at(4))) == [
        "j-worker-2"
    ]
