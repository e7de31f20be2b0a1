"""The real control plane and the fake kubelet work, as everything tested on them assumes."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.controlplane.cluster import STAGES, ControlPlane, PlaneStarter
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.fake_kubelet.driver import Deletions, FakeKubelet, exits, runs
from tests.support.fake_kubelet.kubelet import PodGoneError
from tests.support.fake_kubelet.pod_status import Pod


def pod_named(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "tensorflow", "image": "example.invalid/tensorflow"}
    body = {"containers": [container], "restartPolicy": "Never", **spec}
    return {"metadata": {"name": name}, "spec": body}


def create(endpoint: Endpoint, namespace: str, pod: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = endpoint.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
    return answer


def delete(endpoint: Endpoint, namespace: str, name: str) -> None:
    endpoint.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}")


async def test_pod_lives_from_pending_to_succeeded(
    control_plane: ControlPlane, namespace: str, kubelet: FakeKubelet
) -> None:
    create(control_plane.endpoint, namespace, pod_named("worker-0"))
    pod = await kubelet.appears("worker-0")
    assert pod["status"]["phase"] == "Pending"

    running = await kubelet.run(pod)
    assert running["spec"]["nodeName"] == "fake-node"
    assert running["status"]["phase"] == "Running"
    assert running["status"]["podIP"].startswith("10.244.")

    finished = await kubelet.finish(pod, exit_code=0)
    assert finished["status"]["phase"] == "Succeeded"
    ended = finished["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")


async def test_failed_container_restarts_under_on_failure(
    control_plane: ControlPlane, namespace: str, kubelet: FakeKubelet
) -> None:
    create(control_plane.endpoint, namespace, pod_named("ps-0", restartPolicy="OnFailure"))
    await kubelet.run(await kubelet.appears("ps-0"))
    pod = await kubelet.finish("ps-0", exit_code=137, reason="OOMKilled")
    container = pod["status"]["containerStatuses"][0]
    assert pod["status"]["phase"] == "Running"
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["reason"] == "OOMKilled"

    again = await kubelet.restart_container("ps-0", 3)
    assert again["status"]["containerStatuses"][0]["restartCount"] == 4


async def test_evicted_unschedulable_and_waiting_pods_are_accepted_by_the_server(
    control_plane: ControlPlane, namespace: str, kubelet: FakeKubelet
) -> None:
    for name in ("evicted", "waiting", "unschedulable"):
        create(control_plane.endpoint, namespace, pod_named(name))
        await kubelet.appears(name)
    await kubelet.run("evicted")
    evicted = await kubelet.evict("evicted")
    assert (evicted["status"]["phase"], evicted["status"]["reason"]) == ("Failed", "Evicted")

    waiting = await kubelet.waiting("waiting", "ImagePullBackOff", "no such image")
    assert waiting["status"]["phase"] == "Pending"

    homeless = await kubelet.unschedulable("unschedulable", "0/1 nodes are available")
    assert "nodeName" not in homeless["spec"]
    assert homeless["status"]["conditions"][0]["reason"] == "Unschedulable"


async def test_every_phase_can_be_set(
    control_plane: ControlPlane, namespace: str, kubelet: FakeKubelet
) -> None:
    for phase in ("Pending", "Running", "Succeeded", "Failed"):
        name = phase.lower()
        create(control_plane.endpoint, namespace, pod_named(name, restartPolicy="Always"))
        pod = await kubelet.set_phase(name, phase)
        assert pod["status"]["phase"] == phase


async def test_scripted_pods_run_and_a_replaced_pod_takes_the_next_exit_code(
    control_plane: ControlPlane, namespace: str, kubelet: FakeKubelet
) -> None:
    kubelet.script("*-worker-0", runs, exits(1, 0))
    kubelet.script("*", runs)
    for name in ("a-worker-0", "a-worker-1"):
        create(control_plane.endpoint, namespace, pod_named(name))
    await kubelet.until(
        "worker-0 failed, worker-1 runs",
        lambda pods: _phases(pods) == {"a-worker-0": "Failed", "a-worker-1": "Running"},
    )
    delete(control_plane.endpoint, namespace, "a-worker-0")
    create(control_plane.endpoint, namespace, pod_named("a-worker-0"))
    await kubelet.until(
        "the second worker-0 succeeds",
        lambda pods: _phases(pods).get("a-worker-0") == "Succeeded",
    )


async def test_running_pod_goes_when_it_is_deleted(
    control_plane: ControlPlane, namespace: str, kubelet: FakeKubelet
) -> None:
    create(control_plane.endpoint, namespace, pod_named("worker-0"))
    pod = await kubelet.run("worker-0")
    delete(control_plane.endpoint, namespace, "worker-0")
    await kubelet.gone(pod)


async def test_deleted_pod_stays_until_the_test_lets_it_go(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with FakeKubelet(
        control_plane.endpoint, namespace=namespace, deletions=Deletions.ON_DEMAND
    ) as kubelet:
        create(control_plane.endpoint, namespace, pod_named("worker-0"))
        pod = await kubelet.run("worker-0")
        delete(control_plane.endpoint, namespace, "worker-0")
        await kubelet.until(
            "worker-0 is being deleted",
            lambda pods: "deletionTimestamp" in pods["worker-0"]["metadata"],
        )
        await kubelet.finish_deletion(pod)
        await kubelet.gone(pod)


async def test_pod_that_ignores_signals_goes_when_its_grace_is_over(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with FakeKubelet(
        control_plane.endpoint, namespace=namespace, deletions=Deletions.AFTER_GRACE
    ) as kubelet:
        stubborn = pod_named("worker-0", terminationGracePeriodSeconds=1)
        create(control_plane.endpoint, namespace, stubborn)
        pod = await kubelet.run("worker-0")
        delete(control_plane.endpoint, namespace, "worker-0")
        await kubelet.gone(pod)


async def test_pod_object_never_means_its_successor(
    control_plane: ControlPlane, namespace: str, kubelet: FakeKubelet
) -> None:
    first = create(control_plane.endpoint, namespace, pod_named("worker-0"))
    delete(control_plane.endpoint, namespace, "worker-0")
    with pytest.raises(PodGoneError, match="worker-0: does not exist"):
        await kubelet.run(first)
    create(control_plane.endpoint, namespace, pod_named("worker-0"))
    with pytest.raises(PodGoneError, match="another has taken its name"):
        await kubelet.run(first)


async def test_waiting_in_vain_shows_the_pods(
    control_plane: ControlPlane, namespace: str, kubelet: FakeKubelet
) -> None:
    create(control_plane.endpoint, namespace, pod_named("worker-0"))
    await kubelet.appears("worker-0")
    with pytest.raises(AssertionError, match="a miracle; pods: worker-0 is Pending"):
        await kubelet.until("a miracle", lambda _: False, seconds=0.01)


async def test_step_that_fails_in_the_background_fails_the_test(
    control_plane: ControlPlane, namespace: str
) -> None:
    create(control_plane.endpoint, namespace, pod_named("worker-0"))

    async def play_a_part_that_is_not_there() -> None:
        async with FakeKubelet(control_plane.endpoint, namespace=namespace) as kubelet:
            kubelet.script("*", runs, exits(1, container="no-such"))
            await kubelet.idle()

    with pytest.raises(ExceptionGroup) as raised:
        await play_a_part_that_is_not_there()
    assert raised.group_contains(LookupError, match="has no container 'no-such', only tensorflow")


def test_service_account_may_do_only_what_rbac_grants(
    control_plane: ControlPlane, namespace: str
) -> None:
    nobody = control_plane.endpoint_for("default", namespace=namespace)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    with pytest.raises(ApiError) as refusal:
        nobody.request("GET", pods)
    assert (refusal.value.status, refusal.value.reason) == (403, "Forbidden")

    grant = {
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
    }
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings"
    control_plane.endpoint.request("POST", bindings, grant)
    assert nobody.request("GET", pods)["items"] == []


def test_owned_objects_of_a_new_kind_are_collected(
    control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.install_crds([_WIDGETS])
    widgets = f"/apis/test.invalid/v1/namespaces/{namespace}/widgets"
    owner = control_plane.endpoint.request("POST", widgets, _WIDGET)
    reference = {key: owner[key] for key in ("apiVersion", "kind")}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    pod = pod_named("child")
    pod["metadata"]["ownerReferences"] = [reference]
    create(control_plane.endpoint, namespace, pod)
    control_plane.endpoint.request("DELETE", f"{widgets}/owner")
    control_plane.wait("the child's end", lambda: not _pods(control_plane, namespace))


async def test_state_and_fake_kubelet_survive_a_crash_of_the_api_server(
    start_control_plane: PlaneStarter,
) -> None:
    own_plane = start_control_plane()
    async with FakeKubelet(own_plane.endpoint, namespace="default") as kubelet:
        create(own_plane.endpoint, "default", pod_named("worker-0"))
        await kubelet.run("worker-0")
        await asyncio.to_thread(own_plane.restart_apiserver)
        create(own_plane.endpoint, "default", pod_named("worker-1"))
        await kubelet.appears("worker-1")
        assert _phases(kubelet.pods)["worker-0"] == "Running"


def test_paused_api_server_keeps_silent_until_it_is_resumed(
    start_control_plane: PlaneStarter,
) -> None:
    own_plane = start_control_plane()
    own_plane.pause_apiserver()
    with pytest.raises(TimeoutError):
        own_plane.endpoint.request("GET", "/version", timeout=1)
    own_plane.resume_apiserver()
    assert own_plane.endpoint.request("GET", "/version")["major"] == "1"


def test_kwok_and_the_scheduler_bring_pods_to_their_ends(
    start_control_plane: PlaneStarter,
) -> None:
    kwok_plane = start_control_plane(scheduler=True, kwok=STAGES)
    room = {"cpu": "8", "memory": "8Gi", "pods": "110"}
    node = {"metadata": {"name": "n0"}, "status": {"capacity": room, "allocatable": room}}
    kwok_plane.endpoint.request("POST", "/api/v1/nodes", node)
    # kwok gives pods no valid IP on a node that it has not taken up yet, and does not try again.
    kwok_plane.wait("the node to be ready", lambda: _is_ready(kwok_plane, "n0"))
    for code in ("0", "3"):
        pod = pod_named(f"exits-{code}")
        notes = {"kwok.test/exit-after": "100ms", "kwok.test/exit-code": code}
        pod["metadata"]["annotations"] = notes
        create(kwok_plane.endpoint, "default", pod)
    create(kwok_plane.endpoint, "default", pod_named("stays"))
    ends = {"exits-0": "Succeeded", "exits-3": "Failed", "stays": "Running"}
    kwok_plane.wait("every pod's end", lambda: _phases(_pods(kwok_plane, "default")) == ends)
    failed = _pods(kwok_plane, "default")["exits-3"]["status"]
    assert failed["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    reasons = {each["type"]: each.get("reason") for each in failed["conditions"]}
    assert reasons["Ready"] == "PodFailed"

    delete(kwok_plane.endpoint, "default", "stays")
    kwok_plane.wait("the deleted pod's end", lambda: "stays" not in _pods(kwok_plane, "default"))


def _is_ready(plane: ControlPlane, node: str) -> bool:
    status = plane.endpoint.request("GET", f"/api/v1/nodes/{node}")["status"]
    conditions = status.get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _pods(plane: ControlPlane, namespace: str) -> dict[str, Pod]:
    items = plane.endpoint.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    return {item["metadata"]["name"]: item for item in items}


def _phases(pods: Mapping[str, Pod]) -> dict[str, str]:
    return {name: pod["status"]["phase"] for name, pod in pods.items()}


_WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.test.invalid"},
    "spec": {
        "group": "test.invalid",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}
_WIDGET = {"apiVersion": "test.invalid/v1", "kind": "Widget", "metadata": {"name": "owner"}}
