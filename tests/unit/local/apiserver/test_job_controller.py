"""The Job controller."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.local.apiserver.controlled import ControlledCluster
from tfjob.local.apiserver.job_controller import RESOURCE
from tfjob.local.apiserver.job_status import TRACKING
from tfjob.local.apiserver.store import Key

Json = dict[str, Any]
CONTAINERS = [{"name": "a", "image": "b"}]
NO_LIMIT = 2147483647


class Cluster(ControlledCluster):
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
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path / "objects.sqlite")


def test_a_job_runs_up_to_its_parallelism_and_completes(cluster: Cluster) -> None:
    cluster.make(completions=3, parallelism=2)
    assert len(cluster.pods("Pending")) == 2
    for _ in range(3):
        cluster.finish("Succeeded")
    assert cluster.pods("Pending") == []
    assert cluster.conditions() == {"SuccessCriteriaMet": "True", "Complete": "True"}
    assert cluster.status("succeeded") == 3


def test_a_failed_pod_is_replaced_until_the_limit(cluster: Cluster) -> None:
    cluster.make(backoffLimit=1)
    cluster.finish("Failed")
    cluster.wait(10)
    assert len(cluster.pods("Pending")) == 1
    cluster.finish("Failed")
    cluster.wait(3600)
    assert cluster.pods("Pending") == []
    assert cluster.conditions() == {"FailureTarget": "True", "Failed": "True"}
    assert cluster.status("failed") == 2


def test_the_delay_grows_with_each_failure_in_a_row(cluster: Cluster) -> None:
    cluster.make(backoffLimit=NO_LIMIT)
    for pause in (10, 20, 40, 80, 160, 320, 360, 360):
        cluster.finish("Failed")
        cluster.wait(pause - 1)
        assert cluster.pods("Pending") == []
        assert cluster.status("active") is None
        cluster.wait(1)
        assert len(cluster.pods("Pending")) == 1
    assert (cluster.status("failed"), cluster.conditions()) == (8, {})


def test_a_success_resets_the_delay(cluster: Cluster) -> None:
    cluster.make(completions=2)
    for _ in range(2):
        cluster.finish("Failed")
        cluster.wait(20)
    cluster.finish("Succeeded")
    assert len(cluster.pods("Pending")) == 1


def test_a_job_waits_for_its_other_pods_before_it_has_failed(cluster: Cluster) -> None:
    cluster.make(backoffLimit=0, parallelism=2, completions=2)
    runner, other = cluster.pods("Pending")
    runner["spec"]["nodeName"] = "n"
    cluster.put_pod(runner, phase="Running")
    cluster.put_pod(other, phase="Failed")
    assert cluster.conditions() == {"FailureTarget": "True"}
    assert (cluster.status("active"), cluster.status("terminating")) == (None, 1)
    cluster.backend.store.remove(Key("pods", "default", runner["metadata"]["name"]), runner)
    cluster.settle()
    assert cluster.conditions() == {"FailureTarget": "True", "Failed": "True"}


def test_a_container_restarted_in_place_keeps_its_pod_active(cluster: Cluster) -> None:
    cluster.make(policy="OnFailure", backoffLimit=NO_LIMIT)
    pod = cluster.pods("Pending")[0]
    cluster.put_pod(pod, phase="Running", containerStatuses=[{"restartCount": 70}])
    assert len(cluster.all("pods")) == 1
    assert (cluster.status("active"), cluster.conditions()) == (1, {})


def test_restarts_in_place_count_against_the_limit(cluster: Cluster) -> None:
    cluster.make(policy="OnFailure", backoffLimit=2)
    pod = cluster.pods("Pending")[0]
    cluster.put_pod(pod, phase="Running", containerStatuses=[{"restartCount": 2}])
    assert cluster.conditions()["FailureTarget"] == "True"


def test_a_deleted_pod_is_counted_as_failed_and_replaced(cluster: Cluster) -> None:
    cluster.make()
    for number in (1, 2):
        cluster.delete("pods", cluster.pods("Pending")[0]["metadata"]["name"])
        assert cluster.status("failed") == number
        assert len(cluster.all("pods")) == 1


def test_a_pod_deleted_after_its_end_was_counted_stays_counted_once(cluster: Cluster) -> None:
    cluster.make()
    cluster.finish("Failed")
    cluster.delete("pods", cluster.pods("Failed")[0]["metadata"]["name"])
    assert (cluster.status("failed"), len(cluster.pods("Pending"))) == (1, 1)


def test_a_count_that_a_crash_interrupted_is_completed(cluster: Cluster) -> None:
    cluster.make()
    pod = cluster.pods("Pending")[0]
    pod["status"]["phase"] = "Failed"
    pod["metadata"].pop("finalizers")
    job = cluster.job()
    job["status"]["uncountedTerminatedPods"] = {"failed": [pod["metadata"]["uid"]]}
    cluster.backend.store.put(Key("pods", "default", pod["metadata"]["name"]), pod)
    cluster.backend.store.put(Key(RESOURCE, "default", "j"), job)
    cluster.settle()
    assert (cluster.status("failed"), cluster.status("uncountedTerminatedPods")) == (1, {})
    cluster.look_again()
    assert cluster.status("failed") == 1


def test_a_suspended_job_owns_no_active_pod_and_resumes(cluster: Cluster) -> None:
    cluster.make(suspend=True)
    assert (cluster.pods("Pending"), cluster.conditions()) == ([], {"Suspended": "True"})
    cluster.alter(suspend=False)
    assert len(cluster.pods("Pending")) == 1
    cluster.alter(suspend=True)
    assert cluster.pods("Pending") == []


def test_pods_belong_to_their_job_and_carry_its_labels(cluster: Cluster) -> None:
    cluster.make()
    meta, uid = cluster.pods("Pending")[0]["metadata"], cluster.job()["metadata"]["uid"]
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
def test_a_deleted_job_deletes_its_pods(cluster: Cluster, policy: str) -> None:
    cluster.make(parallelism=2, completions=2)
    cluster.finish("Failed")
    cluster.delete(RESOURCE, "j", policy=policy)
    assert (cluster.all("pods"), cluster.all(RESOURCE)) == ([], [])


def test_pods_of_jobs_do_not_block_the_deletion_of_their_namespace(cluster: Cluster) -> None:
    cluster.make()
    for row in cluster.backend.store.page("pods"):
        pod = row.object()
        pod["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
        cluster.backend.store.put(Key("pods", "default", row.name), pod)
    cluster.backend.store.remove(Key(RESOURCE, "default", "j"), cluster.job())
    cluster.settle()
    assert cluster.all("pods") == []


def test_pods_of_a_job_deleted_before_a_crash_are_released(cluster: Cluster) -> None:
    cluster.make()
    pod = cluster.all("pods")[0]
    pod["metadata"]["ownerReferences"][0]["uid"] = "gone"
    pod["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"
    cluster.backend.store.put(Key("pods", "default", pod["metadata"]["name"]), pod)
    cluster.look_again()
    names = [one["metadata"]["name"] for one in cluster.all("pods")]
    assert pod["metadata"]["name"] not in names


def test_creates_and_deletes_are_recorded_as_events(cluster: Cluster) -> None:
    cluster.make()
    name = cluster.pods("Pending")[0]["metadata"]["name"]
    cluster.finish("Succeeded")
    events = {(event["reason"], event["message"]) for event in cluster.all("events")}
    assert events == {
        ("SuccessfulCreate", f"Created pod: {name}"),
        ("Completed", "Job completed"),
    }


def test_repeating_the_decision_changes_nothing(cluster: Cluster) -> None:
    cluster.make(parallelism=3, completions=3)
    cluster.finish("Failed")
    revision = cluster.backend.store.revision
    cluster.look_again()
    assert cluster.backend.store.revision == revision
