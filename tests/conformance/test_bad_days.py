"""Trouble with one job does not affect others, and the job reports the reason."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.controlplane.endpoint import ApiError
from tests.support.environment_fixtures import only_kubernetes
from tests.support.environments import Environment
from tests.support.fake_kubelet.driver import runs
from tests.support.job_fixture import (
    JobFixture,
    condition_of,
    conditions_of,
    counts_of,
    restarts_of,
)
from tests.support.permissive_crd import permissive
from tests.support.tfjobs import container, of_types, replica, tfjob
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
def rules_off(env: Environment) -> Iterator[None]:
    """An environment whose CRD has no rules yet."""
    crd = KubeflowV1().crd()
    env.replace_crd(permissive(crd))
    try:
        yield
    finally:
        env.replace_crd(crd)


async def until_a_broken_job_is(fixture: JobFixture, *, is_taken: bool) -> None:
    """Wait until the API server has changed its mind about what is a job."""
    probe = {**tfjob(name="probe"), "spec": "none"}

    async def is_so() -> bool:
        try:
            await fixture.call("POST", f"{fixture.jobs_path()}?dryRun=All", probe)
        except ApiError:
            return not is_taken
        return is_taken

    await fixture.eventually(f"a broken job is {'taken' if is_taken else 'refused'}", is_so)


@pytest.mark.scenario(19)
@only_kubernetes
async def test_objects_that_slipped_past_the_rules_fail_and_harm_nobody(
    fixture: JobFixture,
) -> None:
    fixture.env.operator.kill()
    with rules_off(fixture.env):
        await until_a_broken_job_is(fixture, is_taken=True)
        for name, spec in (BROKEN | MISSHAPEN).items():
            await fixture.create({**tfjob(name=name), "spec": spec})
    await until_a_broken_job_is(fixture, is_taken=False)
    fixture.kubelet.script("*", runs)
    await fixture.submit("W1")
    fixture.env.operator.start()
    await fixture.reaches("Created", "Running")
    for name in BROKEN:
        job = await fixture.reaches("Failed", name=name)
        failed = condition_of(job, "Failed")
        assert failed["reason"] == "InvalidTFJobSpec"
        prefix = "Failed to marshal the object to TFJob; the spec is invalid: "
        assert failed["message"].startswith(prefix)
        assert len(failed["message"]) > len(prefix)
        assert "completionTime" in job["status"]
    for name in BROKEN | MISSHAPEN:
        await fixture.event("InvalidTFJobSpec", "the spec is invalid", kind="Warning", name=name)
    await fixture.children("j-worker-0")
    fixture.env.operator.restart()
    await fixture.settled()
    assert fixture.env.operator.is_alive


def misspelt() -> Json:
    return replica(2, containers=[container(imagePullPolcy="Always")])


def on_the_host() -> Json:
    return replica(2, volumes=[{"name": "v", "hostPath": {"path": "/etc"}}])


def hungry() -> Json:
    return replica(2, containers=[container(resources={"requests": {"cpu": "1"}})])


async def forbid_hosts(fixture: JobFixture) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    path = f"/api/v1/namespaces/{fixture.namespace}"
    await fixture.call("PATCH", path, {"metadata": {"labels": labels}})


async def allow_one_pod(fixture: JobFixture) -> None:
    quota = {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "1"}}}
    path = f"/api/v1/namespaces/{fixture.namespace}/resourcequotas"
    await fixture.call("POST", path, quota)

    async def is_counted() -> bool:
        return "hard" in (await fixture.call("GET", f"{path}/one")).get("status", {})

    await fixture.eventually("the quota is counted", is_counted)


async def nothing(fixture: JobFixture) -> None:
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
async def test_job_whose_pods_are_rejected_says_why_in_the_servers_words(
    fixture: JobFixture,
    prepare: Callable[[JobFixture], Any],
    template: Callable[[], Json],
    words: str,
    made: int,
) -> None:
    await prepare(fixture)
    await fixture.create(of_types(Worker=template()))
    event = await fixture.event("FailedCreatePod", words, kind="Warning")
    assert event["message"].startswith("Error creating: ")
    job = await fixture.reaches("Created")
    assert "startTime" in job["status"]
    assert len(await fixture.pods()) == made
    assert set(await fixture.services()) == {"j-worker-0", "j-worker-1"}
    operator = fixture.env.operator
    before = operator.metrics()["failed_pods_total"]
    await fixture.settled()
    assert operator.metrics()["failed_pods_total"] - before < 50


@pytest.mark.scenario("R16")
async def test_job_continues_when_its_quota_is_raised(fixture: JobFixture) -> None:
    fixture.kubelet.script("*", runs)
    await allow_one_pod(fixture)
    await fixture.submit("W3")
    await fixture.event("FailedCreatePod", "exceeded quota: one")
    path = f"/api/v1/namespaces/{fixture.namespace}/resourcequotas/one"
    await fixture.call("PATCH", path, {"spec": {"hard": {"pods": "10"}}})
    await fixture.until("all run", lambda job: counts_of(job) == {"active": 3})


@only_kubernetes
async def test_namespace_that_is_being_deleted_is_left_alone(fixture: JobFixture) -> None:
    """Something holds the namespace: its jobs cannot have pods any more, and nobody insists."""
    env = fixture.env
    namespace = await asyncio.to_thread(env.server.create_namespace)
    path = f"/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs"
    held = tfjob("W2", restart="OnFailure")
    held["metadata"]["finalizers"] = ["example.invalid/hold"]
    holder = {"metadata": {"name": "holder", "finalizers": ["example.invalid/hold"]}}
    await fixture.call("POST", path, held)
    await fixture.call("POST", f"/api/v1/namespaces/{namespace}/configmaps", holder)

    async def pods() -> list[Json]:
        found = await fixture.call("GET", f"/api/v1/namespaces/{namespace}/pods")
        items: list[Json] = found["items"]
        return items

    async def has_pods() -> bool:
        return len(await pods()) == 2

    async def has_none() -> bool:
        return len(await pods()) == 0

    await fixture.eventually("two pods", has_pods)
    await asyncio.to_thread(env.server.delete_namespace, namespace)
    await fixture.eventually("no pods", has_none)
    fixture.kubelet.script("*", runs)
    await fixture.submit("W1")
    await fixture.reaches("Created", "Running")
    refused = _refusals(env)
    await fixture.settled()
    assert _refusals(env) - refused < 20
    free = {"metadata": {"finalizers": None}}
    await fixture.call("PATCH", f"/api/v1/namespaces/{namespace}/configmaps/holder", free)
    await fixture.call("PATCH", f"{path}/j", free)


def writes_of(job: dict[str, Any]) -> int:
    return int(job["metadata"].get("annotations", {}).get("count", 0))


@pytest.mark.scenario("R28")
async def test_job_gets_through_while_another_writer_changes_it_all_the_time(
    fixture: JobFixture,
) -> None:
    async def write_for_ever() -> None:
        count = 0
        while True:
            count += 1
            note = {"metadata": {"annotations": {"count": str(count)}}}
            await fixture.call("PATCH", f"{fixture.jobs_path()}/j", note)
            await asyncio.sleep(0.02)

    await fixture.submit("W2", restart="ExitCode")
    writer = asyncio.create_task(write_for_ever())
    try:
        await fixture.children("j-worker-0", "j-worker-1")
        await fixture.until("written to often", lambda job: writes_of(job) > 5)
        for index in range(2):
            await fixture.kubelet.run(f"j-worker-{index}")
        await fixture.until("both run", lambda job: counts_of(job) == {"active": 2})
        failed = await fixture.kubelet.finish("j-worker-1", exit_code=137)
        await fixture.until("restarted", lambda job: restarts_of(job) == 1)
        await fixture.kubelet.gone(failed)
        await fixture.kubelet.appears("j-worker-1")
        for index in (1, 0):
            pod = await fixture.kubelet.run(f"j-worker-{index}")
            await fixture.kubelet.finish(pod, exit_code=0)
        job = await fixture.comes_to("Succeeded")
    finally:
        writer.cancel()
    assert job["status"]["replicaStatuses"]["Worker"]["restarts"] == 1
    assert conditions_of(job) == ["Created", "Running=F", "Succeeded"]
    assert fixture.env.operator.jobs_counted("restarted", fixture.namespace) == 1


def _refusals(env: Environment) -> float:
    found = env.operator.metrics()
    return sum(
        value
        for name, value in found.items()
        if name.startswith("rest_client_requests_total") and 'code="403"' in name
    )
