"""Ownership of children: adoption, name conflicts, restarts of the operator, deletion of a job."""

from typing import Any

import pytest

from tests.support.controlplane.endpoint import ApiError
from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture, conditions_of, counts_of
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


async def make(fixture: JobFixture, kind: str, body: Json) -> Json:
    return await fixture.call("POST", f"/api/v1/namespaces/{fixture.namespace}/{kind}", body)


def a_pod(name: str, labels: dict[str, str] | None = None, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}, **metadata},
        "spec": {"containers": [container()], "restartPolicy": "Never"},
    }


@pytest.mark.scenario(130)
async def test_orphans_with_the_labels_of_a_job_are_adopted(fixture: JobFixture) -> None:
    pod = await make(fixture, "pods", a_pod("j-worker-0", child_labels()))
    body = {"clusterIP": "None", "ports": [{"name": "tfjob-port", "port": 2222}]}
    service = {"apiVersion": "v1", "kind": "Service", "spec": body}
    service["metadata"] = {"name": "j-worker-0", "labels": child_labels()}
    made = await make(fixture, "services", service)
    job = await fixture.submit("W1")

    async def are_adopted() -> bool:
        found = ((await fixture.pods())["j-worker-0"], (await fixture.services())["j-worker-0"])
        uid = job["metadata"]["uid"]
        owners = [each["metadata"].get("ownerReferences", [{}])[0].get("uid") for each in found]
        return owners == [uid, uid]

    await fixture.eventually("both are adopted", are_adopted)
    assert (await fixture.pods())["j-worker-0"]["metadata"]["uid"] == pod["metadata"]["uid"]
    assert (await fixture.services())["j-worker-0"]["metadata"]["uid"] == made["metadata"]["uid"]
    await fixture.kubelet.run("j-worker-0")
    await fixture.reaches("Created", "Running")


@pytest.mark.scenario(130)
async def test_child_whose_labels_no_longer_match_is_let_go(fixture: JobFixture) -> None:
    await fixture.submit("W2", restart="OnFailure")
    await fixture.children("j-worker-0", "j-worker-1")
    path = f"/api/v1/namespaces/{fixture.namespace}/pods/j-worker-1"
    await fixture.call("PATCH", path, {"metadata": {"labels": {f"{LABELS}/job-name": "other"}}})

    async def is_released() -> bool:
        return "ownerReferences" not in (await fixture.pods())["j-worker-1"]["metadata"]

    await fixture.eventually("it is released", is_released)
    await fixture.event("FailedCreatePod", 'pods "j-worker-1" already exists', kind="Warning")
    await fixture.delete_pod("j-worker-1")
    await fixture.kubelet.appears("j-worker-1")
    await fixture.children("j-worker-0", "j-worker-1")


@pytest.mark.scenario(130, 131)
async def test_foreign_pod_with_a_needed_name_is_reported_and_other_pods_are_created(
    fixture: JobFixture,
) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "controller": True}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
    owner["uid"] = (await make(fixture, "configmaps", config))["metadata"]["uid"]
    foreign = a_pod("j-worker-1", child_labels(index=1), ownerReferences=[owner])
    uid = (await make(fixture, "pods", foreign))["metadata"]["uid"]
    fixture.kubelet.script("j-worker-0", runs)
    await fixture.submit("W3", restart="OnFailure")
    message = 'Error creating: pods "j-worker-1" already exists'
    await fixture.event("FailedCreatePod", message, kind="Warning")
    await fixture.children("j-worker-0", "j-worker-1", "j-worker-2")
    await fixture.reaches("Created", "Running")
    same = (await fixture.pods())["j-worker-1"]["metadata"]
    assert (same["uid"], same["ownerReferences"][0]["name"]) == (uid, "owner")

    await fixture.call("DELETE", f"/api/v1/namespaces/{fixture.namespace}/configmaps/owner")
    old = fixture.kubelet.pods["j-worker-1"]
    await fixture.kubelet.gone(old)
    new = await fixture.kubelet.appears("j-worker-1")
    assert new["metadata"]["ownerReferences"][0]["name"] == "j"


@pytest.mark.scenario(132, "R47")
async def test_operator_that_was_killed_continues_where_it_was(fixture: JobFixture) -> None:
    """Created, then running, then over: each step is taken by another process."""
    operator = fixture.env.operator
    names = ["j-chief-0", "j-ps-0", "j-worker-0", "j-worker-1"]
    await fixture.submit("C1 P1 W2")
    await fixture.children(*names)
    operator.kill()
    before = {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
    for name in names:
        await fixture.kubelet.run(name)
    operator.start()
    await fixture.until("all run", lambda job: counts_of(job) == {"active": 2})
    operator.kill()
    await fixture.kubelet.finish("j-chief-0", exit_code=0)
    operator.start()
    await fixture.reaches("Created", "Running=F", "Succeeded")
    await fixture.event("TFJobSucceeded")
    operator.restart()
    await fixture.settled()
    assert conditions_of(await fixture.job()) == ["Created", "Running=F", "Succeeded"]
    assert before == {name: pod["metadata"]["uid"] for name, pod in (await fixture.pods()).items()}
    assert operator.jobs_counted("successful", fixture.namespace) == 1
    told = [each for each in await fixture.events() if each["reason"] == "TFJobSucceeded"]
    assert [each.get("count", 1) for each in told] == [1]


@pytest.mark.scenario(133)
@pytest.mark.parametrize("propagation", ["Foreground", "Background"])
async def test_deleted_job_takes_its_children_with_it(
    fixture: JobFixture, propagation: str
) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("P1 W2")
    await fixture.until("all run", lambda job: counts_of(job) == {"active": 2})
    await fixture.delete(propagation=propagation)
    await fixture.gone()
    await fixture.children()


@pytest.mark.scenario("R23")
async def test_job_created_again_under_its_name_waits_for_the_old_pods(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    first = await fixture.submit("W1")
    await fixture.reaches("Created", "Running")
    old = fixture.kubelet.pods["j-worker-0"]
    await fixture.delete()
    await fixture.gone()
    second = await fixture.submit("W1")
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    await fixture.kubelet.gone(old)
    new = await fixture.kubelet.appears("j-worker-0")
    assert new["metadata"]["ownerReferences"][0]["uid"] == second["metadata"]["uid"]
    await fixture.reaches("Created", "Running")
    assert not [each for each in await fixture.events() if each["reason"] == "FailedCreatePod"]


async def test_service_that_a_user_deletes_comes_back(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("W1")
    await fixture.reaches("Created", "Running")
    path = f"/api/v1/namespaces/{fixture.namespace}/services/j-worker-0"
    old = (await fixture.call("GET", path))["metadata"]["uid"]
    await fixture.call("DELETE", path)

    async def is_back() -> bool:
        try:
            found = await fixture.call("GET", path)
        except ApiError:
            return False
        return bool(found["metadata"]["uid"] != old)

    await fixture.eventually("the service is back", is_back)


@pytest.mark.scenario("R27")
async def test_pods_that_cannot_start_are_reported_on_the_job(fixture: JobFixture) -> None:
    await fixture.submit("W2")
    for index in range(2):
        await fixture.kubelet.appears(f"j-worker-{index}")
    await fixture.kubelet.waiting("j-worker-0", "ImagePullBackOff", "no such image")
    await fixture.event(
        "ImagePullBackOff",
        "Error pod j-worker-0 container tensorflow waiting message: no such image",
        kind="Warning",
    )
    await fixture.kubelet.unschedulable("j-worker-1", "0/1 nodes are available")
    await fixture.event(
        "Unschedulable",
        "Error pod j-worker-1 condition message: 0/1 nodes are available",
        kind="Warning",
    )
    assert conditions_of(await fixture.job()) == ["Created"]


async def test_finished_pods_end_a_job_that_nobody_watched(fixture: JobFixture) -> None:
    await fixture.submit("W1")
    await fixture.kubelet.appears("j-worker-0")
    await fixture.reaches("Created")
    fixture.env.operator.kill()
    fixture.kubelet.script("*", runs, exits(0))
    await fixture.kubelet.until(
        "it ended", lambda pods: pods["j-worker-0"]["status"]["phase"] == "Succeeded"
    )
    fixture.env.operator.start()
    await fixture.reaches("Created", "Succeeded")
