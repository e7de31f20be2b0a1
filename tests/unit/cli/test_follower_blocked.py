from typing import Any

from tests.support.local_apiserver.serving import running
from tests.support.tfjobs import tfjob
from tests.unit.cli.followed_job import Play
from tfjob.cli.follower import Outcome
from tfjob.client.http import PartialObjectMetadata
from tfjob.client.resource import Resource
from tfjob.local.node.overcommit import ANNOTATION, Overcommit
from tfjob.sdk.blocked_check import allocatable_of
from tfjob.sdk.connection import Cluster

Json = dict[str, Any]
NODES = Resource("", "v1", "nodes", namespaced=False)


def unschedulable() -> Json:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    return {"phase": "Pending", "conditions": [condition]}


def missing_claim() -> Json:
    waiting = {"reason": "CreateContainerConfigError", "message": 'claim "c" not found'}
    container = {"name": "tensorflow", "state": {"waiting": waiting}}
    return {"phase": "Pending", "containerStatuses": [container]}


async def add_node(cluster: Cluster, cpu: str, **annotations: str) -> None:
    body = {
        "metadata": {"name": "local", "annotations": annotations},
        "status": {"allocatable": {"cpu": cpu, "pods": "9"}},
    }
    await cluster.api.create(NODES.collection(), body, decode=PartialObjectMetadata)
    await cluster.api.patch(
        NODES.item("local", subresource="status"), body, decode=PartialObjectMetadata
    )


def job_requesting(cpu: int) -> Json:
    job = tfjob("W1")
    [worker] = job["spec"]["tfReplicaSpecs"].values()
    worker["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return job


async def test_a_job_whose_pods_are_permanently_rejected_is_ended(play: Play) -> None:
    following = play.begin()
    await play.warn_about_job("FailedCreatePod", 'Error creating: Pod "j" is invalid: bad')
    assert await following is Outcome.BLOCKED
    [(text, is_good)] = play.screen.verdicts
    assert text.startswith('j: cannot run here: Error creating: Pod "j" is invalid: bad')
    assert not is_good


async def test_a_job_without_its_volume_claim_is_ended_when_no_pod_runs(play: Play) -> None:
    following = play.begin()
    await play.pod(0, running())
    await play.pod(1, missing_claim())
    await play.screen.until('worker-1 Pending CreateContainerConfigError: claim "c" not found')
    assert not following.done()
    await play.report(0, missing_claim())
    assert await following is Outcome.BLOCKED
    assert 'worker-0: claim "c" not found; add the missing object' in play.screen.verdicts[0][0]


async def test_a_job_larger_than_the_machine_is_ended(bare_cluster: Cluster) -> None:
    await add_node(bare_cluster, "4")
    play = await Play.of(bare_cluster, job_requesting(cpu=5))
    following = play.begin()
    await play.pod(0, unschedulable())
    assert await following is Outcome.BLOCKED
    why = "worker-0: requests 5 cpu, but this machine has 4"
    remedy = "lower the request, or run the job with --fit"
    assert f"{why}; {remedy}" in play.screen.verdicts[0][0]


async def test_a_job_that_only_waits_for_resources_is_not_ended(bare_cluster: Cluster) -> None:
    await add_node(bare_cluster, "4")
    play = await Play.of(bare_cluster, job_requesting(cpu=4))
    following = play.begin()
    await play.pod(0, unschedulable())
    await play.screen.until("Insufficient cpu")
    await play.end("Failed", "deadline")
    assert await following is Outcome.FAILED


async def test_a_job_that_shall_fit_is_not_too_large(bare_cluster: Cluster) -> None:
    await add_node(bare_cluster, "4", **{ANNOTATION: Overcommit(requests=True).annotation})
    assert await allocatable_of(bare_cluster) is None
    play = await Play.of(bare_cluster, job_requesting(cpu=5))
    following = play.begin()
    await play.pod(0, unschedulable())
    await play.screen.until("Insufficient cpu")
    await play.end("Failed", "deadline")
    assert await following is Outcome.FAILED


async def test_a_suspended_job_is_ended(play: Play) -> None:
    following = play.begin()
    await play.end("Suspended", "on hold")
    assert await following is Outcome.BLOCKED
    assert "the job is suspended" in play.screen.verdicts[0][0]


async def test_a_blocked_job_is_not_ended_with_wait(bare_cluster: Cluster) -> None:
    play = await Play.of(bare_cluster, tfjob("W1"), waits_if_blocked=True)
    following = play.begin()
    await play.end("Suspended", "on hold")
    await play.screen.until("on hold")
    await play.end("Succeeded", "well done")
    assert await following is Outcome.SUCCEEDED
