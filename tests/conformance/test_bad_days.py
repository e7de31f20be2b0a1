"""What goes wrong around one job costs the others nothing, and the job says why."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.controlplane.endpoint import ApiError
from tests.support.controlplane.puppet import runs
from tests.support.permissive_crd import permissive
from tests.support.scene import Scene, condition_of, conditions_of, counts_of, restarts_of
from tests.support.tfjobs import container, of_types, replica, tfjob
from tests.support.world_fixtures import only_kubernetes
from tests.support.worlds import World
from tfjob.dialects.kubeflow.v1 import KubeflowV1

Json = dict[str, Any]

BROKEN: dict[str, Any] = {
    "no-specs": {"runPolicy": {}},
    "null-specs": {"tfReplicaSpecs": None},
    "empty-specs": {"tfReplicaSpecs": {}},
    "no-containers": {"tfReplicaSpecs": {"Worker": {"template": {"spec": {"containers": []}}}}},
    "null-replica": {"tfReplicaSpecs": {"Worker": None}},
    "other-container": {"tfReplicaSpecs": {"Worker": replica(containers=[container("other")])}},
    "unknown-type": {"tfReplicaSpecs": {"Launcher": replica()}},
}
"""Specs that break a rule and can be stored again with a status."""
MISSHAPEN: dict[str, Any] = {
    "list-specs": {"tfReplicaSpecs": [1, 2]},
    "text-replicas": {"tfReplicaSpecs": {"Worker": {**replica(), "replicas": "three"}}},
    "text-template": {"tfReplicaSpecs": {"Worker": {"template": "none"}}},
    "null-container": {
        "tfReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [None]}}}}
    },
    "spec-is-text": "none",
}
"""Specs of another shape: the API server takes no status for them any more."""


@contextmanager
def rules_off(world: World) -> Iterator[None]:
    """The world as it was before its rules existed."""
    crd = KubeflowV1().crd()
    world.replace_crd(permissive(crd))
    try:
        yield
    finally:
        world.replace_crd(crd)


async def until_a_broken_job_is(scene: Scene, *, is_taken: bool) -> None:
    """Wait until the API server has changed its mind about what is a job."""
    probe = {**tfjob(name="probe"), "spec": "none"}

    async def is_so() -> bool:
        try:
            await scene.call("POST", f"{scene.jobs_path()}?dryRun=All", probe)
        except ApiError:
            return not is_taken
        return is_taken

    await scene.eventually(f"a broken job is {'taken' if is_taken else 'refused'}", is_so)


@pytest.mark.scenario(19)
@only_kubernetes
async def test_objects_that_slipped_past_the_rules_fail_and_harm_nobody(scene: Scene) -> None:
    scene.world.operator.kill()
    with rules_off(scene.world):
        await until_a_broken_job_is(scene, is_taken=True)
        for name, spec in (BROKEN | MISSHAPEN).items():
            await scene.create({**tfjob(name=name), "spec": spec})
    await until_a_broken_job_is(scene, is_taken=False)
    scene.puppet.play("*", runs)
    await scene.submit("W1")
    scene.world.operator.start()
    await scene.reaches("Created", "Running")
    for name in BROKEN:
        job = await scene.reaches("Failed", name=name)
        failed = condition_of(job, "Failed")
        assert failed["reason"] == "InvalidTFJobSpec"
        prefix = "Failed to marshal the object to TFJob; the spec is invalid: "
        assert failed["message"].startswith(prefix)
        assert len(failed["message"]) > len(prefix)
        assert "completionTime" in job["status"]
    for name in BROKEN | MISSHAPEN:
        await scene.event("InvalidTFJobSpec", "the spec is invalid", kind="Warning", name=name)
    await scene.children("j-worker-0")
    scene.world.operator.restart()
    await scene.settled()
    assert scene.world.operator.is_alive


def misspelt() -> Json:
    return replica(2, containers=[container(imagePullPolcy="Always")])


def on_the_host() -> Json:
    return replica(2, volumes=[{"name": "v", "hostPath": {"path": "/etc"}}])


def hungry() -> Json:
    return replica(2, containers=[container(resources={"requests": {"cpu": "1"}})])


async def forbid_hosts(scene: Scene) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    path = f"/api/v1/namespaces/{scene.namespace}"
    await scene.call("PATCH", path, {"metadata": {"labels": labels}})


async def allow_one_pod(scene: Scene) -> None:
    quota = {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "1"}}}
    path = f"/api/v1/namespaces/{scene.namespace}/resourcequotas"
    await scene.call("POST", path, quota)

    async def is_counted() -> bool:
        return "hard" in (await scene.call("GET", f"{path}/one")).get("status", {})

    await scene.eventually("the quota is counted", is_counted)


async def nothing(scene: Scene) -> None:
    return


@pytest.mark.scenario("R26")
@only_kubernetes
@pytest.mark.parametrize(
    ("prepare", "template", "words", "made"),
    [
        (nothing, misspelt, 'unknown field "spec.containers[0].imagePullPolcy"', 0),
        (forbid_hosts, on_the_host, 'violates PodSecurity "baseline:latest": hostPath volumes', 0),
        (allow_one_pod, hungry, "exceeded quota: one", 1),
    ],
    ids=["misspelt field", "forbidden host path", "quota"],
)
async def test_job_whose_pods_are_refused_says_why_in_the_servers_words(
    scene: Scene,
    prepare: Callable[[Scene], Any],
    template: Callable[[], Json],
    words: str,
    made: int,
) -> None:
    await prepare(scene)
    await scene.create(of_types(Worker=template()))
    event = await scene.event("FailedCreatePod", words, kind="Warning")
    assert event["message"].startswith("Error creating: ")
    job = await scene.reaches("Created")
    assert "startTime" in job["status"]
    assert len(await scene.pods()) == made
    assert set(await scene.services()) == {"j-worker-0", "j-worker-1"}
    operator = scene.world.operator
    before = operator.metrics()["failed_pods_total"]
    await scene.settled()
    assert operator.metrics()["failed_pods_total"] - before < 50


@pytest.mark.scenario("R16")
@only_kubernetes
async def test_job_goes_on_when_its_quota_is_raised(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await allow_one_pod(scene)
    await scene.submit("W3")
    await scene.event("FailedCreatePod", "exceeded quota: one")
    path = f"/api/v1/namespaces/{scene.namespace}/resourcequotas/one"
    await scene.call("PATCH", path, {"spec": {"hard": {"pods": "10"}}})
    await scene.until("all run", lambda job: counts_of(job) == {"active": 3})


@only_kubernetes
async def test_namespace_that_is_being_deleted_is_left_alone(scene: Scene) -> None:
    """Something holds the namespace: its jobs cannot have pods any more, and nobody insists."""
    world = scene.world
    namespace = await asyncio.to_thread(world.server.create_namespace)
    path = f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs"
    held = tfjob("W2", restart="OnFailure")
    held["metadata"]["finalizers"] = ["example.invalid/hold"]
    holder = {"metadata": {"name": "holder", "finalizers": ["example.invalid/hold"]}}
    await scene.call("POST", path, held)
    await scene.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", holder)

    async def pods() -> list[Json]:
        found = await scene.call("GET", f"/api/v1/namespaces/{namespace}/pods")
        items: list[Json] = found["items"]
        return items

    async def has_pods() -> bool:
        return len(await pods()) == 2

    async def has_none() -> bool:
        return len(await pods()) == 0

    await scene.eventually("two pods", has_pods)
    await asyncio.to_thread(world.server.delete_namespace, namespace)
    await scene.eventually("no pods", has_none)
    scene.puppet.play("*", runs)
    await scene.submit("W1")
    await scene.reaches("Created", "Running")
    refused = _refusals(world)
    await scene.settled()
    assert _refusals(world) - refused < 20
    free = {"metadata": {"finalizers": None}}
    await scene.call("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/holder", free)
    await scene.call("PATCH", f"{path}/j", free)


@pytest.mark.scenario("R28")
async def test_job_gets_through_while_another_writer_changes_it_all_the_time(scene: Scene) -> None:
    async def write_for_ever() -> None:
        count = 0
        while True:
            count += 1
            note = {"metadata": {"annotations": {"count": str(count)}}}
            await scene.call("PATCH", f"{scene.jobs_path()}/j", note)
            await asyncio.sleep(0.02)

    await scene.submit("W2", restart="ExitCode")
    writer = asyncio.create_task(write_for_ever())
    try:
        await scene.children("j-worker-0", "j-worker-1")
        for index in range(2):
            await scene.puppet.run(f"j-worker-{index}")
        await scene.until("both run", lambda job: counts_of(job) == {"active": 2})
        await scene.puppet.finish("j-worker-1", exit_code=137)
        await scene.until("restarted", lambda job: restarts_of(job) == 1)
        await scene.puppet.appears("j-worker-1")
        for index in (1, 0):
            pod = await scene.puppet.run(f"j-worker-{index}")
            await scene.puppet.finish(pod, exit_code=0)
        job = await scene.comes_to("Succeeded")
    finally:
        writer.cancel()
    assert job["status"]["replicaStatuses"]["Worker"]["restarts"] == 1
    assert int(job["metadata"]["annotations"]["count"]) > 5
    assert conditions_of(job) == ["Created", "Running=F", "Succeeded"]
    assert scene.world.operator.jobs_counted("restarted", scene.namespace) == 1


def _refusals(world: World) -> float:
    found = world.operator.metrics()
    return sum(
        value
        for name, value in found.items()
        if name.startswith("rest_client_requests_total") and 'code="403"' in name
    )
