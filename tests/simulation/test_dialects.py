"""Jobs of the other two APIs, from creation to their end, on one operator."""

import asyncio
from typing import Any

import pytest

from tests.support.fake_dialect import definition
from tests.support.local_apiserver.in_memory import CORE, DEFINITIONS
from tests.support.simulation.cluster import BATCH, SimulatedCluster, simulated
from tfjob.dialects.base import Dialect
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.dialects.tensorflow.v1alpha1 import TensorflowV1alpha1
from tfjob.dialects.tensorstack.v1beta1 import TensorStackV1beta1
from tfjob.manager.app import Operator

Json = dict[str, Any]
DIALECTS: tuple[Dialect, ...] = (KubeflowV1(), TensorflowV1alpha1(), TensorStackV1beta1())
TFJOBS = "/apis/tensorflow.org/v1alpha1/namespaces/default/tfjobs"
TRAININGS = "/apis/batch.tensorstack.dev/v1beta1/namespaces/default/tensorflowtrainingjobs"
GROUPS = "/apis/scheduler.tensorstack.dev/v1beta1/namespaces/default/podgroups"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CHILDREN = (("master", 0), ("worker", 0), ("ps", 0), ("ps", 1))
TEMPLATE = {"spec": {"containers": [{"name": "tensorflow", "image": "x", "command": ["true"]}]}}


def a_tfjob(**spec: Any) -> Json:
    specs = [
        {"replicas": 1, "tfReplicaType": "MASTER", "template": TEMPLATE},
        {"replicas": 1, "tfReplicaType": "WORKER", "template": TEMPLATE},
        {"replicas": 2, "tfReplicaType": "PS"},
    ]
    return {
        "apiVersion": "tensorflow.org/v1alpha1",
        "kind": "TfJob",
        "metadata": {"name": "j"},
        "spec": {"replicaSpecs": specs, **spec},
    }


def a_training(restart: str = "OnFailure", workers: int = 2, **spec: Any) -> Json:
    worker = {
        "type": "worker",
        "replicas": workers,
        "restartPolicy": restart,
        "template": TEMPLATE,
    }
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "TensorFlowTrainingJob",
        "metadata": {"name": "j"},
        "spec": {"replicaSpecs": [worker], **spec},
    }


async def started(cluster: SimulatedCluster, **crds: Json) -> tuple[Operator, asyncio.Task[None]]:
    """With the definitions as they are shipped, but for those that are given by group."""
    await cluster.start()
    for dialect in DIALECTS:
        crd = crds.get(dialect.group.partition(".")[0], dialect.crd())
        await cluster.ask("POST", DEFINITIONS, crd)
    operator = cluster.operator()
    return operator, asyncio.create_task(operator.run())


async def stopped(operator: Operator, running: asyncio.Task[None]) -> None:
    operator.stop()
    await running


def world_of(**exit_codes: list[int]) -> SimulatedCluster:
    """With the codes that end the pods whose names begin so."""
    return SimulatedCluster(
        dialects=DIALECTS, exit_codes={f"{name}-": codes for name, codes in exit_codes.items()}
    )


async def is_at_rest(cluster: SimulatedCluster, operator: Operator) -> bool:
    """However often its jobs are looked at, nothing is written."""
    await asyncio.sleep(200)
    before = cluster.store.revision, cluster.writes()
    for _ in range(10):
        for branch in operator.controllers:
            branch.enqueue_all()
        await asyncio.sleep(1)
    return (cluster.store.revision, cluster.writes()) == before


@pytest.mark.scenario("A-01", "A-22")
def test_tfjob_gets_an_id_and_everything_that_is_called_after_it() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", TFJOBS, a_tfjob(tensorboard={"logDir": "logs"}))
        await asyncio.sleep(60)
        job = await cluster.ask("GET", f"{TFJOBS}/j")
        assert (job["status"]["phase"], job["status"]["state"]) == ("Running", "Running")
        token = job["spec"]["RuntimeId"]
        names = sorted(f"{kind}-{token}-{index}" for kind, index in CHILDREN)
        assert await cluster.names(BATCH) == names
        board = f"tensorboard-{token}"
        assert await cluster.names(f"{CORE}/services") == sorted([*names, board])
        assert await cluster.names(DEPLOYMENTS) == [board]
        assert f"cm-ps-{token}" in await cluster.names(f"{CORE}/configmaps")
        assert await is_at_rest(cluster, operator)
        await stopped(operator, running)

    simulated(act, world_of)


@pytest.mark.scenario("A-13")
def test_tfjob_is_done_with_its_master_and_the_others_continue() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", TFJOBS, a_tfjob())
        await asyncio.sleep(120)
        status = (await cluster.ask("GET", f"{TFJOBS}/j"))["status"]
        assert (status["phase"], status["state"]) == ("Done", "Succeeded")
        assert [each["ReplicasStates"] for each in status["replicaStatuses"]] == [
            {"Succeeded": 1},
            {"Running": 1},
            {"Running": 2},
        ]
        assert len(await cluster.names(BATCH)) == len(CHILDREN)
        assert await is_at_rest(cluster, operator)
        await stopped(operator, running)

    simulated(act, lambda: world_of(master=[0]))


@pytest.mark.scenario("A-07")
def test_tfjob_that_breaks_a_rule_is_failed_by_name_and_has_nothing() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        lax = definition("tensorflow.org", "v1alpha1", "TfJob", plural="tfjobs")
        operator, running = await started(cluster, tensorflow=lax)
        bad = a_tfjob()
        bad["spec"]["replicaSpecs"][0]["replicas"] = 2
        await cluster.ask("POST", TFJOBS, bad)
        await asyncio.sleep(30)
        job = await cluster.ask("GET", f"{TFJOBS}/j")
        assert (job["status"]["phase"], job["status"]["state"]) == ("Failed", "Failed")
        reason = "invalid job spec: The MASTER must have Replicas = 1"
        assert job["status"]["reason"] == reason
        assert "RuntimeId" not in job["spec"]
        assert await cluster.names(BATCH) == []
        assert await is_at_rest(cluster, operator)
        await stopped(operator, running)

    simulated(act, world_of)


@pytest.mark.scenario("B-12")
def test_training_restarts_a_failed_worker_and_succeeds_with_its_master() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", TRAININGS, a_training(workers=1))
        await asyncio.sleep(300)
        job = await cluster.ask("GET", f"{TRAININGS}/j")
        status = job["status"]
        assert (status["phase"], status["backoffCount"]) == ("Succeeded", 1)
        assert len(await cluster.names(f"{CORE}/services")) == 1
        assert await is_at_rest(cluster, operator)
        await stopped(operator, running)

    simulated(act, lambda: world_of(j=[137, 0]))


@pytest.mark.scenario("B-23", "B-24")
def test_training_in_a_queue_waits_for_its_group_and_says_why() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        queue = {"t9kScheduler": {"queue": "default", "priority": 50}}
        await cluster.ask("POST", TRAININGS, a_training(scheduler=queue))
        await asyncio.sleep(60)
        job = await cluster.ask("GET", f"{TRAININGS}/j")
        assert job["status"]["phase"] == "Pending"
        assert await cluster.names(f"{CORE}/pods") == []
        reasons = {each["reason"] for each in job["status"]["conditions"]}
        assert "PodGroupUnavailable" in reasons
        events = (await cluster.ask("GET", f"{CORE}/events"))["items"]
        assert ("Warning", "PodGroupUnavailable") in {(e["type"], e["reason"]) for e in events}
        kind = definition("scheduler.tensorstack.dev", "v1beta1", "PodGroup", plural="podgroups")
        await cluster.ask("POST", DEFINITIONS, kind)
        await asyncio.sleep(400)
        group = await cluster.ask("GET", f"{GROUPS}/j")
        assert group["spec"] == {"minMember": 2, "queue": "default", "priority": 50}
        assert len(await cluster.names(f"{CORE}/pods")) == 2
        job = await cluster.ask("GET", f"{TRAININGS}/j")
        assert job["status"]["phase"] == "Running"
        assert await is_at_rest(cluster, operator)
        await stopped(operator, running)

    simulated(act, world_of)


@pytest.mark.scenario("B-30")
def test_training_is_paused_and_resumed() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        await cluster.ask("POST", TRAININGS, a_training())
        await asyncio.sleep(60)
        phases = []
        for is_paused in (True, False):
            job = await cluster.ask("GET", f"{TRAININGS}/j")
            job["spec"]["runMode"] = {"pause": {"enabled": is_paused}}
            await cluster.ask("PUT", f"{TRAININGS}/j", job)
            await asyncio.sleep(60)
            job = await cluster.ask("GET", f"{TRAININGS}/j")
            phases.append((job["status"]["phase"], len(await cluster.names(f"{CORE}/pods"))))
        assert phases == [("Paused", 0), ("Running", 2)]
        assert await is_at_rest(cluster, operator)
        await stopped(operator, running)

    simulated(act, world_of)


@pytest.mark.scenario("B-33")
def test_tensorboard_can_be_suspended_even_after_the_job_has_ended() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        board = {"image": "b", "trainingLogFilesets": ["t9k://pvc/p/log"]}
        await cluster.ask("POST", TRAININGS, a_training(tensorboardSpec=board))
        await asyncio.sleep(120)
        job = await cluster.ask("GET", f"{TRAININGS}/j")
        assert job["status"]["phase"] == "Succeeded"
        (name,) = await cluster.names(DEPLOYMENTS)
        assert name in await cluster.names(f"{CORE}/services")
        assert (await cluster.ask("GET", f"{DEPLOYMENTS}/{name}"))["spec"]["replicas"] == 1
        job["spec"]["tensorboardSpec"]["suspend"] = True
        await cluster.ask("PUT", f"{TRAININGS}/j", job)
        await asyncio.sleep(30)
        assert (await cluster.ask("GET", f"{DEPLOYMENTS}/{name}"))["spec"]["replicas"] == 0
        assert await is_at_rest(cluster, operator)
        await stopped(operator, running)

    simulated(act, lambda: world_of(j=[0]))
