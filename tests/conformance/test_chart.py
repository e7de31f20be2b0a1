"""The chart on a real API server: installed, tested, upgraded and uninstalled by a real Helm."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from tests.support import seeds
from tests.support.command import output_of
from tests.support.controlplane.endpoint import ApiError, Endpoint
from tests.support.controlplane.ports import LOOPBACK
from tests.support.dialect_jobs import Jobs, id_of, tf_job, training_job
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import FakeKubelet, runs
from tests.support.fake_kubelet.pod_status import Pod
from tests.support.helm import (
    CHART,
    EVERY_DIALECT,
    NAME,
    ChartPlane,
    Helm,
    Json,
    flags_of,
    installed,
    operator_of,
)
from tests.support.job_fixture import JobFixture, job_fixture_in
from tests.support.operator_process import OperatorProcess
from tests.support.patience import PATIENCE
from tests.support.pod_process import pod_of
from tests.support.tfjobs import tfjob
from tfjob.dialects.registry import DESCRIPTORS
from tfjob.manager.settings import LEASE_NAME
from tfjob.sdk.jobs import stored_dialects

# The seconds bind what hangs: a busy machine, on which all is slow, is no fault of the chart.
pytestmark = pytest.mark.timeout(func_only=True)

Found = set[tuple[str, str, str]]
CRDS = {
    ("customresourcedefinitions", "", f"{each.plural}.{each.group}") for each in stored_dialects()
}
_PASSED_OVER = {"events", "apiservices"}
"""Kinds that the server makes by itself; an API service is the shadow of a definition."""
_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


@pytest.fixture
async def kubelet(plane: ChartPlane, home: str) -> AsyncIterator[FakeKubelet]:
    """Runs the pods of the release, and lets its test succeed."""
    async with FakeKubelet(plane.endpoint, namespace=home) as kubelet:
        kubelet.script("*-test", _succeeds)
        kubelet.script("*", runs)
        yield kubelet


async def _succeeds(kubelet: FakeKubelet, pod: Pod) -> None:
    await kubelet.set_phase(pod, "Succeeded")


def everything(endpoint: Endpoint) -> Found:
    """All objects that somebody made: kind, namespace, name."""
    groups = endpoint.request("GET", "/apis")["groups"]
    roots = ["/api/v1", *(f"/apis/{each['preferredVersion']['groupVersion']}" for each in groups)]
    return {found for root in roots for found in _objects_under(endpoint, root)}


def _objects_under(endpoint: Endpoint, root: str) -> Iterator[tuple[str, str, str]]:
    for kind in endpoint.request("GET", root)["resources"]:
        if "list" not in kind["verbs"] or "/" in kind["name"] or kind["name"] in _PASSED_OVER:
            continue
        for each in _listed(endpoint, f"{root}/{kind['name']}"):
            yield kind["name"], each["metadata"].get("namespace", ""), each["metadata"]["name"]


def _listed(endpoint: Endpoint, path: str) -> list[Json]:
    """The objects of a collection; one that is new to the server is not there at once."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            items: list[Json] = endpoint.request("GET", path)["items"]
        except ApiError as refusal:
            if refusal.status != 429:
                raise
            assert time.monotonic() < deadline, f"{path} is not served"
            time.sleep(0.1)
        else:
            return items


def left_over(plane: ChartPlane, before: Found) -> Found:
    """What is there now and was not before, once the garbage is collected."""
    found: Found = set()

    def is_clean() -> bool:
        found.clear()
        found.update(everything(plane.endpoint) - before - CRDS)
        return not any(kind in {"pods", "replicasets", "endpointslices"} for kind, _, _ in found)

    plane.wait("end of the release's pods", is_clean)
    return found


async def test_release_comes_up_is_tried_changes_and_leaves_nothing_behind(
    plane: ChartPlane, helm: Helm, home: str, kubelet: FakeKubelet
) -> None:
    before = await asyncio.to_thread(everything, plane.endpoint)
    waiting = ("--wait", "--timeout=120s")
    await asyncio.to_thread(helm.install, EVERY_DIALECT, namespace=home, flags=waiting)
    assert len(kubelet.pods) == 1

    told = await asyncio.to_thread(helm, "test", "tfjob", "--namespace", home, "--timeout=120s")
    assert told.count("Phase:          Succeeded") == told.count("TEST SUITE:")
    assert "TEST SUITE:     tfjob-tfjob-test" in told

    await asyncio.to_thread(helm.install, "replicas=2", namespace=home, flags=waiting)
    assert installed(plane, namespace=home)["status"]["readyReplicas"] == 2
    assert ("poddisruptionbudgets", home, NAME) in everything(plane.endpoint)

    alone = ("leaderElection.enabled=false", "operator.legacyLabels=true")
    await asyncio.to_thread(helm.install, *alone, namespace=home, flags=waiting)
    assert "--legacy-labels" in flags_of(installed(plane, namespace=home))
    assert ("leases", home, LEASE_NAME) not in everything(plane.endpoint)

    await asyncio.to_thread(helm.uninstall, namespace=home)
    # Helm leaves the pods of its last test, so that their logs can be read.
    tests = "labelSelector=app.kubernetes.io%2Fcomponent%3Dtest&gracePeriodSeconds=0"
    plane.endpoint.request("DELETE", f"/api/v1/namespaces/{home}/pods?{tests}")
    assert await asyncio.to_thread(left_over, plane, before) == set()
    assert everything(plane.endpoint) >= CRDS


def test_rehearsal_is_accepted_and_stores_nothing(plane: ChartPlane, helm: Helm, home: str) -> None:
    before = everything(plane.endpoint)
    told = helm.install("replicas=2", namespace=home, flags=("--dry-run=server",))
    assert "STATUS: pending-install" in told
    assert everything(plane.endpoint) - before - CRDS == set()


@pytest.mark.parametrize("is_namespaced", [False, True], ids=["cluster-wide", "one-namespace"])
async def test_operator_works_with_the_rights_of_its_account_alone(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment, is_namespaced: bool
) -> None:
    async with job_fixture_in(chart_env) as fixture:
        scope = f"namespaced.enabled=true,namespaced.namespace={fixture.namespace}"
        values = [scope] if is_namespaced else []
        told = await asyncio.to_thread(helm.install, *values, namespace=home)
        if is_namespaced:
            await asyncio.to_thread(_apply_definitions, chart_env, told)
        operator = operator_of(chart_env, plane, namespace=home)
        await asyncio.to_thread(operator.start)
        await _job_succeeds(fixture)
        assert "forbidden" not in operator.log.read_text().lower()
        await asyncio.to_thread(_try_for_real, plane, helm, home, operator)

        before = everything(plane.endpoint)
        await asyncio.to_thread(helm.uninstall, namespace=home)
        await asyncio.sleep(3)  # Long enough to renew a lease: it must not come again.
        operator.close()
        assert ("leases", home) in {each[:2] for each in before}
        assert ("leases", home) not in {each[:2] for each in everything(plane.endpoint)}


@pytest.mark.parametrize("only", [each.name for each in DESCRIPTORS])
async def test_operator_of_one_api_needs_no_right_on_the_others(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment, only: str
) -> None:
    names = tuple(each.name for each in DESCRIPTORS)
    values = [f"dialects.{each}={str(each == only).lower()}" for each in names]
    await asyncio.to_thread(helm.install, *values, namespace=home)
    operator = operator_of(chart_env, plane, namespace=home)
    await asyncio.to_thread(operator.start)
    async with job_fixture_in(chart_env) as fixture:
        fixture.kubelet.script("*", runs)
        job = dict(zip(names, (tfjob("W1"), tf_job(), training_job()), strict=True))[only]
        jobs = Jobs(fixture, job["apiVersion"])
        await jobs.create(job)
        await jobs.comes_to("Running")
        await jobs.clear()
    operator.close()
    assert "forbidden" not in operator.log.read_text().lower()


async def test_cloud_of_the_chart_brings_drivers_to_a_published_job(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment, tmp_path: Path
) -> None:
    values = "dialects.tensorflow=true,cloud=azure"
    await asyncio.to_thread(helm.install, values, namespace=home)
    path = f"/api/v1/namespaces/{home}/configmaps/tf-job-operator-config"
    for name, text in plane.endpoint.request("GET", path)["data"].items():
        (tmp_path / name).write_text(text)
    mounted = (f"--controller-config-file={tmp_path}",)
    operator = operator_of(chart_env, plane, namespace=home, flags=mounted)
    await asyncio.to_thread(operator.start)
    async with job_fixture_in(chart_env) as fixture:
        jobs = Jobs(fixture, "tensorflow.org/v1alpha1")
        await jobs.create(seeds.submitted("001-gpu"))
        job = await jobs.until("has an id", id_of, name="tf-smoke-gpu")
        batch = await jobs.object("jobs", f"master-{id_of(job)}-0")
        await jobs.clear()
    operator.close()
    volumes = [each["name"] for each in batch["spec"]["template"]["spec"]["volumes"]]
    assert volumes == ["lib", "bin", "libcuda"]


async def test_operator_works_from_its_pod_without_writing_to_a_disk(
    plane: ChartPlane, helm: Helm, home: str, chart_env: Environment
) -> None:
    await asyncio.to_thread(helm.install, namespace=home)
    async with job_fixture_in(chart_env) as fixture:
        with pod_of(plane, namespace=home) as log:
            await _job_succeeds(fixture)
        assert "forbidden" not in log.read_text().lower()


def _apply_definitions(env: Environment, told: str) -> None:
    """What the release asks an administrator to do."""
    [command] = [line.split() for line in told.splitlines() if "kubectl apply" in line]
    path = command[-1].removeprefix("charts/tfjob/")
    env.kubectl(*command[1:-1], str(CHART / path))


async def _job_succeeds(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await fixture.submit("C1 W2")
    await fixture.reaches("Created", "Running")
    for name in ("j-worker-0", "j-worker-1", "j-chief-0"):
        await fixture.kubelet.finish(name, exit_code=0)
    await fixture.comes_to("Succeeded")
    await fixture.event("TFJobSucceeded")


def _try_for_real(plane: ChartPlane, helm: Helm, home: str, operator: OperatorProcess) -> None:
    """The commands of the release's test, with the account that its pod would have."""
    pod = _hooks(helm, home)["Pod", f"{NAME}-test"]
    # `helm test --logs` cannot choose between the logs of two containers.
    [container] = pod["spec"]["containers"]
    _, *words = container["command"]
    kubeconfig = plane.kubeconfig_for(pod["spec"]["serviceAccountName"], namespace=home)
    service = f"--metrics=http://{NAME}.{home}.svc:8080/metrics"
    words[words.index(service)] = f"--metrics=http://{LOOPBACK}:{operator._metrics}/metrics"
    said = output_of([sys.executable, *words], env={**os.environ, "KUBECONFIG": str(kubeconfig)})
    assert "Succeeded" in said
    assert "training_operator_jobs_successful_total" in said


def _hooks(helm: Helm, home: str) -> dict[tuple[str, str], Json]:
    """What the release's test would make, by kind and name."""
    found = yaml.safe_load_all(helm("get", "hooks", "tfjob", "--namespace", home))
    return {(each["kind"], each["metadata"]["name"]): each for each in found if each}


@pytest.mark.parametrize(
    ("role", "may", "may_not"),
    [
        ("view", {"get", "list", "watch"}, {"create", "delete", "patch"}),
        ("edit", {"get", "list", "watch", "create", "delete", "patch", "update"}, set()),
        ("admin", {"get", "list", "watch", "create", "delete", "patch", "update"}, set()),
        ("kubeflow-training-view", {"get", "list", "watch"}, {"create", "delete", "patch"}),
        ("kubeflow-training-edit", {"get", "create", "delete"}, set()),
        ("kubeflow-training-admin", {"get", "create", "delete"}, set()),
    ],
)
def test_people_with_the_usual_roles_may_handle_jobs(
    plane: ChartPlane, helm: Helm, home: str, role: str, may: set[str], may_not: set[str]
) -> None:
    helm.install(namespace=home)

    def verbs() -> set[str]:
        rules = plane.endpoint.request("GET", f"{_ROLES}/{role}")["rules"] or []
        own = [rule for rule in rules if "tfjobs" in rule.get("resources", ())]
        return {verb for rule in own for verb in rule["verbs"]}

    plane.wait(f"role {role} with {may}", lambda: may <= verbs())
    assert not verbs() & may_not


def test_lease_of_somebody_else_is_used_and_left_alone(
    plane: ChartPlane, helm: Helm, home: str
) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{home}/leases"
    lease = {"metadata": {"name": LEASE_NAME}, "spec": {"holderIdentity": "peer"}}
    uid = plane.endpoint.request("POST", path, lease)["metadata"]["uid"]
    helm.install(namespace=home)
    helm.install("replicas=2", namespace=home)
    helm.uninstall(namespace=home)
    found = plane.endpoint.request("GET", f"{path}/{LEASE_NAME}")
    assert (found["metadata"]["uid"], found["spec"]["holderIdentity"]) == (uid, "peer")


def test_second_operator_for_the_whole_cluster_is_rejected(
    plane: ChartPlane, helm: Helm, home: str
) -> None:
    """Both would work on the same jobs, and their roles have the same name."""
    helm.install(namespace=home)
    other = plane.create_namespace("release-")
    with pytest.raises(AssertionError, match="cannot be imported into the current release"):
        helm.install(namespace=other)
    with pytest.raises(ApiError, match="404"):
        plane.endpoint.request("GET", f"/apis/apps/v1/namespaces/{other}/deployments/{NAME}")
    plane.delete_namespace(other)
