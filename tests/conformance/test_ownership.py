"""Whose children are whose: claims, clashes, restarts of the operator, and the end of a job."""

from typing import Any

import pytest

from tests.support.controlplane.endpoint import ApiError
from tests.support.controlplane.puppet import exits, runs
from tests.support.scene import Scene, conditions_of, counts_of
from tests.support.tfjobs import container

Json = dict[str, Any]
LABELS = "training.kubeflow.org"


def child_labels(role: str = "worker", index: int = 0) -> dict[str, str]:
    return {
        f"{LABELS}/operator-name": "tfjob-controller",
        f"{LABELS}/job-name": "j",
        f"{LABELS}/replica-type": role,
        f"{LABELS}/replica-index": str(index),
    }


async def make(scene: Scene, kind: str, body: Json) -> Json:
    return await scene.call("POST", f"/api/v1/namespaces/{scene.namespace}/{kind}", body)


def a_pod(name: str, labels: dict[str, str] | None = None, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}, **metadata},
        "spec": {"containers": [container()], "restartPolicy": "Never"},
    }


@pytest.mark.scenario(130)
async def test_orphans_with_the_labels_of_a_job_are_adopted(scene: Scene) -> None:
    pod = await make(scene, "pods", a_pod("j-worker-0", child_labels()))
    body = {"clusterIP": "None", "ports": [{"name": "tfjob-port", "port": 2222}]}
    service = {"apiVersion": "v1", "kind": "Service", "spec": body}
    service["metadata"] = {"name": "j-worker-0", "labels": child_labels()}
    made = await make(scene, "services", service)
    job = await scene.submit("W1")

    async def are_adopted() -> bool:
        found = ((await scene.pods())["j-worker-0"], (await scene.services())["j-worker-0"])
        uid = job["metadata"]["uid"]
        owners = [each["metadata"].get("ownerReferences", [{}])[0].get("uid") for each in found]
        return owners == [uid, uid]

    await scene.eventually("both are adopted", are_adopted)
    assert (await scene.pods())["j-worker-0"]["metadata"]["uid"] == pod["metadata"]["uid"]
    assert (await scene.services())["j-worker-0"]["metadata"]["uid"] == made["metadata"]["uid"]
    await scene.puppet.run("j-worker-0")
    await scene.reaches("Created", "Running")


@pytest.mark.scenario(130)
async def test_child_whose_labels_no_longer_match_is_let_go(scene: Scene) -> None:
    await scene.submit("W2", restart="OnFailure")
    await scene.children("j-worker-0", "j-worker-1")
    path = f"/api/v1/namespaces/{scene.namespace}/pods/j-worker-1"
    await scene.call("PATCH", path, {"metadata": {"labels": {f"{LABELS}/job-name": "other"}}})

    async def is_released() -> bool:
        return "ownerReferences" not in (await scene.pods())["j-worker-1"]["metadata"]

    await scene.eventually("it is released", is_released)
    await scene.event("FailedCreatePod", 'pods "j-worker-1" already exists', kind="Warning")
    await scene.delete_pod("j-worker-1")
    await scene.puppet.appears("j-worker-1")
    await scene.children("j-worker-0", "j-worker-1")


@pytest.mark.scenario(130, 131)
async def test_foreign_pod_under_a_needed_name_is_told_and_others_are_made(scene: Scene) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": True}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
    owner["uid"] = (await make(scene, "configmaps", config))["metadata"]["uid"]
    foreign = a_pod("j-worker-1", child_labels(index=1), ownerReferences=[owner])
    uid = (await make(scene, "pods", foreign))["metadata"]["uid"]
    scene.puppet.play("j-worker-0", runs)
    await scene.submit("W3", restart="OnFailure")
    message = 'Error creating: pods "j-worker-1" already exists'
    await scene.event("FailedCreatePod", message, kind="Warning")
    await scene.children("j-worker-0", "j-worker-1", "j-worker-2")
    await scene.reaches("Created", "Running")
    same = (await scene.pods())["j-worker-1"]["metadata"]
    assert (same["uid"], same["ownerReferences"][0]["name"]) == (uid, "owner")

    await scene.call("DELETE", f"/api/v1/namespaces/{scene.namespace}/configmaps/owner")
    old = scene.puppet.pods["j-worker-1"]
    await scene.puppet.gone(old)
    new = await scene.puppet.appears("j-worker-1")
    assert new["metadata"]["ownerReferences"][0]["name"] == "j"


@pytest.mark.scenario(132, "R47")
async def test_operator_that_was_killed_goes_on_where_it_was(scene: Scene) -> None:
    """Created, then running, then over: each step is taken by another process."""
    operator = scene.world.operator
    names = ["j-chief-0", "j-ps-0", "j-worker-0", "j-worker-1"]
    await scene.submit("C1 P1 W2")
    await scene.children(*names)
    operator.kill()
    before = {name: pod["metadata"]["uid"] for name, pod in (await scene.pods()).items()}
    for name in names:
        await scene.puppet.run(name)
    operator.start()
    await scene.until("all run", lambda job: counts_of(job) == {"active": 2})
    operator.kill()
    await scene.puppet.finish("j-chief-0", exit_code=0)
    operator.start()
    await scene.reaches("Created", "Running=F", "Succeeded")
    await scene.event("TFJobSucceeded")
    operator.restart()
    await scene.settled()
    assert conditions_of(await scene.job()) == ["Created", "Running=F", "Succeeded"]
    assert before == {name: pod["metadata"]["uid"] for name, pod in (await scene.pods()).items()}
    assert operator.jobs_counted("successful", scene.namespace) == 1
    told = [each for each in await scene.events() if each["reason"] == "TFJobSucceeded"]
    assert [each.get("count", 1) for each in told] == [1]


@pytest.mark.scenario(133)
@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
async def test_deleted_job_takes_its_children_with_it(scene: Scene, propagation: str) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("P1 W2")
    await scene.until("all run", lambda job: counts_of(job) == {"active": 2})
    await scene.delete(propagation=propagation)
    await scene.gone()
    await scene.children()


@pytest.mark.scenario("R23")
async def test_job_made_again_under_its_name_waits_for_the_old_pods(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    first = await scene.submit("W1")
    await scene.reaches("Created", "Running")
    old = scene.puppet.pods["j-worker-0"]
    await scene.delete()
    await scene.gone()
    second = await scene.submit("W1")
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    await scene.puppet.gone(old)
    new = await scene.puppet.appears("j-worker-0")
    assert new["metadata"]["ownerReferences"][0]["uid"] == second["metadata"]["uid"]
    await scene.reaches("Created", "Running")
    assert not [each for each in await scene.events() if each["reason"] == "FailedCreatePod"]


async def test_service_that_a_user_deletes_comes_back(scene: Scene) -> None:
    scene.puppet.play("*", runs)
    await scene.submit("W1")
    await scene.reaches("Created", "Running")
    path = f"/api/v1/namespaces/{scene.namespace}/services/j-worker-0"
    old = (await scene.call("GET", path))["metadata"]["uid"]
    await scene.call("DELETE", path)

    async def is_back() -> bool:
        try:
            found = await scene.call("GET", path)
        except ApiError:
            return False
        return bool(found["metadata"]["uid"] != old)

    await scene.eventually("the service is back", is_back)


@pytest.mark.scenario("R27")
async def test_pods_that_cannot_start_are_told_in_the_job(scene: Scene) -> None:
    await scene.submit("W2")
    for index in range(2):
        await scene.puppet.appears(f"j-worker-{index}")
    await scene.puppet.waiting("j-worker-0", "ImagePullBackOff", "no such image")
    await scene.event(
        "ImagePullBackOff",
        "Error pod j-worker-0 container tensorflow waiting message: no such image",
        kind="Warning",
    )
    await scene.puppet.unschedulable("j-worker-1", "0/1 nodes are available")
    await scene.event(
        "Unschedulable",
        "Error pod j-worker-1 condition message: 0/1 nodes are available",
        kind="Warning",
    )
    assert conditions_of(await scene.job()) == ["Created"]


async def test_finished_pods_end_a_job_that_nobody_watched(scene: Scene) -> None:
    await scene.submit("W1")
    await scene.puppet.appears("j-worker-0")
    await scene.reaches("Created")
    scene.world.operator.kill()
    scene.puppet.play("*", runs, exits(0))
    await scene.puppet.until(
        "it ended", lambda pods: pods["j-worker-0"]["status"]["phase"] == "Succeeded"
    )
    scene.world.operator.start()
    await scene.reaches("Created", "Succeeded")
