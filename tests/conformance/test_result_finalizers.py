"""Result finalizers: what ended and was deleted while no operator ran still counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from tests.support.environment_fixtures import only_kubernetes
from tests.support.fake_kubelet.driver import exits, runs
from tests.support.job_fixture import JobFixture
from tests.support.operator_process import OperatorProcess
from tfjob.core.job import FINALIZER


@contextmanager
def serving(fixture: JobFixture, *flags: str, name: str = "held-1") -> Iterator[OperatorProcess]:
    """An operator that serves this namespace alone, in the place of the shared one."""
    fixture.env.operator.kill()
    namespace = f"--namespace={fixture.namespace}"
    operator = fixture.env.new_operator(namespace, *flags, name=name)
    operator.start()
    try:
        yield operator
    finally:
        operator.kill()


async def held(fixture: JobFixture) -> list[str]:
    pods = await fixture.pods()
    return sorted(
        name for name, pod in pods.items() if FINALIZER in pod["metadata"].get("finalizers", ())
    )


@pytest.mark.scenario("R2")
async def test_job_whose_pods_succeeded_and_were_deleted_while_no_operator_ran_succeeds(
    fixture: JobFixture,
) -> None:
    with serving(fixture, "--result-finalizers") as operator:
        job = await fixture.submit("W2", restart="OnFailure", run_policy={"cleanPodPolicy": "None"})
        await fixture.submit("C1 W1", name="k", restart="OnFailure")
        names = ("j-worker-0", "j-worker-1", "k-chief-0", "k-worker-0")
        for name in names:
            await fixture.kubelet.appears(name)
            await fixture.kubelet.run(name)
        await fixture.reaches("Created", "Running")
        await fixture.reaches("Created", "Running", name="k")
        assert await held(fixture) == ["j-worker-0", "k-chief-0"]

        operator.kill()
        for name in names:
            await fixture.kubelet.finish(name, exit_code=0)
            await fixture.delete_pod(name)
        assert sorted(await fixture.pods()) == ["j-worker-0", "k-chief-0"]
        operator.start()
        await fixture.reaches("Created", "Running=F", "Succeeded")
        await fixture.reaches("Created", "Running=F", "Succeeded", name="k")

        async def are_gone() -> bool:
            return not await fixture.pods()

        await fixture.eventually("the pods are gone", are_gone)
        path = f"/api/v1/namespaces/{fixture.namespace}/pods"
        since = job["metadata"]["resourceVersion"]
        changes = await fixture.changes(path, since=since)
        made = [each["object"]["metadata"]["name"] for each in changes if each["type"] == "ADDED"]
        assert len(made) == len(set(made))


@pytest.mark.scenario("R2")
@only_kubernetes
async def test_success_that_a_drain_removed_while_no_operator_ran_counts(
    fixture: JobFixture,
) -> None:
    path = f"/api/v1/namespaces/{fixture.namespace}/pods/j-worker-0"
    with serving(fixture, "--result-finalizers") as operator:
        await fixture.submit("W1", restart="OnFailure")
        await fixture.kubelet.appears("j-worker-0")
        await fixture.kubelet.run("j-worker-0")
        await fixture.reaches("Created", "Running")
        operator.kill()
        pod = await fixture.kubelet.finish("j-worker-0", exit_code=0)
        ended = pod["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"]

        async def is_later() -> bool:
            """Times of whole seconds tell the end from the eviction."""
            return datetime.now(UTC).replace(microsecond=0) > datetime.fromisoformat(ended)

        await fixture.eventually("the next second", is_later)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction"}
        await fixture.call(
            "POST", f"{path}/eviction", {**eviction, "metadata": {"name": "j-worker-0"}}
        )
        drained = (await fixture.call("GET", path))["status"]["conditions"]
        assert "DisruptionTarget" in {each["type"] for each in drained}
        operator.start()
        await fixture.reaches("Created", "Running=F", "Succeeded")


async def test_no_pod_is_kept_when_the_setting_is_off_or_its_job_is_gone(
    fixture: JobFixture,
) -> None:
    with serving(fixture, "--result-finalizers") as operator:
        fixture.kubelet.script("*", runs)
        await fixture.submit("W1")
        await fixture.submit("W1", name="k", restart="OnFailure")
        for name in ("j", "k"):
            await fixture.reaches("Created", "Running", name=name)
        assert await held(fixture) == ["j-worker-0", "k-worker-0"]
        operator.kill()
        await fixture.delete("j")
    with serving(fixture, name="held-2"):

        async def is_none_held() -> bool:
            return await held(fixture) == []

        await fixture.eventually("no pod is held", is_none_held)


async def test_failed_worker_that_was_deleted_while_no_operator_ran_is_counted(
    fixture: JobFixture,
) -> None:
    with serving(fixture, "--result-finalizers") as operator:
        policy = {"backoffLimit": 3}
        await fixture.submit("W1", restart="ExitCode", run_policy=policy)
        await fixture.kubelet.appears("j-worker-0")
        await fixture.kubelet.run("j-worker-0")
        await fixture.reaches("Created", "Running")
        operator.kill()
        await fixture.kubelet.finish("j-worker-0", exit_code=137)
        await fixture.delete_pod("j-worker-0")
        fixture.kubelet.script("*", exits(0))
        operator.start()
        job = await fixture.until("succeeded", lambda job: "completionTime" in job["status"])
        assert job["status"]["replicaStatuses"]["Worker"]["restarts"] == 1
