"""The Job controller."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.local.apiserver.controlled import ControlledWorld
from tfjob.local.apiserver.job_controller import RESOURCE
from tfjob.local.apiserver.job_status import TRACKING
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
CONTAINERS = [{"name": "a", "image": "b"}]
NO_LIMIT = 2147483647


class World(ControlledWorld):
    """One Job, j."""

    def make(self, *, policy: str = "Never", **spec: Any) -> None:
        template = {"spec": {"restartPolicy": policy, "containers": CONTAINERS}}
        self.create(RESOURCE, {"metadata": {"name": "j"}, "spec": {"template": template, **spec}})

    def alter(self, **spec: Any) -> None:
        self.change(RESOURCE, "j", **spec)

    def job(self) -> Json:
        return self.get(RESOURCE, "j")

    def status(self, field: str) -> Any:
        return self.job()["status"].get(field)

    def conditions(self) -> dict[str, str]:
        found = self.status("conditions") or ()
        return {condition["type"]: condition["status"] for condition in found}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "objects.sqlite")


def test_a_job_runs_up_to_its_parallelism_and_completes(world: World) -> None:
    world.make(completions=3, parallelism=2)
    assert len(world.pods("Pending")) == 2
    for _ in range(3):
        world.finish("Succeeded")
    assert world.pods("Pending") == []
    assert world.conditions() == {"SuccessCriteriaMet": "True", "Complete": "True"}
    assert world.status("succeeded") == 3


def test_a_failed_pod_is_replaced_until_the_limit(world: World) -> None:
    world.make(backoffLimit=1)
    world.finish("Failed")
    world.wait(10)
    assert len(world.pods("Pending")) == 1
    world.finish("Failed")
    world.wait(3600)
    assert world.pods("Pending") == []
    assert world.conditions() == {"FailureTarget": "True", "Failed": "True"}
    assert world.status("failed") == 2


def test_the_delay_grows_with_each_failure_in_a_row(world: World) -> None:
    world.make(backoffLimit=NO_LIMIT)
    for pause in (10, 20, 40, 80, 160, 320, 360, 360):
        world.finish("Failed")
        world.wait(pause - 1)
        assert world.pods("Pending") == []
        assert world.status("active") is None
        world.wait(1)
        assert len(world.pods("Pending")) == 1
    assert (world.status("failed"), world.conditions()) == (8, {})


def test_a_success_resets_the_delay(world: World) -> None:
    world.make(completions=2)
    for _ in range(2):
        world.finish("Failed")
        world.wait(20)
    world.finish("Succeeded")
    assert len(world.pods("Pending")) == 1


def test_a_job_waits_for_its_other_pods_before_it_has_failed(world: World) -> None:
    world.make(backoffLimit=0, parallelism=2, completions=2)
    runner, other = world.pods("Pending")
    runner["spec"]["nodeName"] = "n"
    world.put_pod(runner, phase="Running")
    world.put_pod(other, phase="Failed")
    assert world.conditions() == {"FailureTarget": "True"}
    assert (world.status("active"), world.status("terminating")) == (None, 1)
    world.backend.store.remove(Key("pods", "default", runner["metadata"]["name"]), runner)
    world.settle()
    assert world.conditions() == {"FailureTarget": "True", "Failed": "True"}


def test_a_container_restarted_in_place_keeps_its_pod_active(world: World) -> None:
    world.make(policy="OnFailure", backoffLimit=NO_LIMIT)
    pod = world.pods("Pending")[0]
    world.put_pod(pod, phase="Running", containerStatuses=[{"restartCount": 70}])
    assert len(world.all("pods")) == 1
    assert (world.status("active"), world.conditions()) == (1, {})


def test_restarts_in_place_count_against_the_limit(world: World) -> None:
    world.make(policy="OnFailure", backoffLimit=2)
    pod = world.pods("Pending")[0]
    world.put_pod(pod, phase="Running", containerStatuses=[{"restartCount": 2}])
    assert world.conditions()["FailureTarget"] == "True"


def test_a_deleted_pod_is_counted_as_failed_and_replaced(world: World) -> None:
    world.make()
    for number in (1, 2):
        world.delete("pods", world.pods("Pending")[0]["metadata"]["name"])
        assert world.status("failed") == number
        assert len(world.all("pods")) == 1


def test_a_pod_deleted_after_its_end_was_counted_stays_counted_once(world: World) -> None:
    world.make()
    world.finish("Failed")
    world.delete("pods", world.pods("Failed")[0]["metadata"]["name"])
    assert (world.status("failed"), len(world.pods("Pending"))) == (1, 1)


def test_a_count_that_a_crash_interrupted_is_completed(world: World) -> None:
    world.make()
    pod = world.pods("Pending")[0]
    pod["status"]["phase"] = "Failed"
    pod["metadata"].pop("finalizers")
    job = world.job()
    job["status"]["uncountedTerminatedPods"] = {"failed": [pod["metadata"]["uid"]]}
    world.backend.store.put(Key("pods", "default", pod["metadata"]["name"]), pod)
    world.backend.store.put(Key(RESOURCE, "default", "j"), job)
    world.settle()
    assert (world.status("failed"), world.status("uncountedTerminatedPods")) == (1, {})
    world.look_again()
    assert world.status("failed") == 1


def test_a_suspended_job_owns_no_active_pod_and_resumes(world: World) -> None:
    world.make(suspend=True)
    assert (world.pods("Pending"), world.conditions()) == ([], {"Suspended": "True"})
    world.alter(suspend=False)
    assert len(world.pods("Pending")) == 1
    world.alter(suspend=True)
    assert world.pods("Pending") == []


def test_pods_belong_to_their_job_and_carry_its_labels(world: World) -> None:
    world.make()
    meta, uid = world.pods("Pending")[0]["metadata"], world.job()["metadata"]["uid"]
    assert meta["generateName"] == "j-"
    assert len(meta["name"]) == len("j-") + 5
    assert meta["labels"] == {
        "job-name": "j",
        "controller-uid": uid,
        "batch.kubernetes.io/job-name": "j",
        "batch.kubernetes.io/controller-uid": uid,
    }
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid}
    assert meta["ownerReferences"] == [{**owner, "controller": True, "blockOwnerDeletion": True}]
    assert meta["finalizers"] == [TRACKING]


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_a_deleted_job_deletes_its_pods(world: World, policy: str) -> None:
    world.make(parallelism=2, completions=2)
    world.finish("Failed")
    world.delete(RESOURCE, "j", policy=policy)
    assert (world.all("pods"), world.all(RESOURCE)) == ([], [])


def test_pods_of_jobs_do_not_block_the_deletion_of_their_namespace(world: World) -> None:
    world.make()
    for row in world.backend.store.page("pods"):
        pod = row.object()
        pod["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
        world.backend.store.put(Key("pods", "default", row.name), pod)
    world.backend.store.remove(Key(RESOURCE, "default", "j"), world.job())
    world.settle()
    assert world.all("pods") == []


def test_pods_of_a_job_deleted_before_a_crash_are_released(world: World) -> None:
    world.make()
    pod = world.all("pods")[0]
    pod["metadata"]["ownerReferences"][0]["uid"] = "gone"
    pod["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    world.backend.store.put(Key("pods", "default", pod["metadata"]["name"]), pod)
    world.look_again()
    names = [one["metadata"]["name"] for one in world.all("pods")]
    assert pod["metadata"]["name"] not in names


def test_creates_and_deletes_are_recorded_as_events(world: World) -> None:
    world.make()
    name = world.pods("Pending")[0]["metadata"]["name"]
    world.finish("Succeeded")
    told = {(event["reason"], event["message"]) for event in world.all("events")}
    assert told == {
        ("SuccessfulCreate", f"Created pod: {name}"),
        ("Completed", "Job completed"),
    }


def test_repeating_the_decision_changes_nothing(world: World) -> None:
    world.make(parallelism=3, completions=3)
    world.finish("Failed")
    revision = world.backend.store.revision
    world.look_again()
    assert world.backend.store.revision == revision
