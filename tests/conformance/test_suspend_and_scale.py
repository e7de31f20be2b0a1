"""Jobs that are suspended, managed by another operator, or scaled while they run."""

import json
from typing import Any

import pytest

from tests.support.dialect_jobs import env_of
from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, condition_of, conditions_of, counts_of
from tests.support.tfjobs import tfjob

Json = dict[str, Any]
SUSPENDED = "TFJob j is suspended."


@pytest.mark.scenario(114)
async def test_job_created_suspended_has_neither_children_nor_start(fixture: JobFixture) -> None:
    await fixture.submit("C1 W1", run_policy={"suspend": True})
    job = await fixture.reaches("Created", "Suspended")
    assert condition_of(job, "Created")["message"] == "TFJob j is created."
    assert condition_of(job, "Suspended")["message"] == SUSPENDED
    assert "startTime" not in job["status"]
    await fixture.settled()
    await fixture.children()


@pytest.mark.scenario(106, 115, 116, 132)
async def test_suspended_job_loses_its_children_and_has_them_again_after(
    fixture: JobFixture,
) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("C1 W1", run_policy={"cleanPodPolicy": "None"})
    first = await fixture.until("both run", lambda job: counts_of(job) == {"active": 1})
    await fixture.patch({"runPolicy": {"suspend": True}})
    job = await fixture.reaches("Created", "Running=F", "Suspended")
    running = condition_of(job, "Running")
    assert (running["reason"], running["message"]) == ("TFJobSuspended", SUSPENDED)
    assert job["status"]["startTime"] == first["status"]["startTime"]
    await fixture.children()
    await fixture.until("nothing runs", lambda job: counts_of(job, "Chief") == {})
    await fixture.event("TFJobSuspended", SUSPENDED, kind="Normal")

    fixture.env.operator.restart()
    await fixture.settled()
    await fixture.children()

    await fixture.patch({"runPolicy": {"suspend": False}})
    job = await fixture.reaches("Created", "Suspended=F", "Running")
    resumed = condition_of(job, "Suspended")
    assert (resumed["reason"], resumed["message"]) == ("TFJobResumed", "TFJob j is resumed.")
    assert job["status"]["startTime"] >= first["status"]["startTime"]
    await fixture.children("j-chief-0", "j-worker-0")
    await fixture.event("TFJobResumed", "TFJob j is resumed.", kind="Normal")


@pytest.mark.scenario(118, 119)
async def test_job_of_another_manager_is_not_touched(fixture: JobFixture) -> None:
    policy = {"managedBy": "kueue.x-k8s.io/multikueue", "suspend": True}
    await fixture.submit("C1 W1", run_policy=policy)
    await fixture.settled()
    await fixture.patch({"runPolicy": {"suspend": False}})
    await fixture.settled()
    job = await fixture.job()
    assert "conditions" not in job.get("status", {})
    assert "startTime" not in job.get("status", {})
    await fixture.children()
    assert await fixture.events() == []


@pytest.mark.scenario(119)
async def test_job_that_names_this_operator_is_run(fixture: JobFixture) -> None:
    await fixture.submit("W1", run_policy={"managedBy": "kubeflow.org/training-operator"})
    await fixture.children("j-worker-0")


@pytest.mark.scenario(120, 121, "R35")
async def test_dynamic_workers_come_and_go_with_the_replica_count(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W3", enableDynamicWorker=True)
    await fixture.until("three run", lambda job: counts_of(job) == {"active": 3})
    await fixture.patch({"tfReplicaSpecs": {"Worker": {"replicas": 2}}})
    await fixture.children("j-worker-0", "j-worker-1")
    job = await fixture.until("two run", lambda job: counts_of(job) == {"active": 2})
    assert conditions_of(job) == ["Created", "Running"]
    await fixture.patch({"tfReplicaSpecs": {"Worker": {"replicas": 4}}})
    await fixture.children(*(f"j-worker-{index}" for index in range(4)))


@pytest.mark.scenario(122)
async def test_gap_above_the_replica_count_is_not_filled(fixture: JobFixture) -> None:
    names = [f"j-worker-{index}" for index in range(5)]
    await fixture.submit("W5", restart="OnFailure")
    await fixture.children(*names)
    await fixture.event("SuccessfulCreatePod", "Created pod: j-worker-3")
    fixture.env.operator.kill()
    base = f"/api/v1/namespaces/{fixture.namespace}"
    await fixture.call("DELETE", f"{base}/pods/j-worker-3?gracePeriodSeconds=0")
    await fixture.call("DELETE", f"{base}/services/j-worker-3")
    await fixture.patch({"tfReplicaSpecs": {"Worker": {"replicas": 3}}})
    fixture.env.operator.start()
    await fixture.children(*names[:3])
    await fixture.settled()
    await fixture.children(*names[:3])
    told = [each["message"] for each in await fixture.events()]
    assert told.count("Created pod: j-worker-3") == 1


@pytest.mark.scenario(123)
async def test_kubectl_scales_the_workers(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W3", restart="OnFailure")
    job = await fixture.until("three run", lambda job: counts_of(job) == {"active": 3})
    assert job["status"]["replicaStatuses"]["Worker"]["selector"] == (
        "training.kubeflow.org/job-name=j,"
        "training.kubeflow.org/operator-name=tfjob-controller,"
        "training.kubeflow.org/replica-type=worker"
    )
    said = fixture.env.kubectl("scale", "tfjob", "j", "--replicas=4", "-n", fixture.namespace)
    assert said.strip() == "tfjob.kubeflow.org/j scaled"
    await fixture.children(*(f"j-worker-{index}" for index in range(4)))
    await fixture.until("four run", lambda job: counts_of(job) == {"active": 4})
    scale = await fixture.call("GET", f"{fixture.jobs_path()}/j/scale")
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (4, 4)


async def test_running_pods_keep_the_tf_config_that_they_were_started_with(
    fixture: JobFixture,
) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W2")
    await fixture.until("two run", lambda job: counts_of(job) == {"active": 2})
    before = await fixture.pods()
    await fixture.patch({"tfReplicaSpecs": {"Worker": {"replicas": 3}}})
    await fixture.until("three run", lambda job: counts_of(job) == {"active": 3})
    after = await fixture.pods()
    assert {name: after[name]["metadata"]["uid"] for name in before} == {
        name: each["metadata"]["uid"] for name, each in before.items()
    }
    workers = {name: json.loads(env_of(each))["cluster"]["worker"] for name, each in after.items()}
    assert [len(workers[f"j-worker-{index}"]) for index in range(3)] == [2, 2, 3]


async def test_type_that_leaves_the_spec_takes_its_children_with_it(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("P1 W1")
    await fixture.children("j-ps-0", "j-worker-0")
    await fixture.patch({"tfReplicaSpecs": {"PS": None}})
    await fixture.children("j-worker-0")


async def test_finished_job_ignores_suspension_and_scale(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.create(tfjob("W1"))
    done = await fixture.comes_to("Succeeded")
    changes = {"runPolicy": {"suspend": True}, "tfReplicaSpecs": {"Worker": {"replicas": 3}}}
    await fixture.patch(changes)
    await fixture.settled()
    assert conditions_of(await fixture.job()) == conditions_of(done)
    await fixture.children("j-worker-0")
