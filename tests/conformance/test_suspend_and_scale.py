"""Jobs that are held, handed to another operator, or changed in size while they run."""

from typing import Any

import pytest

from tests.support.controlplane.puppet import exits, runs
from tests.support.scene import Scene, condition_of, conditions_of, counts_of
from tests.support.tfjobs import tfjob

Json = dict[str, Any]
SUSPENDED = "TFJob j is suspended."


@pytest.mark.scenario(114)
async def test_job_created_suspended_has_neither_children_nor_start(scene: Scene) -> None:
    await scene.submit("C1 W1", run_policy={"suspend": True})
    job = await scene.reaches("Created", "Suspended")
    assert condition_of(job, "Created")["message"] == "TFJob j is created."
    assert condition_of(job, "Suspended")["message"] == SUSPENDED
    assert "startTime" not in job["status"]
    await scene.settled()
    await scene.children()


@pytest.mark.scenario(106, 115, 116, 132)
async def test_suspended_job_loses_its_children_and_has_them_again_after(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("C1 W1", run_policy={"cleanPodPolicy": "None"})
    first = await scene.until("both run", lambda job: counts_of(job) == {"active": 1})
    await scene.patch({"runPolicy": {"suspend": True}})
    job = await scene.reaches("Created", "Running=F", "Suspended")
    running = condition_of(job, "Running")
    assert (running["reason"], running["message"]) == ("TFJobSuspended", SUSPENDED)
    assert job["status"]["startTime"] == first["status"]["startTime"]
    await scene.children()
    await scene.until("nothing runs", lambda job: counts_of(job, "Chief") == {})
    await scene.event("TFJobSuspended", SUSPENDED, kind="Normal")

    scene.world.operator.restart()
    await scene.settled()
    await scene.children()

    await scene.patch({"runPolicy": {"suspend": False}})
    job = await scene.reaches("Created", "Suspended=F", "Running")
    resumed = condition_of(job, "Suspended")
    assert (resumed["reason"], resumed["message"]) == ("TFJobResumed", "TFJob j is resumed.")
    assert job["status"]["startTime"] >= first["status"]["startTime"]
    await scene.children("j-chief-0", "j-worker-0")
    await scene.event("TFJobResumed", "TFJob j is resumed.", kind="Normal")


@pytest.mark.scenario(118, 119)
async def test_job_of_another_manager_is_not_touched(scene: Scene) -> None:
    policy = {"managedBy": "kueue.x-k8s.io/multikueue", "suspend": True}
    await scene.submit("C1 W1", run_policy=policy)
    await scene.settled()
    await scene.patch({"runPolicy": {"suspend": False}})
    await scene.settled()
    job = await scene.job()
    assert "conditions" not in job.get("status", {})
    assert "startTime" not in job.get("status", {})
    await scene.children()
    assert await scene.events() == []


@pytest.mark.scenario(119)
async def test_job_that_names_this_operator_is_run(scene: Scene) -> None:
    await scene.submit("W1", run_policy={"managedBy": "kubeflow.org/training-operator"})
    await scene.children("j-worker-0")


@pytest.mark.scenario(120, 121, "R35")
async def test_dynamic_workers_come_and_go_with_the_replica_count(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W3", enableDynamicWorker=True)
    await scene.until("three run", lambda job: counts_of(job) == {"active": 3})
    await scene.patch({"tfReplicaSpecs": {"Worker": {"replicas": 2}}})
    await scene.children("j-worker-0", "j-worker-1")
    job = await scene.until("two run", lambda job: counts_of(job) == {"active": 2})
    assert conditions_of(job) == ["Created", "Running"]
    await scene.patch({"tfReplicaSpecs": {"Worker": {"replicas": 4}}})
    await scene.children(*(f"j-worker-{index}" for index in range(4)))


@pytest.mark.scenario(122)
async def test_gap_above_the_replica_count_is_not_filled(scene: Scene) -> None:
    names = [f"j-worker-{index}" for index in range(5)]
    await scene.submit("W5", restart="OnFailure")
    await scene.children(*names)
    await scene.event("SuccessfulCreatePod", "Created pod: j-worker-3")
    scene.world.operator.kill()
    base = f"/api/v1/namespaces/{scene.namespace}"
    await scene.call("DELETE", f"{base}/pods/j-worker-3?gracePeriodSeconds=0")
    await scene.call("DELETE", f"{base}/services/j-worker-3")
    await scene.patch({"tfReplicaSpecs": {"Worker": {"replicas": 3}}})
    scene.world.operator.start()
    await scene.children(*names[:3])
    await scene.settled()
    await scene.children(*names[:3])
    told = [each["message"] for each in await scene.events()]
    assert told.count("Created pod: j-worker-3") == 1


@pytest.mark.scenario(123)
async def test_kubectl_scales_the_workers(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W3", restart="OnFailure")
    job = await scene.until("three run", lambda job: counts_of(job) == {"active": 3})
    assert job["status"]["replicaStatuses"]["Worker"]["selector"] == (
        "training.kubeflow.org/job-name=j,"
        "training.kubeflow.org/operator-name=tfjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    )
    said = scene.world.kubectl("scale", "tfjob", "j", "--replicas=4", "-n", scene.namespace)
    assert said.strip() == "tfjob.kubeflow.org/j scaled"
    await scene.children(*(f"j-worker-{index}" for index in range(4)))
    await scene.until("four run", lambda job: counts_of(job) == {"active": 4})
    scale = await scene.call("GET", f"{scene.jobs_path()}/j/scale")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (4, 4)


async def test_type_that_leaves_the_spec_takes_its_children_with_it(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("P1 W1")
    await scene.children("j-ps-0", "j-worker-0")
    await scene.patch({"tfReplicaSpecs": {"PS": None}})
    await scene.children("j-worker-0")


async def test_finished_job_ignores_suspension_and_scale(scene: Scene) -> None:
    scene.puppet.play("*", runs, exits(0))
    await scene.create(tfjob("W1"))
    done = await scene.comes_to("Succeeded")
    changes = {"runPolicy": {"suspend": True}, "tfReplicaSpecs": {"Worker": {"replicas": 3}}}
    await scene.patch(changes)
    await scene.settled()
    assert conditions_of(await scene.job()) == conditions_of(done)
    await scene.children("j-worker-0")
