"""Tenants of one operator do each other no harm, through a whole controller."""

import asyncio
from typing import Any

import msgspec

from tests.support.local_apiserver.in_memory import CORE
from tests.support.simulation.cluster import SimulatedCluster, simulated
from tests.support.tfjobs import container, tfjob
from tfjob.client.request import Request
from tfjob.dialects.kubeflow.v1 import KubeflowV1
from tfjob.local.apiserver.request import Answer
from tfjob.manager.app import Operator

Json = dict[str, Any]
JOBS = "/apis/kubeflow.org/v1/namespaces/default/tfjobs"
EVIL = "/api/v1/namespaces/evil"


def a_world() -> SimulatedCluster:
    return SimulatedCluster(dialects=(KubeflowV1(),))


async def started(cluster: SimulatedCluster) -> tuple[Operator, asyncio.Task[None]]:
    await cluster.start(KubeflowV1())
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "evil"}}
    await cluster.ask("POST", "/api/v1/namespaces", body)
    operator = cluster.operator()
    return operator, asyncio.create_task(operator.run())


async def stopped(operator: Operator, running: asyncio.Task[None]) -> None:
    operator.stop()
    await running


async def forged_pod(cluster: SimulatedCluster, job: Json, phase: str) -> None:
    """A pod of another tenant that says it is worker 0 of the job, and cannot be removed."""
    reference = {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
    }
    labels = {
        "training.kubeflow.org/operator-name": "tfjob-controller",
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "0",
    }
    pod = await cluster.ask(
        "POST",
        f"{EVIL}/pods",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "j-worker-0",
                "labels": labels,
                "ownerReferences": [reference],
                "finalizers": ["example.com/stays"],
            },
            "spec": {"containers": [container()], "restartPolicy": "Never"},
        },
    )
    ended = {"name": "tensorflow", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    state = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    statuses = [{**ended, "state": state}] if phase == "Succeeded" else []
    pod["status"] = {"phase": phase, "containerStatuses": statuses}
    await cluster.server.ask("PUT", f"{EVIL}/pods/j-worker-0/status", pod)


def test_pods_in_another_namespace_decide_nothing_and_stay_untouched() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        clean = {"cleanPodPolicy": "All"}
        job = await cluster.ask("POST", JOBS, tfjob("W1", restart="ExitCode", run_policy=clean))
        await forged_pod(cluster, job, "Succeeded")
        await asyncio.sleep(60)
        await cluster.ask("DELETE", f"{CORE}/pods/j-worker-0")
        await asyncio.sleep(60)
        assert await cluster.names(f"{CORE}/pods") == ["j-worker-0"]
        job = await cluster.ask("GET", f"{JOBS}/j")
        shown = {each["type"]: each["status"] for each in job["status"]["conditions"]}
        assert shown["Running"] == "True"
        assert "Succeeded" not in shown
        job["spec"]["runPolicy"]["suspend"] = True
        await cluster.ask("PUT", f"{JOBS}/j", job)
        await asyncio.sleep(60)
        assert await cluster.names(f"{CORE}/pods") == []
        deletes = {name for name in cluster.connections[0].requests if name.startswith("delete ")}
        assert deletes == {"delete default/pods/j-worker-0", "delete default/services/j-worker-0"}
        await stopped(operator, running)

    simulated(act, a_world)


def test_a_pending_pod_in_another_namespace_keeps_no_pod_from_being_made() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        await cluster.start(KubeflowV1())
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "evil"}}
        await cluster.ask("POST", "/api/v1/namespaces", body)
        job = await cluster.ask("POST", JOBS, tfjob("W1"))
        await forged_pod(cluster, job, "Pending")
        operator = cluster.operator()
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(30)
        assert await cluster.names(f"{CORE}/pods") == ["j-worker-0"]
        await stopped(operator, running)

    simulated(act, a_world)


class PodQuota:
    """So many pods in one namespace, as a quota of the cluster would have it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.refused: list[float] = []
        self._admitted: set[str] = set()

    def __call__(self, request: Request) -> Answer | None:
        if request.verb != "create" or request.path != f"{CORE}/pods":
            return None
        name = msgspec.json.decode(request.body or b"{}")["metadata"]["name"]
        if name in self._admitted or len(self._admitted) < self.limit:
            self._admitted.add(name)
            return None
        self.refused.append(asyncio.get_running_loop().time())
        message = f'pods "{name}" is forbidden: exceeded quota: q, limited: pods={self.limit}'
        status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
        return Answer(code=403, body=msgspec.json.encode(status))


def test_a_wide_job_under_a_small_quota_sends_few_creates_in_vain() -> None:
    async def act(cluster: SimulatedCluster) -> None:
        operator, running = await started(cluster)
        cluster.connections[0].refuse = quota = PodQuota(10)
        await asyncio.sleep(5)
        began = asyncio.get_running_loop().time()
        await cluster.ask("POST", JOBS, tfjob("W300"))
        await asyncio.sleep(100)
        assert len(await cluster.names(f"{CORE}/pods")) == 10
        assert len(await cluster.names(f"{CORE}/services")) == 300
        assert len([each for each in quota.refused if each < began + 10]) <= 30
        assert len(quota.refused) <= 40
        events = (await cluster.ask("GET", f"{CORE}/events"))["items"]
        assert len([each for each in events if each["reason"] == "FailedCreatePod"]) == 1
        quota.limit = 30
        await asyncio.sleep(61)
        assert len(await cluster.names(f"{CORE}/pods")) == 30
        await stopped(operator, running)

    simulated(act, a_world)
